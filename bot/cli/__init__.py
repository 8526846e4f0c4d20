"""The commands of the `maxview` program, one module each."""
