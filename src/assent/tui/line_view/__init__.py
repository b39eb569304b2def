"""The line view: a scrolling, searchable widget for many lines of text."""
