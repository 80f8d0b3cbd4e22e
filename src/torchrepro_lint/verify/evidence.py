"""Evidence: what a run found out, as JSON whose form is fixed by `docs/schemas/evidence.schema.json`.

Counts, digests and times; never the contents of a tensor. Keys come in a fixed order.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torchrepro_lint import __version__
from torchrepro_lint.verify.confidence import interval, upper_bound
from torchrepro_lint.verify.results import Arm, Measurement
from torchrepro_lint.verify.session import Session
from torchrepro_lint.verify.verdicts import Row, outcome_of

SCHEMA = 1
_DIGITS = 4


def evidence(session: Session, kept: Iterable[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """The whole file; `kept` are rows of an earlier one."""
    rows = [*(row_json(row) for row in ordered(session)), *kept]
    protocol = session.protocol
    return {
        "schema": SCHEMA,
        "tool": __version__,
        "settings": {"repeats": protocol.repeats, "processes": protocol.processes, "stress": protocol.stress},
        "environment": session.environment,
        "rows": sorted(rows, key=_place) if kept else rows,
    }


def ordered(session: Session) -> list[Row]:
    """The rows as the file has them."""
    return sorted(session.rows, key=lambda row: (*row.task.key, row.device or ""))


def _place(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["id"], json.dumps(row["arguments"], sort_keys=True), row["device"] or ""


def text(content: Mapping[str, Any]) -> str:
    """The file as text."""
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Write the whole file. Raises OSError."""
    write_text(path, text(content))


def write_text(path: Path, whole: str) -> None:
    """Write a file whole or not at all, through links and to what is no file: a pipe, `/dev/stdout`. Raises OSError."""
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.write(whole)
        return
    path = path.resolve()
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(whole)
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def refuse_unwritable(path: Path) -> None:
    """Raises OSError where `write` would, for what can be known before there is anything to write."""
    folder, kind = path.resolve().parent, None
    if path.is_dir():
        kind = errno.EISDIR
    elif path.exists() and not path.is_file():
        kind = None if os.access(path, os.W_OK) else errno.EACCES
    elif not folder.is_dir():
        kind = errno.ENOTDIR if folder.exists() else errno.ENOENT
    elif not os.access(folder, os.W_OK | os.X_OK):
        kind = errno.EACCES
    if kind is not None:
        raise OSError(kind, os.strerror(kind))


def row_json(row: Row) -> dict[str, Any]:
    """One row."""
    strongest = row.strongest
    return {
        "id": row.task.id,
        "probe": row.task.probe,
        "device": row.device,
        "direction": row.task.direction,
        "arguments": row.task.shown,
        "not_followed": list(row.not_followed),
        "verdict": row.verdict.value,
        "reason": row.reason,
        "repeats": len(strongest.default.outputs) if strongest else 0,
        "processes": strongest.processes if strongest else 0,
        "distinct": strongest.default.distinct if strongest else 0,
        "upper_bound": _bound(strongest.default) if strongest else None,
        "deterministic": _row_deterministic(row),
        "experiments": [_experiment(measurement) for measurement in row.measurements],
    }


def _row_deterministic(row: Row) -> dict[str, Any]:
    """The worst outcome, of the strongest experiment where several share it."""
    if row.outcome is None:
        return _deterministic(None)
    worst = [m for m in row.measurements if outcome_of(m) is row.outcome]
    return _deterministic(row.strongest if row.strongest in worst else worst[0])


def _experiment(measurement: Measurement) -> dict[str, Any]:
    default = measurement.default
    difference = default.difference
    low, high = interval(default.differing, len(default.outputs) - 1)
    return {
        "summary": measurement.summary,
        "repeats": len(default.outputs),
        "processes": measurement.processes,
        "distinct": default.distinct,
        "first_difference": default.first_difference,
        "part": difference.part if difference else None,
        "fraction": _rounded(difference.fraction) if difference else None,
        "max_ulp": _rounded(difference.max_ulp) if difference else None,
        "max_relative": _rounded(difference.max_relative) if difference else None,
        "place": asdict(measurement.place) if measurement.place else None,
        "interval": [_rounded(low), _rounded(high)],
        "upper_bound": _bound(default),
        "digests": {"inputs": measurement.inputs, "outputs": dict(default.most_frequent)},
        "deterministic": _deterministic(measurement),
    }


def _deterministic(measurement: Measurement | None) -> dict[str, Any]:
    outcome = outcome_of(measurement) if measurement else None
    if measurement is None or measurement.deterministic is None or outcome is None:
        return {"outcome": None, "alert": None, "distinct": None, "slowdown": None}
    slow = measurement.slowdown
    return {
        "outcome": outcome.value,
        "alert": measurement.deterministic.alert,
        "distinct": measurement.deterministic.distinct or None,
        "slowdown": {
            "median": _rounded(slow.median),
            "iqr": [_rounded(slow.iqr[0]), _rounded(slow.iqr[1])],
            "pairs": slow.pairs,
            "default_ms": _rounded(slow.default_ms),
            "deterministic_ms": _rounded(slow.deterministic_ms),
        }
        if slow
        else None,
    }


def _bound(arm: Arm) -> float | None:
    return _rounded(upper_bound(len(arm.outputs) - 1)) if arm.distinct == 1 else None


def _rounded(value: float | None) -> float | None:
    """To so many significant digits: more were noise."""
    return None if value is None else float(f"{value:.{_DIGITS}g}")
