"""`assent "goal"`: one turn of a session from the command line, and how it is shown."""
