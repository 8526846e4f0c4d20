"""Who the visitor is, and what they may read.

In: a request's cookie, bearer token or link key. Out: `Visitor`, `Access`, or `PageNotFound`.
A private repository and one that does not exist get the same answer.
"""
