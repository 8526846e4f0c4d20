"""The commands of the `maxview` program: one module for each, with `add_arguments(parser)` and `main(args)`.

In:  parsed arguments; sources of logs, a configuration file, or the server's database.
Out: text, tables or JSON on standard output, and the exit status. Errors are `UserError`s of one line.

`terminal` prints, `sources` reads the logs that a person names. Only the module of the command that runs is
imported.
"""
