"""A cached property that is thread-safe: a service of the engine is created only once."""

from functools import cached_property
from threading import RLock
from typing import Any, Self, TypeVar, overload

T = TypeVar("T")

_making = RLock()  # one for all: nouns are made of each other


class lazy_property(cached_property[T]):
    """A cached property that also has a lock from Python 3.12 on, where the library's has none.

    A noun may know what is at work, such as which turns there are; of two nobody would know all.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...
    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> Self | T:
        with _making:
            return super().__get__(instance, owner)
