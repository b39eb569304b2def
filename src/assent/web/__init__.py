"""The server: the same engine over HTTP, for the page, for scripts and for other programs."""
