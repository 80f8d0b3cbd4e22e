"""Writing to the standard streams: colours, widths, pipes that close early, the progress bar, exit codes.

Without click, which takes longer to import than a small run has to think.
"""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, TypeVar

_BATCH = 1 << 16  # characters between two flushes
_DEFAULT_WIDTH = 120
_PATIENCE = 2.0  # seconds before a progress bar appears
_PAUSE = 0.1  # seconds between two of its states
FAILED = 2
UNHEARD = 1  # as other programs end whose output nobody reads any more
INTERRUPTED = 130  # as a shell reports a program that Ctrl-C ended
T = TypeVar("T")


class Failure(Exception):
    """Work that could not be done, described in one sentence."""


def complain(message: str) -> None:
    """One line on the standard error."""
    from torchrepro_lint.report.escaping import visible

    _print(f"torchrepro-lint: {visible(message)}\n", err=True)


def wants_color(choice: str, *, err: bool = False) -> bool:
    """Whether to colour what goes to the standard output, or to the standard error."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    if os.environ.get("FORCE_COLOR", "0") != "0":
        return True
    return is_terminal(err=err)


def is_terminal(*, err: bool = False) -> bool:
    """Whether the standard output, or the standard error, is a terminal."""
    stream = sys.stderr if err else sys.stdout
    return stream is not None and stream.isatty()  # None: closed before the start


def width() -> int:
    """Columns of the terminal, or as COLUMNS says; a fixed number where there is none."""
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told):
        return int(told)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _DEFAULT_WIDTH
    except (OSError, ValueError, AttributeError):  # not a terminal; not a file; closed
        return _DEFAULT_WIDTH


def as_utf8() -> None:
    """Make the standard output UTF-8 whatever the terminal is: programs read it."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")


def write(chunks: Iterable[str], *, err: bool = False) -> None:
    """Print text as it comes; a reader that has gone away ends it quietly."""
    try:
        for batch in _batches(chunks):
            _print(batch, err=err)
    except BrokenPipeError:
        _discard_output()


def write_bytes(data: bytes) -> None:
    """Print bytes as they are."""
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        _discard_output()


def give_up(error: OSError) -> None:
    """Say that the standard output takes no more, such as on a full disk, or that the current folder is gone."""
    gone = isinstance(error, FileNotFoundError)
    if not gone:
        _discard_output()
    complain("the current folder does not exist any more" if gone else f"cannot write the output: {error.strerror}")


def write_file(path: Path, chunks: Iterable[str], option: str = "--output-file", mode: Literal["w", "a"] = "w") -> None:
    """Write a file that `option` asks for, in UTF-8."""
    try:
        with path.open(mode, encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.writelines(chunks)
    except OSError as error:
        raise Failure(f"{option}: cannot write {path}: {error.strerror}") from None


def _print(text: str, *, err: bool) -> None:
    stream = sys.stderr if err else sys.stdout
    if os.name == "nt":  # a console there may know no codes for colours, which click translates
        import click

        click.echo(text, stream, nl=False, color=True)
    elif stream is not None:  # None: closed before the start
        stream.write(text)
        stream.flush()


def _batches(chunks: Iterable[str]) -> Iterable[str]:
    held: list[str] = []
    size = 0
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size >= _BATCH:
            yield "".join(held)
            held, size = [], 0
    if held:
        yield "".join(held)


def _discard_output() -> None:
    """What is still buffered would raise again when Python exits."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


class Progress:
    """Counts files, or `things`, on the standard error, on a terminal, once a run has lasted a while."""

    def __init__(self, patience: float = _PATIENCE, things: str = "files") -> None:
        self._things = things
        self._begin = time.monotonic()
        self._next = self._begin + patience
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _PAUSE
        self._shown = True
        filled = 30 * done // max(total, 1)
        bar = "#" * filled + "-" * (30 - filled)
        rate = f", {done / (now - self._begin):.0f} a second" if now - self._begin > 0 else ""
        _print(f"\r[{bar}] {done} of {total} {self._things}{rate}\x1b[K", err=True)

    def clear(self) -> None:
        """Remove the bar from the screen."""
        if self._shown:
            _print("\r\x1b[K", err=True)
        self._shown = False


def exit_code(work: Callable[[], T]) -> T | int:
    """What `work` gives; where it cannot be done, say why."""
    try:
        return work()
    except Failure as failure:
        complain(str(failure))
    except BrokenPipeError:
        return UNHEARD
    except OSError as error:
        if error.filename is not None:
            raise
        give_up(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    return FAILED
