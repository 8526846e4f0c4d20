"""The whole product on one machine, without an account.

`stage` starts a stand-in GitHub and the real server, `repository` makes the git repository with a branch for
each of `scenarios`, `play` opens their pull requests and waits for the answers. `github` is the stand-in
GitHub, which the tests use too. `training` is the program that the repository holds; the server never runs it
from here.
"""
