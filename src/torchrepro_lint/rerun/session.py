"""The runs of one rerun: a plain pair, a traced pair around the first difference, and pairs with causes pinned.

Each cause is removed by a pin and the runs are repeated, until nothing parts, an operation is the cause and nothing
is left to remove, or what is left cannot be pinned. So the causes come in order, the ones behind the first included.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from torchrepro_lint.rerun import curves, launching
from torchrepro_lint.rerun.comparing import Parting, What, before, lane, partings, steps
from torchrepro_lint.rerun.extents import kept
from torchrepro_lint.rerun.judging import GENERATORS, Pair, Suspect, detail, suspects
from torchrepro_lint.rerun.launching import Run
from torchrepro_lint.rerun.results import Cause, Extent, Given, Kind, Outcome, Verdict
from torchrepro_lint.rerun.streams import Streams

MAX_CAUSES = 8
MAX_WINDOWS = 4  # of steps, tried one after the other until the runs part in one of them
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What to run and how: `pins` are fixed from the start, `against` are the streams of a recorded run."""

    command: tuple[str, ...]
    root: Path
    folder: Path
    pins: tuple[str, ...] = ()
    steps: int | None = None
    every: int | None = None
    timeout: float | None = None
    copy: bool = False
    shuffle_listing: bool = False
    pairs: int = 1
    digest: str | None = None
    against: Streams | None = None


class ProgramFailed(Exception):
    """A run that ended with another status than 0; the message says which, and what it printed last."""


@dataclass
class Session:
    """Starts runs, each in a folder of its own."""

    plan: Plan
    tell: Tell
    runs: int = 0
    streams: list[Streams] = field(default_factory=list)

    def run(self, mode: str, why: str, **settings: Any) -> Run:
        """One run of the program. Raises ProgramFailed."""
        self.runs += 1
        self.tell(f"run {self.runs}: {why}")
        folder = self.plan.folder / f"run-{self.runs}"
        root = self._root(folder)
        shown = {"steps": self.plan.steps, "every": self.plan.every, "digest": self.plan.digest}
        listing = self.runs if self.plan.shuffle_listing else None
        found = launching.run(
            self.plan.command, root, folder, {"mode": mode, "listing": listing, **shown, **settings}, self.plan.timeout
        )
        self.streams.append(streams_of(found))
        if found.timed_out:
            raise ProgramFailed(f"the program did not end within {self.plan.timeout:g} seconds\n{found.tail()}")
        if found.status != 0 and not self.streams[-1].has_stopped():
            ended = f"exit status {found.status}" if found.status > 0 else f"signal {-found.status}"
            hint = _hint(found, in_copy=self.plan.copy) or _LEFT_BEHIND * (self.runs > 1 and not self.plan.copy)
            raise ProgramFailed(f"the program ended with {ended}{hint}\n{found.tail()}")
        return found

    def traced(self, arm: _Arm, why: str) -> tuple[Pair, list[Parting]]:
        """A traced pair, and where it parts; traced again where that lies outside of the window. What comes in another
        order each time parts at another step each time, so that the window grows over those that were met."""
        pair, found = self._until_it_parts(arm, why)
        met: list[int] = []
        while found and arm.window and len(met) < MAX_WINDOWS and not arm.window[0] <= found[0].step <= arm.window[1]:
            met.append(found[0].step)
            arm.window = (around(min(met))[0], max(met))
            pair, found = self._until_it_parts(arm, f"{why}, at step {met[-1]}")
        return pair, found

    def _until_it_parts(self, arm: _Arm, why: str) -> tuple[Pair, list[Parting]]:
        """A traced run and as many others as were asked for, or up to the first that parts from it."""
        one = streams_of(self.run("traced", why, **arm.settings))
        other, found = one, []
        for _ in range(self.plan.pairs):
            other = streams_of(self.run("traced", f"{why}, again", **arm.settings))
            found = partings(one, other)
            if found:
                break
        return (one, other), found

    def _root(self, folder: Path) -> Path:
        if not self.plan.copy:
            return self.plan.root
        return launching.copied(self.plan.root, folder / "copy")


_NO_INPUT = "; its standard input is empty: let a shell give it a file, -- sh -c 'python train.py < answers.txt'"

_LEFT_BEHIND = "; the run before did not: --copy gives each a fresh folder, if one cannot start over what another left"


_NOT_COPIED = "; --copy copies the current folder, not what lies above it: start from the folder that holds all"
_NOT_FOUND = re.compile(r"\b(?:ModuleNotFoundError|FileNotFoundError)\b")


def _hint(found: Run, *, in_copy: bool) -> str:
    """What the user may do about a failure that comes of how the program is run."""
    if "EOFError: EOF when reading a line" in found.tail():
        return _NO_INPUT
    return _NOT_COPIED if in_copy and _NOT_FOUND.search(found.tail()) else ""


@dataclass
class _Arm:
    """What is pinned in a pair of runs, and which steps are traced."""

    pins: tuple[str, ...]
    window: tuple[int, int] | None
    reseed: dict[str, list[int]] = field(default_factory=dict)
    deterministic: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "pins": self.pins,
            "window": self.window,
            "reseed": self.reseed,
            "deterministic": self.deterministic,
        }

    def pinning(self, pins: Sequence[str]) -> _Arm:
        """The arm with these pins of its own."""
        reseed = {name: numbers for name, numbers in self.reseed.items() if name in pins}
        return replace(self, pins=tuple(pins), reseed=reseed)

    def without(self, suspect: Suspect) -> _Arm:
        """The arm in which a suspect can have no effect."""
        assert suspect.pin is not None
        reseed = {name: list(numbers) for name, numbers in self.reseed.items()}
        if suspect.reseed:
            reseed[suspect.pin] = sorted({*reseed.get(suspect.pin, ()), *suspect.reseed})
        return replace(self, pins=(*self.pins, suspect.pin), reseed=reseed)


def streams_of(run: Run) -> Streams:
    return Streams(run.streams, run.root)


def rerun(session: Session) -> Outcome:
    """Run the program as often as it takes, and say what came of it."""
    plan = session.plan
    outcome = Outcome(Verdict.INCONCLUSIVE, plan.command, against_recording=plan.against is not None)
    try:
        outcome = _plain(session, outcome)
        if outcome.verdict is Verdict.PARTED and plan.against is not None:
            outcome = _since(session, outcome)
        elif outcome.verdict is Verdict.PARTED:
            outcome = _explained(session, outcome)
    except ProgramFailed as failed:
        outcome = replace(outcome, verdict=Verdict.PROGRAM_FAILED, reason=str(failed))
    return replace(outcome, runs=session.runs)


def _plain(session: Session, outcome: Outcome) -> Outcome:
    """Runs as the user would have them: do they part at all?"""
    plan = session.plan
    settings = {"pins": plan.pins}
    reference = plan.against or streams_of(session.run("plain", "as it is", **settings))
    reason = nothing_seen(reference) or cut_off(reference)
    if reason is not None:
        return replace(outcome, reason=reason)
    counted = curves.compared(reference)
    outcome = replace(outcome, steps=steps(reference), compared=counted, digest=_kind(reference))
    differing = 0
    for number in range(1, plan.pairs + 1):
        other = streams_of(session.run("plain", "as it is, again", **settings))
        found = partings(reference, other)
        if found:
            first = min(p.step for p in found)
            return replace(
                outcome, verdict=Verdict.PARTED, first_step=first, curve=curves.curve(reference, other),
                comparisons=number, differing=differing + 1, notes=_notes(plan, reference),
            )  # fmt: skip
        reason = cut_off(other)
        if reason is not None:
            return replace(outcome, reason=reason)
    return replace(
        outcome, verdict=Verdict.IDENTICAL, curve=curves.curve(reference, reference), comparisons=plan.pairs,
        notes=_notes(plan, reference),
    )  # fmt: skip


def _notes(plan: Plan, reference: Streams) -> tuple[str, ...]:
    endless = plan.steps is not None and not steps(reference)
    unused = ["no optimizer steps in this program: --steps has nothing to count"] * endless
    return (*curves.notes(reference), *unused)


def _since(session: Session, outcome: Outcome) -> Outcome:
    """The run differs from a recorded one. Do two runs of today differ too? Then the cause can be looked for."""
    today = session.streams[-1]
    found = partings(today, streams_of(session.run("plain", "to compare with today's", pins=session.plan.pins)))
    if found:
        return _explained(session, replace(outcome, first_step=min(p.step for p in found)))
    parting = partings(session.plan.against or today, today)[0]
    where = f" at {parting.place}" if parting.place else ""
    agree = "the runs here agree with each other: the code, the data or the environment has changed"
    return replace(outcome, notes=(*outcome.notes, f"first different: {detail(parting)}{where}", agree))


def nothing_seen(streams: Streams) -> str | None:
    """Why there is nothing to compare."""
    if not streams.names():
        return (
            "no process of the program was observed: it never imports PyTorch, or its Python ignores PYTHONPATH "
            "(python -I, -E or -S)"
        )
    if not any(event.kind in ("loss", "step", "batch") for _, event in streams.all("loss", "step", "batch")):
        return "the program neither loads batches, nor calls backward, nor steps an optimizer: nothing to compare"
    return None


def cut_off(streams: Streams) -> str | None:
    """Why equal streams would not mean equal runs: one ends before its process did. Processes that the program starts
    may be ended by it."""
    for name in streams.names():
        if "." not in name and not streams.ended(name):
            return f"the stream of {name} ends before the process did, as on a full disk: the rest was not compared"
    return None


def _kind(streams: Streams) -> str | None:
    names = streams.names()
    return str(streams.head(names[0])["digest"]) if names else None


def around(step: int) -> tuple[int, int]:
    """The last equal step and the first different one."""
    return (max(step - 1, 0), step)


def _explained(session: Session, outcome: Outcome) -> Outcome:
    """The causes, one behind the other."""
    everywhere = session.plan.pairs > 1  # what seldom differs does so at another step each time
    arm = _Arm(session.plan.pins, None if everywhere else around(outcome.first_step or 0))
    try:
        pair, found = session.traced(arm, "every operation traced")
    except ProgramFailed as failed:
        return replace(outcome, reason=f"no cause was found, because the traced program fails: {failed}")
    if not found:
        reason = "the plain runs part, the traced ones do not: tracing slows the program down and serialises it"
        return replace(outcome, verdict=Verdict.HIDDEN_BY_TRACING, reason=reason)
    causes: list[Cause] = []
    notes = list(outcome.notes)
    while found and len(causes) < MAX_CAUSES:
        several, following = _settled(session, arm, pair, found[0])
        causes += several
        if following is None:
            notes.append("what lies behind the last cause was not looked at: it cannot be pinned")
            break
        arm, pair, found = following
    if not found:
        causes = _weighed(session, arm, causes)
    return replace(outcome, causes=tuple(causes), notes=tuple(notes))


def _weighed(session: Session, arm: _Arm, causes: list[Cause]) -> list[Cause]:
    """The causes, of which those are idle without whose pin alone the runs agree, if others are not."""
    pins = [pin for pin in arm.pins if pin not in session.plan.pins]
    if len(pins) < 2 or session.plan.pairs > 1:  # what seldom differs agrees by chance
        return causes
    idle = {pin for pin in pins if _agree(session, arm.pinning([p for p in arm.pins if p != pin]), pin)}
    return [replace(c, idle=c.shown_by in idle) for c in causes] if len(idle) < len(pins) else causes


def _agree(session: Session, arm: _Arm, freed: str) -> bool:
    """Whether plain runs agree with one pin taken away."""
    why = f"with all pinned but {freed}"
    try:
        one, other = (streams_of(session.run("plain", why, **arm.settings)) for _ in range(2))
    except ProgramFailed:
        return False
    return not partings(one, other)


_Following = tuple[_Arm, Pair, list[Parting]]


def _settled(session: Session, arm: _Arm, pair: Pair, parting: Parting) -> tuple[list[Cause], _Following | None]:
    """The cause of a parting, or several that only together explain it, and the runs without them."""
    possible = suspects(pair, parting, _sources(session.plan, arm))
    pinned = [s for s in possible if s.pin is not None and (s.reseed or s.pin not in arm.pins)]
    if session.plan.pairs > 1:  # what seldom differs may agree under a pin by chance
        pinned = [suspect for suspect in pinned if suspect.is_recorded]
    for suspect in pinned:
        found = _tried(session, arm, [suspect], parting)
        if found is not None and (suspect.is_recorded or _tried(session, arm, [suspect], parting) is not None):
            return [replace(suspect.cause, shown_by=suspect.pin)], found
    together = _together(session, arm, pinned, parting) if len(pinned) > 1 else None
    if together is not None:
        return together
    cause, following = _without_pin(session, arm, possible[-1].cause, pair, parting)
    return [cause], following


def _together(
    session: Session, arm: _Arm, pinned: list[Suspect], parting: Parting
) -> tuple[list[Cause], _Following] | None:
    """Those suspects without each of which the runs still part at this point, if they agree without all of them."""
    if _tried(session, arm, pinned, parting) is None:
        return None
    needed = [s for s in pinned if _tried(session, arm, [o for o in pinned if o is not s], parting) is None]
    following = _tried(session, arm, needed, parting) if needed else None
    return None if following is None else ([replace(s.cause, shown_by=s.pin) for s in needed], following)


def _tried(session: Session, arm: _Arm, without: list[Suspect], parting: Parting) -> _Following | None:
    """The runs without these suspects; None where they part at the same point, or the program fails under the pins."""
    for suspect in without:
        arm = arm.without(suspect)
    arm = replace(arm)  # its window is its own
    try:
        pair, found = session.traced(arm, f"with {', '.join(str(s.pin) for s in without)} pinned")
    except ProgramFailed:
        return None
    return (arm, pair, found) if _is_elsewhere(found, parting) else None


def _is_elsewhere(found: list[Parting], parting: Parting) -> bool:
    """Whether no process parts there any more. Which process parts first is no sign: two may agree by chance."""
    return all(other.key != parting.key for other in found)


def _without_pin(
    session: Session, arm: _Arm, cause: Cause, pair: Pair, parting: Parting
) -> tuple[Cause, _Following | None]:
    """An operation, which deterministic algorithms may mend, or what nothing here can mend."""
    if cause.kind not in (Kind.OPERATION, Kind.COMPILED):
        return cause, None
    if parting.what is What.OUTPUT:
        inputs, extents = _measured(session, arm, pair, parting)
        cause = replace(cause, inputs=inputs, extents=extents)
    if session.plan.pairs > 1:
        return cause, None
    if arm.deterministic:
        return replace(cause, deterministic="still differs"), None
    trial = replace(arm, deterministic=True)
    try:
        after, found = session.traced(trial, "under deterministic algorithms")
    except ProgramFailed as failed:
        raised = [line for line in str(failed).splitlines() if line.strip()]
        return replace(cause, deterministic=f"raises: {raised[-1].strip()}"), None
    if not _is_elsewhere(found, parting):
        return replace(cause, deterministic="still differs"), None
    return replace(cause, deterministic="agrees"), (trial, after, found)


def _measured(
    session: Session, arm: _Arm, pair: Pair, parting: Parting
) -> tuple[tuple[Given, ...], tuple[Extent, ...]]:
    """The operation's inputs, and how its results differ: two more runs keep them, as it may not differ in each pair
    of runs as far as it does."""
    if parting.is_of_several:  # there is no telling which operation of which thread it is in another run
        return (), ()
    earlier, _ = before(pair, parting)
    number = sum(event.kind == "o" and lane(event.thread) == parting.thread for event in earlier)
    keep = {"process": parting.process, "thread": parting.event.thread, "at": number}
    try:
        runs = [session.run("traced", "to keep the operation's results", keep=keep, **arm.settings) for _ in range(2)]
    except ProgramFailed:
        return (), ()
    return kept(*(run.streams / "kept.pt" for run in runs))


def _sources(plan: Plan, arm: _Arm) -> tuple[str, ...]:
    """The outside sources that can differ between these runs, and are not pinned yet."""
    salted = os.environ.get("PYTHONHASHSEED", "random") == "random"
    possible = [*["hash"] * salted, *["listing"] * plan.shuffle_listing, "time", "entropy"]
    return tuple(name for name in possible if name not in arm.pins)


PINS: Mapping[str, Sequence[str]] = {
    "rng": GENERATORS,
    "hash": ("hash",),
    "listing": ("listing",),
    "time": ("time",),
    "entropy": ("entropy",),
}
"""What a user may pin, and what that means."""
