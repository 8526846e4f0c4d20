"""Did the change alter what the model learns: the whole loss curve of base against head's.

In: the logs of both sides, and the losses of main's runs. Out: a `LossDecision` (`decision.compare_loss`).
`curve` reads a run's losses, `repeatability` asks what equal runs do.
"""
