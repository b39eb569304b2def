"""The sandbox self-test: tries to escape from the sandbox, and remembers what it found."""
