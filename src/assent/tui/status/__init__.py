"""The status line, and the snapshot of session, plan and questions behind it."""
