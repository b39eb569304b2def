"""Tables of commands that only read, by what they are for."""
