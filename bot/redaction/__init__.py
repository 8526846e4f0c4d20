"""What must not be public is taken out: secrets, buckets, accounts, addresses and internal names.

In: texts of reports, and whole logs piece by piece.
Out: the same text with each of these replaced by what it is, in brackets (`redact`, `stream.Redactor`).
Promises: redacting twice changes nothing more. The lines of a log stay as many as they were. What comes out
does not depend on how a log is cut into pieces, and memory stays flat. The time is linear in any text.
`redact.RULES_VERSION` changes with the rules: what an older version redacted is then redacted anew.
"""
