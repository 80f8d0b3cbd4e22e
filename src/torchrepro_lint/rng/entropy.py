"""The domain of what is new in every run: the clock, process ids, the operating system's random numbers, salted hashes,
and draws from generators that nothing has seeded yet.

A source that is only reached when an option is changed
from its default is left out, and so is one whose condition cannot be known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Domain, Of, Program, Site, Written
from torchrepro_lint.dataflow.binding import value_for
from torchrepro_lint.dataflow.conditions import conditions
from torchrepro_lint.dataflow.evaluate import attribute_values
from torchrepro_lint.dataflow.reachability import reached_by_default
from torchrepro_lint.index import Binding, Scope, arguments_of
from torchrepro_lint.rng.draws import Seeder, draw_at, draw_of
from torchrepro_lint.rng.predicates import about_seed
from torchrepro_lint.rng.seeded_before import may_be_seeded_before
from torchrepro_lint.rng.texts import salted

MAX_CALLERS = 3  # through which an object is passed on
_PLAIN = frozenset({"builtins.len", "builtins.bool", "builtins.type", "builtins.isinstance", "builtins.print"})


class Source(NamedTuple):
    """A call whose value is new in every run; `what` says where it comes from."""

    node: ast.Call
    scope: Scope
    what: str


Sources: TypeAlias = tuple[Source, ...]


@dataclass(frozen=True)
class Entropy(Domain[Sources]):
    """The sources that decide a value, in the order in which they are found: what is made of several has those of all,
    and so has a value that may be one of several."""

    program: Program
    nothing = ()

    def sources(self, expr: ast.expr, scope: Scope) -> list[Source]:
        """The sources that decide the value of `expr`, by default."""
        found = self.program.evaluate(expr, scope, self)
        return [s for s in found if reached_by_default(s.node, s.scope, self.program, about_seed)]

    def join(self, values: Iterable[Sources]) -> Sources:
        return tuple({source.node: source for found in values for source in found}.values())

    def known_call(self, call: ast.Call, scope: Scope, of: Of[Sources]) -> Sources | None:
        name = self.program.callee(call, scope)
        source = self._source(name, call, scope)
        return (source,) if source is not None else () if name in _PLAIN else None

    def result(self, callee: str | Scope | None, call: ast.Call, scope: Scope, of: Of[Sources]) -> Sources:
        """A call gives what it is given: `int(time.time())`, `os.urandom(4).hex()`."""
        if isinstance(callee, Scope):
            return ()
        parts = arguments_of(call)
        if isinstance(call.func, ast.Attribute) and self.program.qualified(call.func.value, scope) is None:
            parts.append(call.func.value)
        return self.join(of(part, scope) for part in parts)

    def chosen(self, test: ast.expr, found: Sources, scope: Scope, of: Of[Sources]) -> Sources:
        return self.join([found, of(test, scope)])

    def operator(self, node: ast.AST, scope: Scope, of: Of[Sources]) -> Sources:
        match node:
            case ast.Lambda() | ast.Compare():
                return ()
            case ast.AugAssign(value=value):
                return of(value, scope)
        return self.join(of(part, scope) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))

    def display(self, node: Written, scope: Scope, of: Of[Sources]) -> Sources:
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            return of(node.elt, scope.children.get(node, scope))
        return self.operator(node, scope, of)

    def element(self, loop: Binding, scope: Scope, of: Of[Sources]) -> Sources:
        return of(loop.value, scope) if loop.value is not None else ()

    def item(self, container: ast.expr, key: ast.expr | None, scope: Scope, of: Of[Sources]) -> Sources:
        return self.join(of(part, scope) for part in (container, key) if part is not None)

    def attribute(self, node: ast.Attribute, scope: Scope, of: Of[Sources]) -> Sources:
        """What the same attribute is set to anywhere in the file, or by callers, or else an attribute of what is made
        there."""
        sites = attribute_values(node, scope)
        if "seed" in node.attr.lower():
            sites += self._set_by_callers(node, scope, MAX_CALLERS)
        return self.join(of(*site) for site in sites) if sites else of(node.value, scope)

    def _set_by_callers(self, node: ast.Attribute, scope: Scope, depth: int) -> list[Site]:
        """What those set it to that pass the object on: `args.seed = randint(0, 99)` above `run(args)`."""
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        owner = scope.binding_scope(name) if depth else None
        bindings = owner.bindings[name] if owner is not None else []
        if owner is None or [b.kind for b in bindings] != ["parameter"]:
            return []
        found: list[Site] = []
        for call, caller in self.program.callers.passing(owner) or ():
            given = value_for(call, caller, owner, bindings[0])
            if given is not None and isinstance(given.node, ast.Name) and given.scope is caller:
                read = ast.copy_location(ast.Attribute(given.node, node.attr, ast.Load()), call)
                found += [*attribute_values(read, caller), *self._set_by_callers(read, caller, depth - 1)]
        return found

    def _source(self, name: str | None, call: ast.Call, scope: Scope) -> Source | None:
        if name is None:
            return None
        known = catalogue.names("generators", "entropy")
        row = known.get(name) or known.get(name.rpartition(".")[0])
        if row is not None:
            return Source(call, scope, row["what"])
        if salted(call, scope, self.program) is not None:
            return Source(call, scope, "a hash that Python salts anew in each process")
        if name == "numpy.random.SeedSequence" and not call.args and not call.keywords:
            return Source(call, scope, "the operating system's random numbers")
        draw = draw_of(self.program, name, call, scope)
        if draw is None or draw.kind == "init" or may_be_seeded_before(call, scope, self.program):
            return None
        return Source(call, scope, f"`{draw.what}`, which nothing has seeded")


def is_new_in_every_run(seeder: Seeder, program: Program) -> bool:
    """Whether a call seeds with a value that no two runs share, and that nobody may give instead; one that is drawn is
    mostly printed, so that it can be. One that takes a number for itself where it is given none is such a call."""
    if seeder.seed is None and seeder.none == "random":
        return True
    found = Entropy(program).sources(seeder.seed, seeder.scope) if seeder.seed is not None else ()
    made = [s for s in found if draw_at(s.node, s.scope, program) is None]
    return any(not any(about_seed(c.test) for c in conditions(source.node, source.scope)) for source in made)
