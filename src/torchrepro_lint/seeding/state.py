"""How far each family's generator is seeded at one point of a program, and what becomes of it where paths meet.

What cannot be known counts as seeded, so that a doubt is never an alarm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from torchrepro_lint.rng import FAMILIES
from torchrepro_lint.seeding.seeding import MAYBE, SEEDED, UNSEEDED, Witness


class Family(NamedTuple):
    """One family: how far it is seeded, the first draw that came before its seed, and how far it was seeded when its
    state was last taken."""

    level: int = UNSEEDED
    early: Witness | None = None
    taken: int = SEEDED


State: TypeAlias = "tuple[Family, ...] | None"  # one per FAMILIES; None: this path has ended
FRESH: State = tuple(Family() for _ in FAMILIES)


def seeded(state: State) -> State:
    """After a call that is believed to seed everything."""
    return tuple(f._replace(level=SEEDED) for f in state) if state is not None else None


def taken(state: State, family: str) -> State:
    """After a call that takes the state of a generator."""
    return _changed(state, family, lambda f: f._replace(taken=f.level))


def put_back(state: State, family: str) -> State:
    """After a call that puts back the state which was last taken, whatever was seeded in between."""
    return _changed(state, family, lambda f: f._replace(level=min(f.level, f.taken)))


def _changed(state: State, family: str, change: Callable[[Family], Family]) -> State:
    if state is None:
        return None
    return tuple(change(f) if name == family else f for name, f in zip(FAMILIES, state, strict=True))


def either(states: Sequence[State]) -> State:
    """Paths that meet where it is unknown which was taken: a seed on one of them is believed."""
    alive = [s for s in states if s is not None]
    if all(s is alive[0] for s in alive):  # most arms neither seed nor draw
        return alive[0] if alive else None
    return tuple(map(_either, zip(*alive, strict=True)))


def _either(arms: Sequence[Family]) -> Family:
    early = _earliest(*(arm.early for arm in arms))
    return Family(max(arm.level for arm in arms), early, max(arm.taken for arm in arms))


def _earliest(*draws: Witness | None) -> Witness | None:
    """The draw that shows best that a program draws before it seeds: the first one that it makes by default."""
    found = [draw for draw in draws if draw is not None]
    return next((draw for draw in found if not draw.is_unusual), found[0] if found else None)


def left(arm: State, before: State) -> State:
    """Behind an arm that a setting chooses, and not by default: a draw in it does not show what programs usually do."""
    if arm is None or before is None or arm is before:
        return arm
    return tuple(
        a if a.early is None or a.early is b.early else a._replace(early=a.early._replace(is_unusual=True))
        for a, b in zip(arm, before, strict=True)
    )


def by_default(usual: State, other: State) -> State:
    """Two arms of which `usual` runs by default: a family seeded only in the other is `maybe` seeded."""
    if usual is None or other is None or usual is other:
        return usual or other
    return tuple(
        Family(level_by_default(u.level, o.level), _earliest(u.early, o.early), max(u.taken, o.taken))
        for u, o in zip(usual, other, strict=True)
    )


def level_by_default(usual: int, other: int) -> int:
    """How far a family is seeded behind two arms of which `usual` runs by default."""
    return usual if usual >= other else max(usual, min(other, MAYBE))


def joined(
    before: tuple[Witness, ...],
    first: tuple[Witness, ...],
    second: tuple[Witness, ...],
    level: Callable[[int, int], int],
) -> tuple[Witness, ...]:
    """The draws still to come behind two arms, which both began with those of `before`; `level` joins two levels, and
    of equal ones makes the same."""
    if first is before and second is before:
        return before
    count = len(before)
    kept, others = first[:count], second[:count]
    if kept != others:  # compared at once: most arms seed nothing, and a program may have thousands
        both = zip(kept, others, strict=True)
        kept = tuple(a if a.level == (now := level(a.level, b.level)) else a._replace(level=now) for a, b in both)
    return (*kept, *first[count:], *second[count:])


def telling(draws: tuple[Witness, ...], start: int) -> tuple[Witness, ...]:
    """The draws still to come, from `start` on without those of which nothing will be noted: an equal one comes before,
    and nothing new between the two. Such two stay equal, since both were made in one arm of the branches around."""
    if start == len(draws):
        return draws
    kept, last, newest = list(draws[:start]), dict[object, int](), start
    for draw in draws[start:]:
        key = (draw.draw.family, draw.draw.kind, draw.level, draw.process, draw.sure, draw.is_telling)
        if last.get(key, -1) >= newest:
            continue
        if key not in last:
            newest = len(kept)
        last[key] = len(kept)
        kept.append(draw)
    return tuple(kept) if len(kept) < len(draws) else draws


def replayed(after: State, before: State) -> State:
    """The outcome of an equal earlier run, keeping what was drawn early on this path."""
    if after is None or before is None:
        return None
    return tuple(a._replace(early=_earliest(b.early, a.early)) for a, b in zip(after, before, strict=True))
