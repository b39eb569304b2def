"""Tables of read-only commands, by purpose."""
