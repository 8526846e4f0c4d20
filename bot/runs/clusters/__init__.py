"""Where runs are executed: one module per kind of cluster."""
