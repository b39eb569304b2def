"""The conversation: a session's events as blocks, and the view that shows them."""
