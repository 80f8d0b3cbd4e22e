"""Which lines of the user's files ran: what tells a finding that was not observed from one that was not reached."""

from __future__ import annotations

import sys
import threading
from types import CodeType, FrameType
from typing import Any

from torchrepro_lint.rerun.inside.recorder import Recorder
from torchrepro_lint.rerun.inside.sites import is_users


class Lines:
    """Collects the executed lines of user code, as a debugger would, unless one is at work already."""

    def __init__(self) -> None:
        self._lines: dict[CodeType, set[int]] = {}

    def start(self) -> None:
        """From the next call on, in every thread."""
        if sys.gettrace() is None:
            threading.settrace(self._call)
            sys.settrace(self._call)

    def write(self, recorder: Recorder) -> None:
        """A record for each file, and each cell of a notebook."""
        sys.settrace(None)
        files: dict[tuple[str, int], set[int]] = {}
        for code, lines in list(self._lines.items()):
            path, cell = recorder.sites.file(code.co_filename)
            files.setdefault((path, cell or 0), set()).update(lines)
        for (path, cell), found in sorted(files.items()):
            recorder.stream.write({"k": "lines", "path": path, "cell": cell or None, "lines": sorted(found)})
        self._lines.clear()

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not is_users(code.co_filename):
            return None
        seen = self._lines.setdefault(code, set())
        seen.add(frame.f_lineno)

        def line(frame: FrameType, event: str, argument: Any) -> Any:
            seen.add(frame.f_lineno)
            return line

        return line
