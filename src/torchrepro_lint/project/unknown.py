"""What cannot be known, told apart from None, which is a value that programs use."""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal, TypeAlias


class _Opaque(Enum):
    UNKNOWN = "unknown"


UNKNOWN: Final = _Opaque.UNKNOWN
"""An argument that may or may not be there, or a value that cannot be known: a rule stays silent on it."""

Opaque: TypeAlias = Literal[_Opaque.UNKNOWN]
