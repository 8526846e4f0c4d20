"""Found and launched runs become measurements, and a report's runs are chosen from them.

In: logs in a repository's store, or in our own artifacts. Out: runs and measurements in the
database, and for a pull request the runs of both sides of each case.
Promises: each log is read once; importing twice changes nothing; a log that cannot be read does not stop
others.
"""
