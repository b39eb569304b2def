"""Words and laws: the values of the system and the pure decisions about them."""
