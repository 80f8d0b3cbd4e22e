"""Keeps our frames out of the tracebacks of the user's errors, unless the error is ours.

Observers stand around functions that may raise for the user's own reasons. Whoever prints the traceback, Python or the
program, is to see what it would have seen without us.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

from torchrepro_lint.rerun.inside.sites import is_ours


def leave_out_our_frames() -> None:
    """For tracebacks that Python prints, in any thread, and for those that the program prints."""
    plain_hook, plain_thread_hook, plain_walk = sys.excepthook, threading.excepthook, traceback.walk_tb

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        _clean_chain(error)
        plain_hook(kind, error, _cleaned(trace))

    def thread_hook(args: Any, /) -> None:
        if args.exc_value is not None:
            _clean_chain(args.exc_value)
        kept = (args.exc_type, args.exc_value, _cleaned(args.exc_traceback), args.thread)
        plain_thread_hook(threading.ExceptHookArgs(kept))

    def walk(tb: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
        return plain_walk(_cleaned(tb))

    sys.excepthook = hook
    threading.excepthook = thread_hook
    traceback.walk_tb = walk


def _clean_chain(error: BaseException) -> None:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        link.__traceback__ = _cleaned(link.__traceback__)
        link = link.__cause__ or link.__context__


def _cleaned(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without our frames; as it is where the innermost frame is ours, for then so is the mistake."""
    links = []
    link = trace
    while link is not None:
        links.append(link)
        link = link.tb_next
    if not links or is_ours(links[-1].tb_frame.f_code.co_filename):
        return trace
    kept = [link for link in links if not is_ours(link.tb_frame.f_code.co_filename)]
    for link, following in zip(kept, [*kept[1:], None], strict=True):
        link.tb_next = following
    return kept[0]
