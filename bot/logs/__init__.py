"""Training logs: bytes in, facts out.

In:  the bytes of a log in chunks of any size: plain text, gzip, zstd, UTF-16; any number of runs and hosts.
Out: one `RunLog` per run (`reader.read_log`), with steps, marks, memory, environment and outcome.

A fact that the log does not state is `None`. No input raises an exception, memory stays flat whatever the
size of the log, and the result does not depend on where the chunks are cut.

One pass, one module for each part of it: `decoding` gives plain bytes, `scanner` finds the literals of all
rules, the rules of `formats` turn each match into statements, `segments` collects them by start of the
program and by host, `assembly` puts runs together, `outcome` decides how each run ended. `fast_path` skips
lines that are known already, `limits` says how much of a log is read.
"""
