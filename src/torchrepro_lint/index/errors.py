"""What the index cannot read."""

from __future__ import annotations

from torchrepro_lint.model import Position


class ParseError(Exception):
    """The text is not what its file's name says, to the running interpreter; `position` says where, if it is known."""

    def __init__(self, message: str, position: Position | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
