"""Runs: journal, run state, slot moves, permits, rollback and evidence."""
