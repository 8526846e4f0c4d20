"""What MaxView says about a head commit: one Report, and its renderings.

In: the runs of both sides with their measurements, and what people asked for.
Out: a `Report` (`build`, `model`); its comment and check in Markdown (`comment`, `check`); its JSON
(`documents`, `responses`); the views that the pages and the terminal share (`assess`, `cells`, `folds`,
`explain`).
Promises: everything is pure. Comment, check, page and JSON render the same Report, so they cannot disagree.
Text from outside is redacted, then escaped, before it enters Markdown (`text`).
"""
