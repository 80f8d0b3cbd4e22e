"""The arguments of a call as far as they are known, which a probe reads: what it does not read, it does not follow.

What the user wants of the inputs (`SHAPE`, `DTYPE`, `MEMORY_FORMAT`) comes the same way, under names that are no
parameter's. Knows no operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

SHAPE, DTYPE, MEMORY_FORMAT = "input.shape", "input.dtype", "input.memory_format"
WRITTEN = "as written"
"""True where the arguments are all that a call shows: for the rest it has PyTorch's defaults."""


class Given(Mapping[str, object]):
    """Arguments by name, and which of them were asked for."""

    def __init__(self, arguments: Mapping[str, object]) -> None:
        self._arguments = dict(arguments)
        self._read: set[str] = {WRITTEN}

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

    @property
    def unread(self) -> list[str]:
        """What is given and was not asked for."""
        return sorted(self._arguments.keys() - self._read)
