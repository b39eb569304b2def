"""The prompt: the text editor with completion, history and paste handling."""
