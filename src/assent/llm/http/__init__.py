"""The network: a small HTTP/1.1 client that streams, and the events in what it receives."""
