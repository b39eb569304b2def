"""Cancellation of turns, of their model requests and of the programs they started."""
