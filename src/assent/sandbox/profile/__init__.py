"""Sandbox profiles: what a program can see of this machine, and what is masked."""
