"""The doctor: attempts everything that must not be possible, for real, and tells what held."""
