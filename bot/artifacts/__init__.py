"""Folders and buckets of runs and logs: the only door to google-cloud-storage.

In:  `file:…`, a path, `gs://bucket/prefix`, `http(s)://…`, `-`.
Out: an `ArtifactStore`, or the bytes of one log.
Promises: bytes as they are stored, one generation per read, constant memory, no name that leads out of the
store, and a `UserError` for what a person can fix.
"""
