"""A stand-in GitHub with one repository, its people, and one App installed on it.

`StandInGitHub` is made from a git history. Its methods are what people do; its ASGI application speaks
GitHub's REST API; webhooks go to the App's address, signed as GitHub signs them. Everything is in memory. The
demo runs against it, and so do the tests, which also inject faults. Its JSON is checked against GitHub's
OpenAPI description.
"""
