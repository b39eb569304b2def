"""The fixtures that the tests of all services share."""

from tests.support.fixtures import booth, site, world

__all__ = ["booth", "site", "world"]
