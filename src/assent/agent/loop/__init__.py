"""The native agent loop: asks a model, runs its tool calls, and repeats."""
