"""The person's files on a local disk, and Assent's own few files among them."""
