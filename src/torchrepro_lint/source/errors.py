"""The one error of this layer: a file that cannot be read as source text."""

from __future__ import annotations

from torchrepro_lint.elements import Position


class SourceError(Exception):
    """The file cannot be read or decoded; `position` says where, where there is one."""

    def __init__(self, message: str, position: Position | None = None) -> None:
        super().__init__(message, position)
        self.message = message
        self.position = position

    def __str__(self) -> str:
        return self.message
