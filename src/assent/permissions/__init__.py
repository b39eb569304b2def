"""The gate: decides what may run, and says why not."""
