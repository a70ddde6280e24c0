"""What all values are made of: the base class, guids, stamps and numbers.

Pure: frozen values; no I/O, no JSON, no decisions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NewType, TypeAlias, TypeVar

import msgspec
from msgspec import Meta as Meta  # noqa: PLC0414 - bounds of fields of `Details`
from msgspec.structs import replace as replace  # noqa: PLC0414 - it goes with `Value`

Guid = NewType("Guid", str)
"""A guid in its canonical form: 8-4-4-4-12 hexadecimal digits in lower case."""

Stamp = NewType("Stamp", int)
"""A moment as microseconds since 1970-01-01T00:00:00Z, as an account's own clock counts them."""

Second = NewType("Second", int)
"""A moment as whole seconds since 1970-01-01T00:00:00Z, the finest time that apps know."""

AccountId = NewType("AccountId", int)
"""A random number from 1 to 2**63 - 1."""

TokenId = NewType("TokenId", int)
"""The number of a token or session within its account, from 1; never given out twice."""

UNNUMBERED = TokenId(0)
"""The number of a token that is not stored yet; the store gives it its account's next number."""

Now: TypeAlias = Callable[[], Stamp]
"""Returns the present moment. Services and stores are given one, and read no clock themselves."""

T = TypeVar("T")

T_co = TypeVar("T_co", covariant=True)


class Value(msgspec.Struct, frozen=True, gc=False):
    """The base class of values: they cannot be changed, and those with equal fields are equal.

    Values are made for each row of each request, and never refer to each other in a cycle, so the
    garbage collector need not look at them. To make a subscription takes 0.07 microseconds; as a
    frozen dataclass it took 0.76.

    Attributes:
        hidden: The fields that `repr()` leaves out, such as secrets: it may end in a log.
    """

    hidden: ClassVar[frozenset[str]] = frozenset()

    def __repr__(self) -> str:
        """Return the name of the class and all fields but the hidden ones."""
        shown = (name for name in self.__struct_fields__ if name not in self.hidden)
        fields = (f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__name__}({', '.join(fields)})"
