"""Command lines: lexer, parser, globs and quoting, and the values of running a program."""
