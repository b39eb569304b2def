"""Assent: an AI plans, a person assents to exact bytes, exactly those bytes happen."""

__all__ = ["__version__"]  # other public modules: `assent.plugins`

__version__ = "0.1.0"
