"""Which lines of the user's code a record belongs to: the innermost frames that are neither a library's nor ours.

A site is written to the stream once, and records name it by its number. Number 0 is a call that no user code made.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from types import FrameType
from typing import Any, TypeAlias

from torchrepro_lint.rerun.inside.cells import Cells

_DEPTH = 5  # frames that are told: enough to leave two helpers and reach the training loop
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_START = os.getcwd()
_Line: TypeAlias = "tuple[str, int, str]"
"""The file as code names it, the line, the function. Not the code itself: a hash of that takes longer than a frame."""

_STANDARD = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


@cache
def is_users(filename: str) -> bool:
    """Whether a file is the user's own: not of the standard library, an installed package, or this one."""
    if filename.startswith("<"):
        return False
    path = absolute(filename)
    installed = f"{os.sep}site-packages{os.sep}" in path or f"{os.sep}dist-packages{os.sep}" in path
    return not (installed or path.startswith((_STANDARD, _PACKAGE)))


def absolute(filename: str) -> str:
    """A file's path from where the process started: the program may have gone elsewhere, and deleted its folder."""
    return os.path.normpath(os.path.join(_START, filename))


def is_ours(filename: str) -> bool:
    """Whether a file belongs to this package."""
    return filename.startswith(_PACKAGE)


class Sites:
    """Numbers sites, and writes each to the stream when it is first met."""

    def __init__(self, write: Callable[[Any], None], notebook: str | None = None) -> None:
        self._write = write
        self._cells = Cells(notebook)
        self._numbers: dict[tuple[_Line, ...], int] = {}

    def here(self) -> int:
        """The site of the calling code."""
        return self.of(sys._getframe(1))

    def of(self, frame: FrameType | None) -> int:
        """The site of a frame and those that called it."""
        found: list[_Line] = []
        while frame is not None:
            code = frame.f_code
            if is_users(code.co_filename):
                found.append((code.co_filename, frame.f_lineno, code.co_name))
                if len(found) == _DEPTH:
                    break
            frame = frame.f_back
        if not found:
            return 0
        key = tuple(found)
        number = self._numbers.get(key)
        return number if number is not None else self._new(key)

    def is_users_since(self, frame: FrameType | None, function: str) -> bool:
        """Whether code of the user's runs that a library's `function` has called, rather than only what calls it."""
        while frame is not None and frame.f_code.co_name != function:
            if is_users(frame.f_code.co_filename):
                return True
            frame = frame.f_back
        return False

    def file(self, filename: str) -> tuple[str, int | None]:
        """Where code of that name stands: the file, and in a notebook the cell."""
        return self._cells.place(absolute(filename))

    def forget(self) -> None:
        """Number from 1 again: this process writes another stream."""
        self._numbers.clear()

    def _new(self, key: tuple[_Line, ...]) -> int:
        number = self._numbers[key] = len(self._numbers) + 1
        frames = []
        for filename, line, function in key:
            path, cell = self.file(filename)
            frames.append([path, line, function, *([cell] if cell is not None else [])])
        self._write({"k": "site", "n": number, "frames": frames})
        return number
