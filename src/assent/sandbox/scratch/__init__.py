"""The scratch copy: the workspace with the draft on top, writable, confined and thrown away."""
