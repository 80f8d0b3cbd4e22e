"""The catalogue of operations as typed rows, and how a person's words find one: an id, a spelling, PyTorch's alert.
Knows no conditions and no context."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.cards import rules_dir
from torchrepro_lint.kernels.triggers import triggers

Condition = Mapping[str, Mapping[str, Any]]
"""Parameter (or fact of the call) -> what must hold of it, e.g. `{"mode": {"in": ["bicubic"]}}`."""

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge, "<=": operator.le, "==": operator.eq, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
_CLAUSE = re.compile(r"(>=|<=|==|<|>)\s*(\d+(?:\.\d+)*)")
_SHORT = {"F": "torch.nn.functional", "nn": "torch.nn", "tensor": "torch.Tensor", "Tensor": "torch.Tensor"}
MAX_NEAR = 5


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What a range of versions does on a device: `flag` says what use_deterministic_algorithms(True) makes of it.

    `exact` is true when the result does not vary even without the flag; `lenient` when it still varies under the
    flag with warn_only=True. `note` is for people.
    """

    torch: str
    package: str
    flag: str
    device: str | None
    exact: bool
    lenient: bool
    when: tuple[Condition, ...]
    note: str

    def covers(self, release: tuple[int, ...], device: str) -> bool:
        """Whether it speaks of this release of PyTorch on this device."""
        return (self.device or "cuda") == device and in_range(release, self.torch)


@dataclass(frozen=True, slots=True)
class Operation:
    """One row: an operation in one direction. `when` holds alternatives; so does `exact`, which lists calls
    whose result does not vary although the alert fires. `runtime` is what only the run decides, `usual` what holds of
    nearly every program. `spellings` are in the order of the table; `syntax` is how it is written without a name,
    `mentioned` a word without which a file does not call it. `alerts` are per device."""

    id: str
    family: str
    names: frozenset[str]
    spellings: tuple[str, ...]
    direction: str
    devices: tuple[str, ...]
    kernel: str
    effect: str
    reported: bool
    behaviour: tuple[Behaviour, ...]
    checked: str
    sources: tuple[str, ...]
    package: str = "torch"
    syntax: tuple[str, ...] = ()
    alternative: str = ""
    condition: str = ""
    when: tuple[Condition, ...] = ()
    exact: tuple[Condition, ...] = ()
    mentioned: str = ""
    unless_mentioned: tuple[str, ...] = ()
    runtime: tuple[str, ...] = ()
    usual: tuple[str, ...] = ()
    report_reason: str = ""
    alerts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    alert_of: str = ""
    docs_wrong: str = ""

    @property
    def everywhere(self) -> tuple[str, ...]:
        """Every device that it is described for, also those that a later release adds."""
        return tuple(dict.fromkeys((*self.devices, *(b.device or "cuda" for b in self.behaviour))))

    def on(self, device: str) -> tuple[Behaviour, ...]:
        """What it does on a device, in every release. One that has no words of its own does what CUDA does."""
        own = tuple(b for b in self.behaviour if (b.device or "cuda") == device)
        if own or device not in self.devices:
            return own
        return tuple(b for b in self.behaviour if b.device is None)


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a spelling: name -> (position or None, default), and those of a module's own call."""

    parameters: Mapping[str, tuple[int | None, ast.expr | None]]
    called: Mapping[str, tuple[int | None, ast.expr | None]]


@cache
def rows(name: str) -> tuple[Operation, ...]:
    """The reported rows for a spelling, in the order of their tables."""
    every = (op for family in triggers().get(name, ()) for op in family_rows(family))
    return tuple(op for op in every if op.reported and name in op.names)


def every() -> list[Operation]:
    """All rows of all tables, by table."""
    folder = rules_dir() / "catalogue" / "ops"
    return [op for path in sorted(folder.glob("*.toml")) for op in family_rows(path.stem)]


@cache
def family_rows(family: str) -> tuple[Operation, ...]:
    """All rows of one table."""
    return tuple(_operation(family, row) for row in catalogue.table(f"ops/{family}")["op"])


@cache
def signature(name: str) -> Signature:
    """The parameters of a spelling, as its table gives them."""
    for family in triggers().get(name, ()):
        text = catalogue.table(f"ops/{family}").get("signatures", {}).get(name)
        if text is not None:
            own, _, called = text.partition("|")
            return Signature(_parameters(own), _parameters(called))
    return Signature({}, {})


def _parameters(text: str) -> Mapping[str, tuple[int | None, ast.expr | None]]:
    definition = ast.parse(f"def f({text.strip()}): 0").body[0]
    assert isinstance(definition, ast.FunctionDef)
    arguments = definition.args
    missing: list[ast.expr | None] = [None] * (len(arguments.args) - len(arguments.defaults))
    found: dict[str, tuple[int | None, ast.expr | None]] = {}
    for place, (arg, default) in enumerate(zip(arguments.args, missing + list(arguments.defaults), strict=True)):
        found[arg.arg] = (place, default)
    for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found[arg.arg] = (None, default)
    return found


def _operation(family: str, row: Mapping[str, Any]) -> Operation:
    spellings = (*row.get("functions", ()), *row.get("methods", ()), *row.get("modules", ()))
    as_written = (f.name for f in fields(Operation) if f.name in row)
    known = {name: tuple(row[name]) if isinstance(row[name], list) else row[name] for name in as_written}
    return Operation(**known | {
        "family": family,
        "names": frozenset(spellings),
        "spellings": spellings,
        "reported": row.get("report") != "never",
        "behaviour": tuple(map(_behaviour, row["behaviour"])),
        "sources": (*row.get("sources", ()), *catalogue.table(f"ops/{family}")["sources"]),
    })  # fmt: skip


def _behaviour(row: Mapping[str, Any]) -> Behaviour:
    exact = row.get("default", "exact" if row["flag"] == "deterministic" else "varies") == "exact"
    return Behaviour(
        row.get("torch", ""), row.get("package", ""), row["flag"], row.get("device"), exact,
        row.get("lenient") == "varies", tuple(row.get("when", ())), row.get("note", ""),
    )  # fmt: skip


def is_one_of(value: object, listed: Iterable[object]) -> bool:
    """Whether a value is one of those listed, in which 1 and True are two."""
    return any(value == one and type(value) is type(one) for one in listed)


@cache
def in_range(release: tuple[int, ...], text: str) -> bool:
    """Whether a release lies in a range such as ">=2.1,<2.6" (an empty one holds all)."""
    return all(_holds(release, sign, number) for sign, number in _CLAUSE.findall(text))


def _holds(release: tuple[int, ...], sign: str, number: str) -> bool:
    bound = tuple(int(part) for part in number.split("."))
    width = max(len(release), len(bound))
    left, right = (t + (0,) * (width - len(t)) for t in (release, bound))
    return _COMPARE[sign](left, right)


# -- looked up by a person ---------------------------------------------------------------------------------------------
def find(text: str) -> list[Operation]:
    """The operations that `text` means, those that a rule reports first."""
    wanted = text.strip().removesuffix("()")
    operations = every()
    for matches in _MATCHES:
        found = [op for op in operations if matches(op, wanted)]
        if found:
            return sorted(found, key=lambda op: not op.reported)
    return []


def nearest(text: str) -> list[str]:
    """Ids and last parts of spellings that look like `text`, best first."""
    from difflib import get_close_matches

    known = {name.lower(): name for op in every() for name in (op.id, *(n.rpartition(".")[2] for n in op.spellings))}
    close = get_close_matches(text.strip().rpartition(".")[2].lower(), known, n=MAX_NEAR, cutoff=0.6)
    return [known[name] for name in close]


def _is_alert(operation: Operation, text: str) -> bool:
    """The alert alone, or the whole error that PyTorch raises with it."""
    alerts = [alert for names in operation.alerts.values() for alert in names]
    return any(text == alert or text.startswith(f"{alert} does not have a deterministic") for alert in alerts)


def _in_full(name: str) -> str:
    """`F.interpolate` as the catalogue spells it."""
    first, dot, rest = name.partition(".")
    return catalogue.canonical(_SHORT.get(first, first) + dot + rest)


_MATCHES: tuple[Callable[[Operation, str], bool], ...] = (
    lambda op, text: op.id == text.lower(),
    _is_alert,
    lambda op, text: _in_full(text) in op.names or text in op.syntax,
    lambda op, text: any(name.endswith(f".{text}") for name in op.spellings),
    lambda op, text: any(f".{name}".lower().endswith(f".{text}".lower()) for name in op.spellings),
)
"""How a text may mean an operation, the nearest first."""
