"""Facts of logs in, one honest verdict out.

In:  `RunLog`s of both sides, main's earlier step times, how many cases and looks.
Out: `MeasuredRun`s (`measure`), a `Comparison` with its explanation (`compare`), main's history (`noise`).
Promises: pure. Nothing is called the same, faster or fixed that the logs do not show. A run that is not
comparable gets no timing verdict. At no change at most 1 report in 20 flags any case, 1 in 100 with history.
Start with `compare`; `judgement` holds the values, `metrics` the one table of metrics; there is one module
for each step from a log to a verdict.
"""
