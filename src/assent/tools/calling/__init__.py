"""Calling: names, arguments and offers of tools, as models of any family use them."""
