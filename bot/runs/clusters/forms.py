"""What the words of a place and an image may be made of, as regular expressions.

In:  nothing. Out: the forms that the configuration and the call of `xpk` check alike.

xpk pastes them into shell commands and YAML without quotes: nothing here means anything to either.
"""

PROJECT = r"[a-z0-9](?:[a-z0-9.:-]{0,98}[a-z0-9])?"
ZONE = r"[a-z][a-z0-9-]{0,40}"
CLUSTER = r"[a-z][a-z0-9-]{0,62}"
DEVICE_TYPE = r"[a-z0-9][a-z0-9-]{0,40}"
PRIORITIES = ("very-low", "low", "medium", "high", "very-high")

DIGEST = r"(?:@sha256:[0-9a-f]{64})?"
IMAGE = rf"[a-z0-9][A-Za-z0-9._/:-]{{0,400}}{DIGEST}"
IMAGE_OF_A_COMMIT = rf"[a-z0-9](?:[A-Za-z0-9._/:-]|\{{sha\}}){{0,400}}{DIGEST}"
