"""Read-only commands: tables of what may run while planning, and the classifier that uses them."""
