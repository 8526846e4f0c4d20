"""The HTTP server in front of everything: what a connection may cost, and the process of the pages.

In:  connections of anybody. Out: requests, complete and within limits, for the application.

`connections` bounds what one connection and all of them may take: time, bytes, number. `page_process` keeps
the pages in a process of their own, so that no page holds up a webhook. Limits of readers are in
`bot.web.throttle`, those of webhook bodies in `bot.webhooks.receiver`.
"""
