"""Assent: an AI plans, a person assents to exact bytes, exactly those bytes happen."""

__version__ = "0.1.0"
