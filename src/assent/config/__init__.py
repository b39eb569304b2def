"""Configuration: one schema, two files, and the rule that a project can only narrow."""
