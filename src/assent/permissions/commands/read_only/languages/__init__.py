"""Checkers for the small languages that commands take as arguments: sed, awk, find, jq, test."""
