"""What the verifier measured, read back: the evidence that ships in `rules/catalogue/evidence/`, and a user's own file.

Says what was measured where, in words too. Knows no findings, and imports no torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from torchrepro_lint.cards import rules_dir
from torchrepro_lint.elements import Property
from torchrepro_lint.reading import read_regular

SCHEMA = 1
SHAPE, DTYPE, MEMORY_FORMAT = "input.shape", "input.dtype", "input.memory_format"
"""Among the arguments of a measurement: what its inputs were, where a call or the user says so."""
MAX_BYTES = 50_000_000  # a row for each of some hundred operations, thoroughly measured, takes one
CONFIRMED = ("CONFIRMED", "STILL_DIFFERS_IN_DET_MODE")
NOT_REPRODUCED = "NOT_REPRODUCED"
VERDICTS = (*CONFIRMED, "RAISES_IN_DET_MODE", "SWITCHES_IN_DET_MODE", NOT_REPRODUCED, "NOT_EXERCISED", "UNSUPPORTED")
_UNMEASURED = ("NOT_EXERCISED", "UNSUPPORTED")
_OUTCOMES = ("raises", "switches", "still_differs", "same", None)


class EvidenceError(ValueError):
    """Evidence that cannot be read; the text names the file and the place in it."""


class Measured(NamedTuple):
    """What one operation did on one machine: `distinct` results of `repeats` runs on equal inputs.

    `arguments` are those of the call that was measured, empty for the recipe's own. `outcome` is what
    use_deterministic_algorithms(True) made of it, `slowdown` the time under it over the time without, `reason` what is
    missing from the measurement.
    """

    id: str
    device: str
    machine: str
    torch: str
    arguments: Mapping[str, Property]
    verdict: str
    repeats: int
    distinct: int
    upper_bound: float | None
    outcome: str | None
    slowdown: float | None
    is_own: bool
    reason: str | None = None

    @property
    def release(self) -> tuple[int, ...]:
        """Major and minor number of the PyTorch that it was measured with."""
        return tuple(int(part) for part in self.torch.split(".")[:2] if part.isdecimal() and len(part) < 5)

    @property
    def words(self) -> str:
        """One sentence without a full stop."""
        who = "your own measurement" if self.is_own else "measured"
        machine = self.machine if self.device == "cuda" else f"a CPU ({self.machine})"
        where = f"{who} on {machine}, torch {'.'.join(map(str, self.release)) or self.torch}"
        return f"{where}: {', '.join(self._told())}"

    def _told(self) -> Iterator[str]:
        if self.distinct > 1:
            yield f"{self.repeats} runs gave {self.distinct} different results"
        else:
            bound = f" (so at most {100 * self.upper_bound:.2g} % do not, 95 % sure)" if self.upper_bound else ""
            yield f"all {self.repeats} runs agreed{bound}"
        match self.outcome:
            case "raises":
                yield "raises under deterministic algorithms"
            case "still_differs":
                yield "differs under deterministic algorithms too"
            case "switches" | "same" if self.slowdown is not None:
                yield f"deterministic path {pace(self.slowdown)}"
        if self.reason is not None and self.distinct == 1:  # a difference is proven by however few runs
            yield f"incomplete: {self.reason}"

    def as_json(self) -> dict[str, Property]:
        """Plain data, with the words."""
        return {**self._asdict(), "arguments": dict(self.arguments), "words": self.words}


class Evidence:
    """The user's own measurements, which come first, and those that ship."""

    def __init__(self, own: Sequence[Measured] = ()) -> None:
        self._own = tuple(own)

    def all(self) -> tuple[Measured, ...]:
        """All of them, the user's first."""
        return (*self._own, *shipped())

    def of(self, operation: str) -> list[Measured]:
        """What was measured of a row of the catalogue."""
        return [item for item in (*self._own, *shipped()) if item.id == operation]


@cache
def shipped() -> tuple[Measured, ...]:
    """All measurements that come with the catalogue, by file."""
    folder = rules_dir() / "catalogue" / "evidence"
    return tuple(item for path in sorted(folder.glob("*.json")) for item in read(path, is_own=False))


def read(path: Path, *, is_own: bool = True) -> tuple[Measured, ...]:
    """The measurements in a file; raises EvidenceError for one that is not in form."""
    import json

    try:
        document = json.loads(read_regular(path, MAX_BYTES).decode("utf-8"))
    except OSError as error:
        raise EvidenceError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise EvidenceError(f"{path}: is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise EvidenceError(f"{path}:{error.lineno}:{error.colno}: broken JSON: {error.msg}") from None
    except (RecursionError, ValueError):  # thousands of brackets, or of digits
        raise EvidenceError(f"{path}: broken JSON: nested too deeply, or a number with too many digits") from None
    return measured_in(document, path, is_own=is_own)


def measured_in(document: Any, path: Path, *, is_own: bool = True) -> tuple[Measured, ...]:
    """The measurements in a document that is no file yet, or that the file at `path` holds. Raises EvidenceError."""
    return tuple(_Reader(path, is_own).measurements(document))


class _Reader:
    """Takes from a document what is needed, and names the place where it is not in form."""

    def __init__(self, path: Path, is_own: bool) -> None:
        self.path = path
        self.is_own = is_own

    def measurements(self, document: Any) -> Iterator[Measured]:
        if not isinstance(document, dict) or "schema" not in document:
            raise EvidenceError(f"{self.path}: is no evidence: it has no schema")
        if document["schema"] != SCHEMA:
            raise EvidenceError(f"{self.path}: schema: is {document['schema']!r}, this version reads {SCHEMA}")
        environment = self.of_kind(document, "environment", dict, "")
        for number, row in enumerate(self.of_kind(document, "rows", list, "")):
            place = f"rows[{number}]"
            if not isinstance(row, dict):
                raise self.error(place, "must be an object")
            if self.one_of(row, "verdict", VERDICTS, place) not in _UNMEASURED:
                yield self.measured(row, environment, place)

    def measured(self, row: dict[str, Any], environment: dict[str, Any], place: str) -> Measured:
        device = self.one_of(row, "device", ("cuda", "cpu"), place)
        flag = self.of_kind(row, "deterministic", dict, place)
        slowdown = self.of_kind(flag, "slowdown", dict, f"{place}.deterministic") if flag.get("slowdown") else None
        return Measured(
            id=self.of_kind(row, "id", str, place),
            device=device,
            machine=self.machine(environment, "gpu" if device == "cuda" else "cpu"),
            torch=self.of_kind(environment, "torch", str, "environment").partition("+")[0],
            arguments=self.of_kind(row, "arguments", dict, place),
            verdict=row["verdict"],
            repeats=self.of_kind(row, "repeats", int, place),
            distinct=self.of_kind(row, "distinct", int, place),
            upper_bound=self.number(row, "upper_bound", place),
            outcome=self.one_of(flag, "outcome", _OUTCOMES, f"{place}.deterministic"),
            slowdown=self.number(slowdown, "median", f"{place}.deterministic.slowdown") if slowdown else None,
            is_own=self.is_own,
            reason=self.reason(row, place),
        )

    def reason(self, row: dict[str, Any], place: str) -> str | None:
        """Why the row does not speak for the whole call."""
        if row.get("reason") is not None:
            return str(self.of_kind(row, "reason", str, place))
        names = self.of_kind(row, "not_followed", list, place) if row.get("not_followed") else []
        return f"run without its {', '.join(map(str, names))}" if names else None

    def machine(self, environment: dict[str, Any], kind: str) -> str:
        """The model; some machines do not tell theirs."""
        known = environment.get(kind) is not None
        return str(self.of_kind(environment, kind, str, "environment")) if known else f"an unknown {kind.upper()}"

    def number(self, table: dict[str, Any], key: str, place: str) -> float | None:
        return None if table.get(key) is None else float(self.of_kind(table, key, (int, float), place))

    def of_kind(self, table: dict[str, Any], key: str, kind: Any, place: str) -> Any:
        value = table.get(key)
        if isinstance(value, kind) and not isinstance(value, bool):
            return value
        names = {dict: "an object", list: "a list", str: "a text", int: "a whole number"}
        problem = f"must be {names.get(kind, 'a number')}" if value is not None else "is missing"
        raise self.error(f"{place}.{key}" if place else key, problem)

    def one_of(self, table: dict[str, Any], key: str, valid: Sequence[str | None], place: str) -> Any:
        value = table.get(key)
        if value in valid:
            return value
        raise self.error(f"{place}.{key}", f"{value!r} is none of {', '.join(v for v in valid if v)}")

    def error(self, place: str, problem: str) -> EvidenceError:
        return EvidenceError(f"{self.path}: {place}: {problem}")


def pace(slowdown: float) -> str:
    """`1.8x slower`."""
    if 0.95 < slowdown < 1.05:
        return "as fast"
    times, word = (slowdown, "slower") if slowdown > 1 else (1 / slowdown, "faster")
    return f"{times:.1f}x {word}" if times < 10 else f"{times:.0f}x {word}"
