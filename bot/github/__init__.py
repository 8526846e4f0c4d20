"""The only door to GitHub's API.

In:  the App's number and key, a repository, a person's token.
Out: values of our own (pull requests, commits, comments), or an exception of `errors`.
Promises: nothing is sent twice but a request that GitHub refused for its token, once, with a new one.
GitHub's rate limits are kept before GitHub has to say so. No exception carries a token or a key. githubkit
is imported at the first call.
"""
