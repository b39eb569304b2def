"""The native agent: asks a model, has its calls settled, and repeats."""
