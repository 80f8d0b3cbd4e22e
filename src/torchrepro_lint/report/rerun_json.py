"""What a rerun found, as JSON whose form is fixed by `docs/schemas/rerun.schema.json`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from torchrepro_lint.report import escaping
from torchrepro_lint.report.rerun_words import bound, recall

if TYPE_CHECKING:
    from torchrepro_lint.rerun.results import Cause, Outcome, Proof
    from torchrepro_lint.rerun.streams import Place

SCHEMA = 1


def render(outcome: Outcome, proof: Proof | None = None) -> Iterator[str]:
    """The whole document."""
    yield escaping.as_json(as_json(outcome, proof)) + "\n"


def as_json(outcome: Outcome, proof: Proof | None = None) -> dict[str, Any]:
    """The document as data."""
    return {"schema": SCHEMA, **_report(outcome), "with_fixes": None if proof is None else _with_fixes(proof)}


def _with_fixes(proof: Proof) -> dict[str, Any]:
    told = _report(proof.outcome)
    return {"fixes": proof.fixes, **{key: told[key] for key in ("verdict", "reason", "first_different_step", "causes")}}


def _report(outcome: Outcome) -> dict[str, Any]:
    predicted, causes = recall(outcome)
    return {
        "verdict": outcome.verdict.value,
        "reason": outcome.reason,
        "command": list(outcome.command),
        "steps": outcome.steps,
        "first_different_step": outcome.first_step,
        "causes": [_cause(cause) for cause in outcome.causes],
        "findings": [
            {"code": seen.code, **_place(seen.place), "message": seen.message, "status": seen.status}
            for seen in outcome.findings
        ],
        "predicted": {"causes": causes, "predicted": predicted},
        "curve": [{"step": s.number, "losses": list(s.losses), "equal": s.equal} for s in outcome.curve],
        "compared": dict(outcome.compared),
        "notes": list(outcome.notes),
        "statistics": {
            "runs": outcome.runs,
            "comparisons": outcome.comparisons,
            "differing": outcome.differing,
            "upper_bound": bound(outcome),
        },
        "digest": outcome.digest,
        "environment": dict(outcome.environment),
    }


def _cause(cause: Cause) -> dict[str, Any]:
    return {
        "verdict": cause.kind.value,
        "generator": cause.generator,
        "operation": cause.operation,
        "source": cause.source,
        "detail": cause.detail,
        **(_place(cause.place) if cause.place else {"path": None, "line": None, "cell": None}),
        "frames": [asdict(frame) for frame in cause.frames],
        "process": cause.process,
        "rank": cause.rank,
        "step": cause.step,
        "shown_by": cause.shown_by,
        "idle": cause.idle,
        "deterministic": cause.deterministic,
        "inputs": [{"dtype": given.dtype, "shape": list(given.shape)} for given in cause.inputs],
        "results": [asdict(extent) for extent in cause.extents],
        "predicted_by": [{"code": p.code, **_place(p.place)} for p in cause.predicted_by],
    }


def _place(place: Place) -> dict[str, Any]:
    return {"path": place.path, "line": place.line, "cell": place.cell}
