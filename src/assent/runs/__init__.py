"""Runs: what was approved or permitted is applied, journalled, recovered and taken back."""
