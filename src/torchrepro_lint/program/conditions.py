"""Whether a condition of the catalogue holds at a call: yes, no, or only the run knows.

A condition names parameters of the spelling and what must hold of each. An argument that cannot be known makes
it `MAYBE`, or `NO` where the condition says `unknown = "silent"`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

from torchrepro_lint.index import Scope
from torchrepro_lint.program.calls import UNKNOWN, Argument, Call, Opaque
from torchrepro_lint.program.operations import METHOD, Condition, Signature
from torchrepro_lint.program.tensors import Tensors
from torchrepro_lint.program.traits import UNKNOWN_TRAITS, Traits
from torchrepro_lint.program.values import Constant, Display, Parameter


class Holds(IntEnum):
    """Three-valued truth; `and` is the smallest, `or` the largest."""

    NO = 0
    MAYBE = 1
    YES = 2


class Witness(NamedTuple):
    """A place elsewhere that makes a condition hold, and what happens there."""

    node: ast.AST
    scope: Scope
    message: str


class Value(NamedTuple):
    """A value that an argument may have, and where it is written if that is known."""

    value: object
    node: ast.AST | None = None
    scope: Scope | None = None


@dataclass(slots=True)
class Judged:
    """How a condition came out: which arguments decided it, and which left it open."""

    holds: Holds
    decided: list[tuple[str, str]] = field(default_factory=list)
    open: list[tuple[str, str]] = field(default_factory=list)
    witnesses: list[Witness] = field(default_factory=list)


class Unreadable:
    """A value that is there but cannot be read."""


UNREADABLE = Unreadable()


@dataclass(slots=True)
class CallSite:
    """One call with its signature. `uses` are the calls of the module that it constructs."""

    call: Call
    signature: Signature | None
    tensors: Tensors
    uses: Callable[[], Sequence[tuple[ast.Call, Scope]]]

    @property
    def is_method(self) -> bool:
        """Whether the first parameter is the receiver."""
        return self.call.name.startswith(METHOD)

    def argument(self, name: str) -> Argument | Opaque | ast.expr | None:
        """What is passed for a parameter; its default expression; None when there is no such parameter."""
        known = self.signature.parameters.get(name) if self.signature is not None else None
        if known is None:
            return None
        place, default = known
        if self.is_method:
            if place == 0 and isinstance(self.call.node.func, ast.Attribute):
                return Argument(self.call.node.func.value, self.call.scope)
            place = place - 1 if place is not None else None
        found = self.call.argument(name, place)
        return default if found is None else found

    def values(self, name: str) -> list[Value]:
        """Every value that a parameter may have here; UNREADABLE among them for those that cannot be known."""
        found = self.argument(name)
        match found:
            case Argument(node=node, scope=scope):
                return self._read(node, scope)
            case ast.expr():
                return [Value(ast.literal_eval(found))]
            case None:
                return [Value(False)]
        return [Value(UNREADABLE)]

    def _read(self, node: ast.expr, scope: Scope) -> list[Value]:
        values: list[Value] = []
        for origin in self.call.program.origins(node, scope):
            match origin:
                case Constant(value=value):
                    values.append(Value(value, origin.node, origin.scope))
                case Display(node=ast.Tuple(elts=items) | ast.List(elts=items), scope=inner):
                    values.append(Value(self._items(items, inner), origin.node, inner))
                case Parameter(name=name, scope=function):
                    values.append(self._default(name, function))
                case _:
                    values.append(Value(UNREADABLE))
        return values or [Value(UNREADABLE)]

    def _items(self, items: Sequence[ast.expr], scope: Scope) -> object:
        if any(isinstance(i, ast.Starred) for i in items):
            return UNREADABLE
        read = [self.call.program.literal(i, scope) for i in items]
        return [UNREADABLE if v is UNKNOWN else v for v in read]

    def _default(self, name: str, function: Scope) -> Value:
        """A parameter whose callers are not known has its default, if that can be read, as the best guess."""
        bindings = function.bindings.get(name, [])
        default = bindings[0].value if bindings else None
        value = UNKNOWN if default is None else self.call.program.literal(default, function.parent or function)
        return Value(UNREADABLE if value is UNKNOWN else value)

    def traits(self, name: str) -> list[tuple[Traits, Witness | None]]:
        """What is known of a tensor argument; of a module's input, at each call of the module."""
        found = self.argument(name)
        if isinstance(found, Argument):
            return [(self.tensors.traits(found.node, found.scope), None)]
        return [(self.tensors.traits(n, w.scope), w) for n, w in self._passed(name) if n is not None]

    def called_values(self, name: str) -> list[tuple[object, Witness]]:
        """The constants that the calls of the constructed module pass for a parameter of theirs."""
        program = self.call.program
        return [
            (UNREADABLE if node is None or (value := program.literal(node, w.scope)) is UNKNOWN else value, w)
            for node, w in self._passed(name)
        ]

    def _passed(self, name: str) -> list[tuple[ast.expr | None, Witness]]:
        """What the calls of the constructed module pass for a parameter of theirs."""
        known = self.signature.called.get(name) if self.signature is not None else None
        if known is None:
            return []
        place, default = known
        found: list[tuple[ast.expr | None, Witness]] = []
        for use, scope in self.uses():
            passed = Call(use, scope, self.call.name, self.call.program).argument(name, place)
            node = passed.node if isinstance(passed, Argument) else default
            found.append((node, Witness(use, scope, "called here")))
        return found


def judge(conditions: Sequence[Condition], site: CallSite) -> Judged:
    """Whether one of the alternatives holds; no alternatives hold always."""
    if not conditions:
        return Judged(Holds.YES)
    return max((_all(condition, site) for condition in conditions), key=lambda j: j.holds)


def _all(condition: Condition, site: CallSite) -> Judged:
    judged = Judged(Holds.YES)
    for name, test in condition.items():
        holds, witnesses = _one(name, test, site)
        if holds is Holds.MAYBE and test.get("unknown") == "silent":
            holds = Holds.NO
        if holds is Holds.NO:
            return Judged(Holds.NO)
        where = judged.open if holds is Holds.MAYBE else judged.decided
        where.append((name, _wording(name, test)))
        judged.witnesses += witnesses
        judged.holds = min(judged.holds, holds)
    return judged


def _one(name: str, test: Any, site: CallSite) -> tuple[Holds, list[Witness]]:
    if {"rank_min", "rank_in", "floating", "gradient", "tensor"} & test.keys():
        found = [(_traits_hold(traits, test), use) for traits, use in site.traits(name)]
        return _best(found, _absent(name, test, site))
    if site.signature is not None and name in site.signature.called:
        return _best([(_value_holds(value, test, site), use) for value, use in site.called_values(name)], Holds.MAYBE)
    if "given" in test:
        return _given(name, test["given"], site), []
    results = [(_value_holds(v.value, test, site), v) for v in site.values(name)]
    holding = {holds for holds, _ in results}
    if len(holding) == 1:
        return holding.pop(), []
    return Holds.MAYBE, [
        Witness(_call_around(v.node, v.scope), v.scope, f"`{name}` comes from here")
        for holds, v in results
        if holds is Holds.YES and v.node is not None and v.scope is not None and v.scope.function is not site.call.scope.function
    ]


def _call_around(node: ast.AST, scope: Scope) -> ast.AST:
    """The call that passes `node`, which says more than the argument alone."""
    parent = scope.facts.parents.get(node)
    if isinstance(parent, ast.keyword):
        parent = scope.facts.parents.get(parent)
    return parent if isinstance(parent, ast.Call) else node


def _best(found: Sequence[tuple[Holds, Witness | None]], otherwise: Holds) -> tuple[Holds, list[Witness]]:
    """Some call of a module is enough; those for which the condition holds are the witnesses."""
    holds = max((h for h, _ in found), default=otherwise)
    return holds, [w for h, w in found if w is not None and h is Holds.YES]


def _absent(name: str, test: Any, site: CallSite) -> Holds:
    """A tensor that is not passed: a number's default is no tensor; anything else is unknown."""
    if "tensor" in test and isinstance(site.argument(name), ast.Constant):
        return Holds.NO if test["tensor"] else Holds.YES
    return Holds.MAYBE


def _given(name: str, wanted: bool, site: CallSite) -> Holds:
    found = site.argument(name)
    if isinstance(found, Argument):
        values = site.values(name)
        if all(v.value is None for v in values):
            return Holds.NO if wanted else Holds.YES
        maybe_none = any(v.value is None for v in values)
        return Holds.MAYBE if maybe_none else (Holds.YES if wanted else Holds.NO)
    if found is UNKNOWN:
        return Holds.MAYBE
    return Holds.NO if wanted else Holds.YES


def _traits_hold(traits: Traits, test: Any) -> Holds:
    outcomes: list[Holds] = []
    if "rank_min" in test:
        outcomes.append(_ranks(traits, range(test["rank_min"], 64)))
    if "rank_in" in test:
        outcomes.append(_ranks(traits, test["rank_in"]))
    for key, known in (("floating", traits.floating), ("gradient", traits.gradient), ("tensor", traits.tensor)):
        if key in test:
            outcomes.append(Holds.MAYBE if known is None else Holds.YES if known == test[key] else Holds.NO)
    return min(outcomes)


def _ranks(traits: Traits, wanted: Sequence[int]) -> Holds:
    if traits.rank is not None:
        return Holds.YES if traits.rank in wanted else Holds.NO
    if isinstance(wanted, range) and traits.least >= wanted.start:
        return Holds.YES
    if traits.most is not None and traits.most < min(wanted):
        return Holds.NO
    return Holds.MAYBE if traits is UNKNOWN_TRAITS or max(wanted) >= traits.least else Holds.NO


def _value_holds(value: object, test: Any, site: CallSite) -> Holds:
    if value is UNREADABLE:
        return Holds.MAYBE
    if "in" in test:
        return _member(value, test["in"])
    if "not_in" in test:
        return Holds(2 - _member(value, test["not_in"]))
    if "length_in" in test:
        return Holds.YES if isinstance(value, list | tuple) and len(value) in test["length_in"] else Holds.NO
    if "at_least" in test:
        return _at_least(value, test["at_least"], site)
    return Holds.MAYBE


def _member(value: object, allowed: Sequence[object]) -> Holds:
    plain = list(value) if isinstance(value, tuple) else value
    if isinstance(plain, list) and UNREADABLE in plain:
        known = [v for v in plain if v is not UNREADABLE]
        possible = any(isinstance(a, list) and len(a) == len(plain) and all(v in a for v in known) for a in allowed)
        return Holds.MAYBE if possible else Holds.NO
    return Holds.YES if any(plain == a and type(plain) is type(a) for a in allowed) else Holds.NO


def _at_least(value: object, other: str, site: CallSite) -> Holds:
    """Whether a size is no smaller than another parameter's; None stands for that parameter itself."""
    if value is None:
        return Holds.YES
    bounds = site.values(other)
    if len(bounds) != 1 or bounds[0].value is UNREADABLE:
        return Holds.MAYBE
    pairs = _pairs(value, bounds[0].value)
    if pairs is None:
        return Holds.MAYBE
    return Holds.YES if all(mine >= theirs for mine, theirs in pairs) else Holds.NO


def _pairs(left: object, right: object) -> list[tuple[int, int]] | None:
    sides = [list(s) if isinstance(s, list | tuple) else [s] for s in (left, right)]
    width = max(map(len, sides))
    sides = [s * width if len(s) == 1 else s for s in sides]
    if len(sides[0]) != len(sides[1]) or not all(isinstance(v, int) for s in sides for v in s):
        return None
    return list(zip(*sides, strict=True))  # type: ignore[arg-type]


def _wording(name: str, test: Any) -> str:
    """The condition in words, for a message: `mode="bicubic"`."""
    if "in" in test:
        return " or ".join(f"{name}={_shown(v)}" for v in test["in"] if not isinstance(v, list))
    if "not_in" in test:
        first = next(iter(test["not_in"]))
        return f"{name} other than {_shown(first)}"
    if "rank_min" in test:
        return f"{name} of {test['rank_min']} or more dimensions"
    if "rank_in" in test:
        return f"{name} of {' or '.join(map(str, test['rank_in']))} dimensions"
    if "length_in" in test:
        return f"{name} of {' or '.join(map(str, test['length_in']))} numbers"
    if "given" in test:
        return f"{name}= given" if test["given"] else ""
    if test.get("floating") is True:
        return f"{name} of floats"
    if "at_least" in test:
        return f"{name} no smaller than {test['at_least']}"
    return ""


def _shown(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
