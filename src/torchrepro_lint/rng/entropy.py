"""What in an expression is new in every run: the clock, process ids, the operating system's random numbers,
salted hashes, and draws from generators that nothing has seeded yet.

Follows values through names, functions and files. A source that is only reached when an option is changed
from its default is left out, and so is one whose condition cannot be known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.abstract_values import Result, Unknown
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.reachability import reached_by_default
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.index import Scope
from torchrepro_lint.rng.draws import draw_of
from torchrepro_lint.rng.salted_hashes import salted
from torchrepro_lint.rng.seeded_before import may_be_seeded_before

MAX_DEPTH = 12
_PLAIN = frozenset({"builtins.len", "builtins.bool", "builtins.type", "builtins.isinstance", "builtins.print"})


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A call whose value is new in every run; `what` says where it comes from."""

    node: ast.Call
    scope: Scope
    what: str


@cache
def _names() -> dict[str, str]:
    return {name: str(row["what"]) for name, row in catalogue.names("generators", "entropy").items()}


class Entropy:
    """Finds sources for one run of a check."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._seen: set[ast.AST] = set()

    def sources(self, expr: ast.expr, scope: Scope) -> list[Source]:
        """The sources that decide the value of `expr`, in the order in which they are found."""
        self._seen = set()
        found = self._search(expr, scope, 0)
        return [s for s in found if reached_by_default(s.node, s.scope, self.program)]

    def _search(self, expr: ast.expr, scope: Scope, depth: int) -> Iterator[Source]:
        if depth > MAX_DEPTH or expr in self._seen:
            return
        self._seen.add(expr)
        match expr:
            case ast.Call():
                yield from self._call(expr, scope, depth)
            case ast.Name() | ast.Attribute():
                yield from self._value(expr, scope, depth)
            case ast.Lambda() | ast.Compare():
                return
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                yield from self._search(expr.elt, scope.children.get(expr, scope), depth + 1)
            case _:
                parts = [n for n in ast.iter_child_nodes(expr) if isinstance(n, ast.expr)]
                yield from self._each([Site(part, scope) for part in parts], depth)

    def _each(self, sites: list[Site], depth: int) -> Iterator[Source]:
        for site in sites:
            yield from self._search(site.node, site.scope, depth + 1)

    def _origins(self, expr: ast.expr, scope: Scope) -> list[Site]:
        """The expressions that a variable, or the result of a project function, stands for."""
        found = []
        for origin in self.program.origins(expr, scope):
            node, where = getattr(origin, "node", None), getattr(origin, "scope", None)
            if not isinstance(origin, Result | Unknown) or node is expr or where is None:
                continue
            if isinstance(node, ast.expr):
                found.append(Site(node, where))
        return found

    def _value(self, expr: ast.Name | ast.Attribute, scope: Scope, depth: int) -> Iterator[Source]:
        """What a variable holds, an attribute that is set anywhere in the file, or one of a value."""
        known = self._origins(expr, scope)
        yield from self._each(known, depth)
        if isinstance(expr, ast.Attribute):
            owner = ast.dump(expr.value)
            sets = scope.facts.attribute_sets.get(expr.attr, ())
            found = [Site(s.value, s.scope) for s in sets if s.value and ast.dump(s.target.value) == owner]
            yield from self._each(found or ([] if known else [Site(expr.value, scope)]), depth)

    def _call(self, call: ast.Call, scope: Scope, depth: int) -> Iterator[Source]:
        """A call is a source, or gives what it is given: `int(time.time())`, `os.urandom(4).hex()`."""
        name = self.program.callee(call, scope)
        source = self._source(name, call, scope)
        if source is not None:
            yield source
            return
        if name in _PLAIN:
            return
        inner = [*call.args, *(k.value for k in call.keywords)]
        if isinstance(call.func, ast.Attribute) and self.program.qualified(call.func.value, scope) is None:
            inner.append(call.func.value)
        if name is None:
            yield from self._each(self._origins(call, scope), depth)
        if name is not None or isinstance(call.func, ast.Attribute):
            yield from self._each([Site(part, scope) for part in inner], depth)

    def _source(self, name: str | None, call: ast.Call, scope: Scope) -> Source | None:
        if name is None:
            return None
        what = _names().get(name) or _names().get(name.rpartition(".")[0])
        if what is not None:
            return Source(call, scope, what)
        if salted(call, scope, self.program) is not None:
            return Source(call, scope, "a hash that Python salts anew in each process")
        if name == "numpy.random.SeedSequence" and not call.args and not call.keywords:
            return Source(call, scope, "the operating system's random numbers")
        draw = draw_of(self.program, name, call, scope)
        if draw is None or draw.kind == "init" or may_be_seeded_before(call, scope, self.program):
            return None
        return Source(call, scope, f"`{draw.what}`, which nothing has seeded")
