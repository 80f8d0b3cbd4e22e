"""Facts about an operation of the catalogue, shared by the table, the page, JSON and the documentation: what it does,
under which conditions, and what was measured of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from torchrepro_lint.evidence import CONFIRMED, Measured
from torchrepro_lint.kernels.conditions import clause, wording
from torchrepro_lint.kernels.operations import Behaviour, Condition, Operation, every, in_range
from torchrepro_lint.project.versions import effective

FLAG = "torch.use_deterministic_algorithms(True)"
MEANINGS = {
    "raises": f"different bits on every run; raises under {FLAG}",
    "switches": "different bits on every run; the same with the deterministic kernel that the flag selects",
    "varies": "different bits on every run; the flag neither changes nor reports it",
    "exact": "the same bits on every run",
    "exact, raises": "the same bits on every run; still raises under the flag",
    "exact, switches": "the same bits on every run; a different kernel under the flag",
}
CHECKED = {
    "run": "seen in a run",
    "source": "read in the source",
    "docs": "taken from documentation",
    "unsure": "not certain",
}
_RULES = {"raises": "TRP501", "switches": "TRP502", "varies": "TRP503"}
_OF_OTHERS = "TRP504"


def word(behaviour: Behaviour) -> str:
    """The key of `MEANINGS` for a behaviour."""
    if behaviour.flag in ("silent", "deterministic"):
        return "exact" if behaviour.exact else "varies"
    return f"exact, {behaviour.flag}" if behaviour.exact else behaviour.flag


def current(operation: Operation, device: str, release: Sequence[int]) -> list[Behaviour]:
    """What it does on a device in a release; several where that depends on arguments."""
    return [b for b in operation.on(device) if in_range(tuple(release), b.torch)]


def by_device(operation: Operation, devices: Sequence[str], release: Sequence[int]) -> dict[str, list[str]]:
    """Behaviour in a word (or two, "raises or switches") -> the devices that show it in a release."""
    found: dict[str, list[str]] = {}
    for device in devices:
        words = " or ".join(dict.fromkeys(word(b) for b in current(operation, device, release)))
        if words:
            found.setdefault(words, []).append(device)
    return found


def reported_as(operation: Operation, release: Sequence[int]) -> list[str]:
    """The codes of the rules that report it in a release, on CUDA."""
    words = {word(b) for b in current(operation, "cuda", release)} & _RULES.keys()
    if not operation.reported or not words:
        return []
    return sorted(_RULES[w] for w in words) if operation.package == "torch" else [_OF_OTHERS]


def conditions(operation: Operation) -> str:
    """What must hold of a call for it to run this operation; empty where every call does."""
    return operation.condition or alternatives(operation.when)


def operation_json(
    operation: Operation, devices: Sequence[str], release: Sequence[int], measured: Sequence[Measured]
) -> dict[str, Any]:
    """An operation as plain data; its form is fixed by `docs/schemas/operations.schema.json`. Of behaviour, what
    holds on `devices`."""
    here = [device for device in operation.everywhere if device in devices]
    return {
        "id": operation.id,
        "family": operation.family,
        "package": operation.package,
        "spellings": list(operation.spellings),
        "syntax": list(operation.syntax),
        "direction": operation.direction,
        "devices": list(operation.everywhere),
        "kernel": operation.kernel,
        "effect": operation.effect,
        "condition": conditions(operation),
        "runtime": list(operation.runtime),
        "usual": list(operation.usual),
        "exact": alternatives(operation.exact),
        "now": {device: [word(b) for b in current(operation, device, release)] for device in here},
        "behaviour": [_behaviour_json(b, device) for device in here for b in operation.on(device)],
        "reported_as": reported_as(operation, release),
        "report_reason": operation.report_reason,
        "alternative": operation.alternative,
        "alerts": {device: list(names) for device, names in operation.alerts.items()},
        "alert_of": operation.alert_of or None,
        "docs_wrong": operation.docs_wrong or None,
        "checked": operation.checked,
        "sources": list(operation.sources),
        "measured": [item.as_json() for item in measured],
    }


def _behaviour_json(behaviour: Behaviour, device: str) -> dict[str, Any]:
    return {
        "device": device,
        "torch": behaviour.torch,
        "package": behaviour.package,
        "behaviour": word(behaviour),
        "under_warn_only": "varies" if behaviour.lenient else None,
        "when": alternatives(behaviour.when),
        "note": behaviour.note,
    }


# -- conditions in words -----------------------------------------------------------------------------------------------
def alternatives(conditions: Sequence[Condition]) -> str:
    """`a and b, or c`; empty where nothing is asked."""
    return ", or ".join(words for condition in conditions if (words := " and ".join(_all(condition))))


def _all(condition: Condition) -> Iterator[str]:
    for name, test in condition.items():
        if test.get("given") is False:
            yield f"without `{name}=`"
        elif words := wording(name, test):
            yield words
        elif not {"in", "not_in"} & test.keys():
            yield clause(name, test)


# -- what was measured -------------------------------------------------------------------------------------------------
def measured_of(code: str, measured: Iterable[Measured]) -> list[str]:
    """A sentence for each machine with a GPU, in the order of the evidence."""
    release = effective(None).release[:2]
    own = {op.id for op in every() if code in reported_as(op, release)}
    by_machine: dict[str, list[Measured]] = {}
    for item in measured:
        if item.id in own and item.device == "cuda":
            by_machine.setdefault(f"{item.machine}, torch {'.'.join(map(str, item.release))}", []).append(item)
    return [f"On {machine}: {_differed_and_agreed(items)}." for machine, items in by_machine.items()]


def _differed_and_agreed(items: Iterable[Measured]) -> str:
    varied = {item.id for item in items if item.verdict in CONFIRMED}
    agreed = {item.id: item for item in items if item.id not in varied}
    parts = []
    if varied:
        parts.append(f"equal inputs gave different bits in {', '.join(sorted(varied))}")
    if agreed:
        runs = max(item.repeats for item in agreed.values())
        parts.append(f"nothing differed in {runs} runs of {', '.join(sorted(agreed))}")
    return "; ".join(parts)
