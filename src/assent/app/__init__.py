"""The composition root: the one place that knows every concrete class, and chooses them late."""
