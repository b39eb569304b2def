"""The command classifier: what a command line does, what it risks, and what is always refused."""
