"""The web site: pages for people, the same as JSON for programs, sign-in, and the HTTP server's routes.

In: the database, our own store, templates, GitHub's answers about who may read what (`site.WebDeps`).
Out: one Starlette application.
No page or answer tells a visitor more than they may read; every page works without script.
"""
