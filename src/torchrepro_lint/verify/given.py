"""The arguments of a call as far as they are known, which a probe reads: what it does not read, it does not follow.

What the user wants of the inputs (`SHAPE`, `DTYPE`, `MEMORY_FORMAT`) comes the same way, under names that are no
parameter's. Knows no operation, and no PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from torchrepro_lint.evidence import DTYPE, MEMORY_FORMAT, SHAPE

if TYPE_CHECKING:
    import torch

__all__ = ["DTYPE", "FOLDER", "MEMORY_FORMAT", "SHAPE", "UNREAD", "WRITTEN", "Given"]

WRITTEN, UNREAD = "as written", "not to be read"
FOLDER = "folder"
"""True where the arguments are those of a call, which has PyTorch's defaults for the rest; names of arguments that the
call passes, and whose values nobody knows; where the user's modules are imported from."""


class Given(Mapping[str, object]):
    """Arguments by name, which of them were asked for, and the dtype and layout of the tensors of this pass.

    `is_planned`: inputs are asked for their shapes alone.
    """

    def __init__(self, arguments: Mapping[str, object]) -> None:
        self._arguments = {name: value for name, value in arguments.items() if name not in (WRITTEN, UNREAD)}
        self._read: set[str] = set()
        self.is_written = bool(arguments.get(WRITTEN))
        unread = arguments.get(UNREAD)
        self.unknown = frozenset(map(str, unread)) if isinstance(unread, (list, tuple)) else frozenset()
        self.dtype: torch.dtype | None = None
        self.layout: str | None = None
        self.is_planned = False

    def __getitem__(self, name: str) -> object:
        self._read.add(name)
        return self._arguments[name]

    def __contains__(self, name: object) -> bool:
        self._read.add(str(name))
        return name in self._arguments

    def __iter__(self) -> Iterator[str]:
        return iter(self._arguments)

    def __len__(self) -> int:
        return len(self._arguments)

    def peek(self, name: str) -> object:
        """A value that is asked for, and followed elsewhere."""
        return self._arguments.get(name)

    def follow(self, name: str) -> None:
        """Say that it is followed."""
        self._read.add(name)

    def leaves_out(self, name: str) -> bool:
        """Whether the call is known not to pass it."""
        return self.is_written and name not in self and name not in self.unknown

    def in_pass(self, dtype: torch.dtype, layout: str | None) -> Given:
        """The same, for tensors of this dtype and layout; what is read of it is read of this."""
        other = Given({})
        other.__dict__.update(self.__dict__, dtype=dtype, layout=layout)
        return other

    @property
    def unread(self) -> list[str]:
        """What is given and was not asked for, or cannot be known."""
        return sorted(self._arguments.keys() - self._read | self.unknown)
