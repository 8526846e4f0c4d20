"""The XPK cluster: workloads made by the `xpk` program, watched through the Kubernetes API."""
