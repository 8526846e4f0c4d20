"""The state machine of a launched run.

In: a run's stored status, the cluster's observation, whether anybody wants the run, the time.
Out: the new status and the effects to perform; job names; estimates of the remaining time.
Pure: no I/O, no clock. Every effect may be repeated.
"""
