"""Publish a report: a report in, one write for each output that the repository wants.

In: a report and the row it belongs to. Out: the pull request's comment and check; the state to store with
the row.
Promises: at most one comment and one check each; nothing is written for a head that has moved on, or after
another process has taken the row; a refusal by GitHub never fails the step but is shown to people.
"""
