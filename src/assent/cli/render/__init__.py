"""Output of single commands, as lines and as JSON rows."""
