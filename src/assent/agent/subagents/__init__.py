"""Sub-agents: child sessions that work on tasks for a call of another session."""
