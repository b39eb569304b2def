"""The terminal UI: plan, review, approve and build on one screen."""
