"""A small streaming HTTP/1.1 client, with server-sent events."""
