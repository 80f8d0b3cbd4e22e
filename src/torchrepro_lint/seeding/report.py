"""What the tool believes about one program, as plain data: where it starts, which files it runs, which seeds it meets
and what it draws first, what could not be followed, and which bounds were hit.

Words a `Seeding` for a person; decides nothing that a rule decides.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from torchrepro_lint.dataflow import Program
from torchrepro_lint.dataflow.conditions import conditions
from torchrepro_lint.dataflow.outcomes import Truth
from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.model import Location
from torchrepro_lint.project.entries import Entry
from torchrepro_lint.rng import FAMILIES
from torchrepro_lint.seeding.seeding import MAYBE, SEEDED, UNSEEDED, Link, Seeding, SeedMet, Witness
from torchrepro_lint.seeding.unfollowed import unfollowed
from torchrepro_lint.seeding.unseeded import BY_OPTION, IN_PROCESS, LEFT, NEVER, Unseeded, kind_of, unseeded

MAX_UNFOLLOWED = 10
Certainty = Literal["certain", "conditional", "none"]
Kind = Literal["main guard", "console script", "notebook", "script"]
State = Literal[
    "not drawn", "seeded", "seeded in workers", "late", "conditional", "perhaps unseeded", "unseeded in a process",
    "unseeded", "unseen",
    "trial", "ignored", "unknown",
]  # fmt: skip
_UNSURE: Mapping[str, State] = {
    NEVER: "perhaps unseeded", BY_OPTION: "conditional", IN_PROCESS: "unseeded in a process",
}  # fmt: skip

_BOUNDS = {
    "calls": "more calls than are followed",
    "depth": "calls nested deeper than is followed",
    "nesting": "an expression nested deeper than is followed",
    "files": "more files than are read for one program",
}


@dataclass(frozen=True, slots=True)
class Spot:
    """A place and what is written there."""

    location: Location
    text: str


@dataclass(frozen=True, slots=True)
class SeedReport:
    """A seed call: whether it counts, why not for certain, and the calls that lead to it."""

    spot: Spot
    families: tuple[str, ...]
    certainty: Certainty
    reasons: tuple[str, ...]
    chain: tuple[Spot, ...]


@dataclass(frozen=True, slots=True)
class DrawReport:
    """A draw: what the state of its family was there, and the calls that lead to it."""

    spot: Spot
    kind: str
    chain: tuple[Spot, ...]


@dataclass(frozen=True, slots=True)
class FamilyReport:
    """One family: its first draw, the seed that comes too late for it, and what follows (`rule` is the finding's)."""

    family: str
    state: State
    first: DrawReport | None
    late_seed: Spot | None
    rule: str | None


@dataclass(frozen=True, slots=True)
class ProgramReport:
    """One program. Seeds are in the order in which the program meets them."""

    start: Spot
    kind: Kind
    files: tuple[str, ...]
    seeds: tuple[SeedReport, ...]
    families: tuple[FamilyReport, ...]
    unfollowed: int
    unfollowed_first: tuple[Spot, ...]
    trains: bool
    loads_weights: bool
    bounds: tuple[str, ...]


def _kind(entry: Entry) -> Kind:
    if entry.function is not None or entry.command:
        return "console script"
    if entry.is_guarded:
        return "main guard"
    return "notebook" if entry.facts.source.kind == "notebook" else "script"


def report(seeding: Seeding, program: Program) -> ProgramReport:
    """What the walk of one program came to believe."""
    entry = seeding.entry
    not_followed, verdict = unfollowed(seeding, program), unseeded(seeding, program)
    return ProgramReport(
        start=spot(entry.facts, entry.node),
        kind=_kind(entry),
        files=tuple(dict.fromkeys(f.source.rel for f in seeding.visited)),
        seeds=tuple(_seeds(seeding)),
        families=tuple(_family(seeding, family, verdict) for family in FAMILIES),
        unfollowed=len(not_followed),
        unfollowed_first=tuple(_first_names(not_followed)),
        trains=seeding.trains,
        loads_weights=seeding.loads_weights,
        bounds=tuple(text for name, text in _BOUNDS.items() if name in seeding.bounds),
    )


# -- places -----------------------------------------------------------------------------------------------------
def spot(facts: ModuleFacts, node: ast.AST) -> Spot:
    """The place of a node; of a compound statement, its first line."""
    place = facts.range(node)
    text = facts.source.line(place.start.line) if isinstance(node, ast.stmt) else facts.text(node)
    return Spot(facts.source.location(place), " ".join(text.split()))


def _chain(steps: Sequence[Link]) -> tuple[Spot, ...]:
    return tuple(spot(step.scope.facts, step.node) for step in steps)


# -- seeds ------------------------------------------------------------------------------------------------------
def _seeds(seeding: Seeding) -> Iterator[SeedReport]:
    seen: set[tuple[int, int]] = set()
    for met in seeding.met:
        if (id(met.node), met.level) in seen:
            continue
        seen.add((id(met.node), met.level))
        families = met.seeder.families if met.seeder is not None else FAMILIES
        doubts = (*_of_value(met), *_of_tests(met, seeding, (Truth.RARELY, Truth.USUALLY)))
        certainty: Certainty = "none" if met.level == UNSEEDED else "conditional" if doubts else "certain"
        by_name = ("believed to seed everything, for its name",) if met.seeder is None else ()
        trusted = (*by_name, *_of_tests(met, seeding, (Truth.UNKNOWN, Truth.UNKNOWN)))
        place = spot(met.scope.facts, met.node)
        yield SeedReport(place, tuple(families), certainty, (*doubts, *trusted), _chain(met.chain))


def _of_value(met: SeedMet) -> Iterator[str]:
    """What the value of the seed makes of it."""
    if met.level == SEEDED or met.seeder is None:
        return
    seed = met.seeder.seed
    if seed is None:
        yield "no seed is passed"
    elif met.level == MAYBE:
        yield f"`{met.scope.facts.text(seed)}` is None by default"
    else:
        yield "its seed is None" if isinstance(seed, ast.Constant) else f"`{met.scope.facts.text(seed)}` is None"


def _of_tests(met: SeedMet, seeding: Seeding, truths: tuple[Truth, Truth]) -> Iterator[str]:
    """The tests on the way to the seed of which this is known; `truths` for its body, and for its `else`."""
    for node, scope in met.way:
        branches = {c.owner: c.taken for c in reversed(conditions(node, scope)) if isinstance(c.owner, ast.If)}
        for branch, taken in branches.items():
            truth = seeding.tests.get(branch)
            if truth is not truths[not taken]:
                continue
            written = f"only where `{scope.facts.text(branch.test)}` is {'true' if taken else 'false'}"
            yield f"{written}, which is {'believed' if truth is Truth.UNKNOWN else 'not the default'}"


# -- draws --------------------------------------------------------------------------------------------------------
def _family(seeding: Seeding, family: str, verdict: Unseeded | None) -> FamilyReport:
    late, first = seeding.late.get(family), seeding.drawn.get(family)
    late_seed = None
    state: State = "not drawn" if first is None else "seeded"
    if first is not None and first.draw.kind == "in workers" and not _is_seeded(seeding, family):
        state = "seeded in workers"
    rule = None
    if verdict is not None and (family in verdict.draws or family in verdict.named):
        missing = seeding.missing(family)
        first = verdict.draws.get(family)
        is_sure = missing[1] if missing is not None else first is not None and first.sure
        rule = "TRP101"
        if verdict.kind == LEFT:
            state = _UNSURE[BY_OPTION]
        elif first is None or is_sure:
            state = "unseen" if first is None else "unseeded"
        else:
            state = _UNSURE[kind_of(seeding, first, False)]
    elif late is not None:
        first, late_seed = late.witness, spot(late.seeder.scope.facts, late.seeder.node)
        state, rule = "late", "TRP103" if seeding.seeded_late(family) else None
    elif family in seeding.unseeded or family in seeding.maybe:
        first = seeding.unseeded.get(family) or seeding.maybe[family]
        state = "trial" if seeding.is_trial else "ignored"
    if not seeding.complete and rule is None and state not in ("not drawn", "seeded", "seeded in workers"):
        state = "unknown"
    return FamilyReport(family, state, _draw(first) if first is not None else None, late_seed, rule)


def _is_seeded(seeding: Seeding, family: str) -> bool:
    """Whether the program seeds a generator at all."""
    return any(met.seeder is None or family in met.seeder.families for met in seeding.met)


def _draw(witness: Witness) -> DrawReport:
    *calls, _ = witness.chain
    return DrawReport(spot(witness.draw.scope.facts, witness.draw.node), witness.draw.kind, _chain(calls))


# -- what was not followed ------------------------------------------------------------------------------------------
def _first_names(steps: Iterable[Link]) -> Iterator[Spot]:
    """The first place of each of the first distinct names."""
    seen: dict[str, Spot] = {}
    for step in steps:
        function = step.node.func if isinstance(step.node, ast.Call) else step.node
        name = " ".join(step.scope.facts.text(function).split())
        if name not in seen and len(seen) < MAX_UNFOLLOWED:
            place = step.scope.facts.source.location(step.scope.facts.range(step.node))
            seen[name] = Spot(place, name)
    yield from seen.values()
