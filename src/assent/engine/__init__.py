"""The engine: every verb that a face may use, grouped by noun."""
