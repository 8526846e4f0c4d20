"""Text that somebody else wrote, on its way into ours: redacted, put into pieces, escaped for its place.

In: texts of logs, branches, titles, commands and configuration.
Out: `Line`s of pieces, and their Markdown, their HTML for a summary, their styled text for a page (`pieces`).
Promises: what must not be public is taken out first (`redact`); what is shown can be read and does nothing
(`escape`).
"""
