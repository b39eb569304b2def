"""Storage in the state directory: the event log, blobs, the signing key, locks and the clock."""
