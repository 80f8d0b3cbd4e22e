"""Whether a condition of the catalogue holds at a call: yes, no, or only the run knows.

A condition names parameters of the spelling and what must hold of each. An argument that cannot be known makes it
`MAYBE`; `NO` where the condition says `unknown = "silent"`, and `YES` where it says "holds".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from torchrepro_lint.dataflow import UNKNOWN, Site
from torchrepro_lint.kernels.arguments import REFUTED, UNREADABLE, Each, OperationCall, Other, Pattern, Related, Value
from torchrepro_lint.kernels.operations import Condition, is_one_of
from torchrepro_lint.kernels.traits import Traits

TRAITS = {
    "floating": ("`{}` holds floats", "`{}` holds integers"),
    "gradient": ("`{}` requires a gradient", "`{}` requires no gradient"),
    "tensor": ("`{}` is a tensor", "`{}` is a number"),
    "whole": ("the values of `{}` are whole numbers", "the values of `{}` are not whole numbers"),
    "unique": ("`{}` has no repeated values", "`{}` has repeated values"),
}
_OF_TENSORS = frozenset({"rank_min", "rank_in", *TRAITS})


class Holds(IntEnum):
    """Three-valued truth; `and` is the smallest, `or` the largest."""

    NO = 0
    MAYBE = 1
    YES = 2


@dataclass(slots=True)
class Judged:
    """How a condition came out: in words, what arguments decided it, and the clauses that only the run decides."""

    holds: Holds
    decided: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    related: list[Related] = field(default_factory=list)


_NEVER = Judged(Holds.NO)


def judge(conditions: Sequence[Condition], site: OperationCall) -> Judged:
    """Whether one of the alternatives holds; no alternatives hold always."""
    best = Judged(Holds.YES) if not conditions else _NEVER
    for condition in conditions:
        judged = _all(condition, site)
        if judged.holds is Holds.YES:
            return judged
        best = judged if judged.holds > best.holds else best
    return best


def _all(condition: Condition, site: OperationCall) -> Judged:
    judged = Judged(Holds.YES)
    for name, test in condition.items():
        holds, related = _one(name, test, site)
        if holds is Holds.MAYBE and "unknown" in test:
            holds = Holds.NO if test["unknown"] == "silent" else Holds.YES
        if holds is Holds.NO:
            return _NEVER
        judged.holds = min(judged.holds, holds)
        judged.related += related
        if holds is Holds.MAYBE:
            judged.open.append(clause(name, test))
        elif (words := wording(name, _met(name, test, site))) and isinstance(site.argument(name), Site):
            judged.decided.append(words)
    return judged


def in_doubt(exact: Sequence[Condition], site: OperationCall) -> list[str]:
    """What only the run decides of these conditions, as clauses that say when the result does vary."""
    tests = ((name, test) for condition in exact for name, test in condition.items() if "unknown" not in test)
    return [_otherwise(name, test) for name, test in tests if _one(name, test, site)[0] is Holds.MAYBE]


def _one(name: str, test: Any, site: OperationCall) -> tuple[Holds, list[Related]]:
    if not _OF_TENSORS.isdisjoint(test):
        return _best([(_traits_hold(traits, test), use) for traits, use in site.traits(name)])
    if name in site.signature.called:
        return _best([(value_holds(value, name, test, site), use) for value, use in site.called_with(name)])
    if "single" in test:
        return _single(name, test["single"], site), []
    if "given" in test:
        given = _given(name, site)
        return given if test["given"] else Holds(2 - given), []
    results = [(value_holds(v.value, name, test, site), v) for v in site.values(name)]
    if len({holds for holds, _ in results}) == 1:
        return results[0][0], []
    return Holds.MAYBE, [w for holds, v in results if holds is Holds.YES and (w := _elsewhere(name, v, site))]


def _met(name: str, test: Any, site: OperationCall) -> Any:
    """Of a test for one of several values, what is passed here."""
    if "in" not in test or name in site.signature.called:
        return test
    passed = [v.value for v in site.values(name)]
    return {"in": [value for value in test["in"] if value in passed]}


def _elsewhere(name: str, value: Value, site: OperationCall) -> Related | None:
    """The place of a value that comes from another function."""
    if value.node is None or value.scope is None or value.scope.function is site.call.scope.function:
        return None
    return Related(value.node, value.scope, f"`{name}` comes from here")


def _best(found: Sequence[tuple[Holds, Related | None]]) -> tuple[Holds, list[Related]]:
    """Some call of a module is enough; those for which the condition holds are related to it."""
    holds = max((h for h, _ in found), default=Holds.MAYBE)
    return holds, [w for h, w in found if w is not None and h is Holds.YES]


def _single(name: str, dimension: str, site: OperationCall) -> Holds:
    """Whether the tensor has a size of 1 along the dimension that another parameter names."""
    dims = [v.value for v in site.values(dimension)]
    known = [traits for traits, _ in site.traits(name)]
    return Holds.YES if known and all(_is_single(t, d) for t in known for d in dims) else Holds.NO


def _is_single(traits: Traits, dimension: object) -> bool:
    """`x.unsqueeze(-1)` along dimension 1: of an index that nothing more is known of, it is the last one."""
    if traits.single is None or not isinstance(dimension, int):
        return False
    rank = traits.rank or max(dimension, traits.single) + 1
    return (rank > 1 and traits.single % rank == dimension % rank) or traits.single == dimension


def _given(name: str, site: OperationCall) -> Holds:
    found = site.argument(name)
    if found is UNKNOWN:
        return Holds.MAYBE
    if not isinstance(found, Site):
        return Holds.NO
    constants = site.call.program.constants(found.node, found.scope)
    return Holds.NO if constants is not None and all(v is None for v in constants) else Holds.YES


# -- what is known of a tensor ----------------------------------------------------------------------------------
def _traits_hold(traits: Traits, test: Any) -> Holds:
    known = [(getattr(traits, key), test[key]) for key in TRAITS if key in test]
    outcomes = [Holds.MAYBE if it is None else Holds.YES if it == wanted else Holds.NO for it, wanted in known]
    outcomes += [_rank_from(traits, test["rank_min"])] if "rank_min" in test else []
    outcomes += [_rank_among(traits, test["rank_in"])] if "rank_in" in test else []
    return min(outcomes)


def _rank_from(traits: Traits, least: int) -> Holds:
    if traits.least >= least:
        return Holds.YES
    return Holds.NO if traits.most is not None and traits.most < least else Holds.MAYBE


def _rank_among(traits: Traits, wanted: Sequence[int]) -> Holds:
    if traits.rank is not None:
        return Holds.YES if traits.rank in wanted else Holds.NO
    possible = [n for n in wanted if n >= traits.least and (traits.most is None or n <= traits.most)]
    return Holds.MAYBE if possible else Holds.NO


# -- what is known of a value -----------------------------------------------------------------------------------
def value_holds(value: object, name: str, test: Any, site: OperationCall) -> Holds:
    """Whether one value of the parameter `name` passes a test on values."""
    if isinstance(value, Each):
        found = [value_holds(item, name, test, site) for item in value.values]
        return min(found) if "each_in" in test else max(found)
    if "at_least" in test:
        return _at_least(value, name, test["at_least"], site)
    if value is UNREADABLE:
        return Holds.MAYBE
    if value is REFUTED:
        return Holds.NO if "in" in test else Holds.MAYBE
    if "in" in test:
        return _member(value, test["in"])
    if "not_in" in test:
        return Holds(2 - _member(value, test["not_in"]))
    if "each_in" in test:
        return _sizes_in(value, test["each_in"])
    if "holds" in test:
        return Holds.YES if isinstance(value, list | tuple) and test["holds"] in value else Holds.NO
    length = len(value) if isinstance(value, list | tuple) else None
    return Holds.YES if length in test["length_in"] else Holds.NO


def _sizes_in(value: object, allowed: Sequence[object]) -> Holds:
    """Of the sizes of the dimensions, of which None stands for the input's; None alone, for what is set elsewhere."""
    if value is None:
        return Holds.MAYBE
    sizes = value if isinstance(value, list | tuple) else [value]
    if UNREADABLE in sizes:
        return Holds.MAYBE
    return Holds.YES if all(size is None or is_one_of(size, allowed) for size in sizes) else Holds.NO


def _member(value: object, allowed: Sequence[object]) -> Holds:
    if isinstance(value, Pattern | Other):
        return Holds.MAYBE if any(value.fits(a) for a in allowed) else Holds.NO
    if isinstance(value, list) and UNREADABLE in value:
        known = [v for v in value if v is not UNREADABLE]
        lists = [a for a in allowed if isinstance(a, list) and len(a) == len(value)]
        return Holds.MAYBE if any(all(v in a for v in known) for a in lists) else Holds.NO
    return Holds.YES if is_one_of(value, allowed) else Holds.NO


def _at_least(value: object, name: str, other: str, site: OperationCall) -> Holds:
    """Whether a size is no smaller than another parameter's; None stands for that parameter itself."""
    if value is None or site.same(name, other):
        return Holds.YES
    bounds = site.values(other)
    pairs = _pairs(value, bounds[0].value) if len(bounds) == 1 else None
    if pairs is None:
        return Holds.MAYBE
    return Holds.YES if all(size >= bound for size, bound in pairs) else Holds.NO


def _pairs(left: object, right: object) -> list[tuple[int, int]] | None:
    sides = [s if isinstance(s, list) else [s] for s in (left, right)]
    width = max(map(len, sides))
    one, two = (s * width if len(s) == 1 else s for s in sides)
    if len(one) != len(two) or not all(isinstance(v, int) for v in (*one, *two)):
        return None
    return list(zip(one, two, strict=True))


# -- words --------------------------------------------------------------------------------------------------------
def wording(name: str, test: Any) -> str:
    """The condition in words, for a message: `mode="bicubic"`."""
    match test:
        case {"in": [_, *_] as values}:
            first, *others = [_shown(v) for v in values if not isinstance(v, list)] or [_shown(values[0])]
            return " or ".join((f"`{name}={first}`", *(f"`{other}`" for other in others)))
        case {"not_in": [value, *_]}:
            return f"`{name}` other than {_shown(value)}"
        case {"rank_min": least}:
            return f"`{name}` of {least} or more dimensions"
        case {"rank_in": [*ranks]}:
            return f"`{name}` of {' or '.join(map(str, ranks))} dimensions"
        case {"length_in": [*lengths]}:
            return f"`{name}` of {' or '.join(map(str, lengths))} numbers"
        case {"given": True}:
            return f"`{name}=`"
    return ""


def _otherwise(name: str, test: Any) -> str:
    if "at_least" in test:
        return f"`{name}` is smaller than `{test['at_least']}`"
    if "each_in" in test:
        return f"`{name}` is other than {' or '.join(map(_shown, test['each_in']))}"
    opposite = {"in": "not_in", "not_in": "in"}
    return clause(name, {opposite.get(k, k): not v if k in TRAITS else v for k, v in test.items()})


def clause(name: str, test: Any) -> str:
    """The condition as a clause: `mode` is "bicubic", `index` has repeated values."""
    traits = [(yes if test[key] else no).format(name) for key, (yes, no) in TRAITS.items() if key in test]
    if traits:
        return " and ".join(traits)
    match test:
        case {"in": [*values]}:
            return f"`{name}` is {' or '.join(map(_shown, values))}"
        case {"not_in": [value, *_]}:  # the others are the same in other words: 1 and [1, 1]
            return f"`{name}` is other than {_shown(value)}"
        case {"rank_min": least}:
            return f"`{name}` has {least} or more dimensions"
        case {"rank_in": [*ranks]}:
            return f"`{name}` has {' or '.join(map(str, ranks))} dimension{'s' * (ranks != [1])}"
        case {"length_in": [*lengths]}:
            return f"`{name}` holds {' or '.join(map(str, lengths))} numbers"
        case {"single": dimension}:
            return f"`{name}` has a size of 1 along `{dimension}`"
        case {"holds": value}:
            return f"`{name}` holds a {value}"
        case {"each_in": [*values]}:
            return f"`{name}` is {' or '.join(map(_shown, values))} in each dimension, or as large as the input"
        case {"at_least": other}:
            return f"`{name}` is no smaller than `{other}`"
    return f"`{name}` is {'passed' if test['given'] else 'left out'}"


def _shown(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
