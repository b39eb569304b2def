"""A command line outside plan mode: what is in it, what it risks, and what nobody should run."""
