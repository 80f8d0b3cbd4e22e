"""Evidence: what a run found out, as JSON whose form is fixed by `docs/schemas/evidence.schema.json`.

Counts, digests and times; never the contents of a tensor. Keys come in a fixed order.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torchrepro_lint import __version__
from torchrepro_lint.verify.confidence import interval, upper_bound
from torchrepro_lint.verify.results import Arm, Measurement
from torchrepro_lint.verify.session import Session
from torchrepro_lint.verify.verdicts import Row, outcome_of

SCHEMA = 1
_DIGITS = 4


def evidence(session: Session) -> dict[str, Any]:
    """The whole file."""
    protocol = session.protocol
    return {
        "schema": SCHEMA,
        "tool": __version__,
        "settings": {"repeats": protocol.repeats, "processes": protocol.processes, "stress": protocol.stress},
        "environment": session.environment,
        "rows": [row_json(row) for row in ordered(session)],
    }


def ordered(session: Session) -> list[Row]:
    """The rows as the file has them."""
    return sorted(session.rows, key=lambda row: (*row.task.key, row.device or ""))


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Write the file whole or not at all. Raises OSError."""
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def row_json(row: Row) -> dict[str, Any]:
    """One row."""
    strongest = row.strongest
    return {
        "id": row.task.id,
        "probe": row.task.probe,
        "device": row.device,
        "direction": row.task.direction,
        "arguments": dict(sorted(row.task.arguments.items())),
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
