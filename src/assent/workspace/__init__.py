"""The workspace on a local disk, for reading: files, root, git state, instructions."""
