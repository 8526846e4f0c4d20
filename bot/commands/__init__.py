"""What people ask in comments and by labels: from the text of a comment to requests in the database.

In: comments, labels and buttons, of recorded deliveries. Out: run requests, cancellations, approvals and
acknowledgements; one line for each in the pull request's comment; reactions under the command.
Promises: only people with write access (or those that the configuration trusts) start anything; code of a
fork runs only after an approval of exactly its files; the same command twice changes nothing.
"""
