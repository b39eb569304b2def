"""Worker threads: background tasks, and the messages they send to the screen."""
