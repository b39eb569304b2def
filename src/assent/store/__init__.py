"""What Assent remembers: the log, contents by digest, the key, locks and the clock."""
