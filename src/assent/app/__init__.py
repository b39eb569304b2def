"""The composition root: chooses every concrete class, and loads most of them when needed."""
