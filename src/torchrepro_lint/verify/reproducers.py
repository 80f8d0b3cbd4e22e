"""Scripts that show what rows showed, one for each that differed or raised, as files.

Knows rows and what a worker answers; nothing of PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from torchrepro_lint.verify.evidence import write_text
from torchrepro_lint.verify.process import Process
from torchrepro_lint.verify.results import Measurement
from torchrepro_lint.verify.session import Session
from torchrepro_lint.verify.verdicts import Row, Verdict

_TIMEOUT = 300.0
_RUNS = 20  # or more, where it took more to see a difference
_TITLES = {
    Verdict.CONFIRMED: "differs from run to run on equal inputs",
    Verdict.STILL_DIFFERS: "differs from run to run under torch.use_deterministic_algorithms(True)",
    Verdict.RAISES: "raises under torch.use_deterministic_algorithms(True)",
}


@dataclass(frozen=True)
class Reproducer:
    """A row and its script, or why there is none."""

    row: Row
    path: Path | None
    reason: str | None = None


def write_reproducers(folder: Path, session: Session, seen: Callable[[str], str]) -> Iterator[Reproducer]:
    """Into a folder that is there; `seen` names machine and PyTorch for a device. Raises OSError, Died."""
    rows = [row for row in session.rows if row.verdict in _TITLES and row.device]
    if not rows:
        return
    process = Process(session.protocol.worker)
    try:
        process.hello(_TIMEOUT)
        for row in rows:
            text, reason = _script(row, process, seen(row.device or ""))
            path = folder / _name(row, rows) if text is not None else None
            if path is not None and text is not None:
                write_text(path, text)
            yield Reproducer(row, path, reason)
    finally:
        process.kill()


def _script(row: Row, process: Process, seen: str) -> tuple[str | None, str | None]:
    request = {
        "script": _shown(row).summary,
        "probe": row.task.probe,
        "arguments": dict(row.task.arguments),
        "device": row.device,
        "title": f"{row.task.id} {_TITLES[row.verdict]}.",
        "seen": seen,
        "repeats": max(_RUNS, 3 * (_shown(row).default.first_difference or 0)),
    }
    for answer in list(process.ask(request, _TIMEOUT)):
        if "text" in answer:
            return answer["text"], None
        if reason := answer.get("unsupported") or answer.get("missing"):
            return None, str(reason)
    return None, "the worker had no answer"


def _shown(row: Row) -> Measurement:
    """The experiment that shows it best: of one that raises, any that does."""
    raising = [m for m in row.measurements if m.deterministic is not None and m.deterministic.alert]
    strongest = row.strongest
    assert strongest is not None
    return raising[0] if row.verdict is Verdict.RAISES else strongest


def _name(row: Row, rows: Sequence[Row]) -> str:
    """`put-cpu.py`, with a number where the same operation is called in several ways."""
    alike = [other for other in rows if (other.task.id, other.device) == (row.task.id, row.device)]
    number = f"-{alike.index(row) + 1}" if len(alike) > 1 else ""
    return f"{row.task.id}-{row.device}{number}.py"
