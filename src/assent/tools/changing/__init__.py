"""Changing: from what a model typed to exact operations, and nothing else."""
