"""Where runs are executed: one interface, one module or folder for each kind of cluster.

In: a `Job` with a name that we chose. Out: an `Observation` of that name, and the job's log.
Every call may be repeated; launching the same name twice starts one job.
A new kind of cluster is one module that fulfils `interface.Cluster` and one row where `app` opens places.
"""
