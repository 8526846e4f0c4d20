"""The operator's policy: what each repository may make this server do. Deny by default.

In:  the YAML file that the setting `POLICY` names, and GitHub's numeric ids of a repository and its owner.
Out: `Grants`, which are asked wherever words of a repository reach storage, the network or a program; a
`Refusal` of one line for the comment, and the lines that the operator would have to sign.

Words of a repository reach the outside in these places, and each asks the grants at every use:

- `runs.source` is listed and its logs and manifests are read: `ingest.importer`; each object or file again
  when it is opened, after links are resolved (`artifacts.folder`, `artifacts.bucket`).
- `launch.xpk` and `launch.local` become a job: `worker.pull_requests` and `worker.main_branch` before a run
  is planned, `worker.runs` before its cluster is asked anything and right before each launch, so also for
  retries, operators' retries, main-branch runs and rows that an older version planned.
- the cluster of a run is listed for orphaned jobs: `worker.maintenance.orphan_cleanup`.
- the log of a found run is opened again for a page: `web.log_viewer.source`.
- chip-hours are reserved: `worker.budget_gate`.

What needs no grant: the preview of a configuration, which opens nothing; the comment, checks, labels and
reactions on the repository itself and team memberships (with the installation's own token); logs of launched
runs in our own artifacts; what a person reads with `maxview parse` and `compare`. `launch.local.repository`
needs none beyond `launch.local`: only commits that GitHub itself names for the repository are read from it,
by their hash, and never from the server's own folders.

Not seen by it: a hard link in a granted folder is the file itself, wherever else it is.
"""
