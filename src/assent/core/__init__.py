"""Values and pure decisions about plans, runs, sessions and permissions; no I/O (law 10)."""
