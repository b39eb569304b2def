"""Sessions: what is said, which calls are settled, and what becomes of their wishes."""
