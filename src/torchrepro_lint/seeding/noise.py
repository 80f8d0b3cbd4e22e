"""Programs that train a model towards numbers that have nothing to do with its input: there is nothing to learn, and
their authors see whether the code runs, or how a library is used.

Told by the draws that both sides of each loss are computed from. What is mixed, as the noise in the input of a
diffusion model, and what comes from anywhere else may be learned.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from torchrepro_lint.dataflow import Domain, Of, Program, Site, Written, remembered
from torchrepro_lint.index import Scope, arguments_of
from torchrepro_lint.rng.draws import draw_of
from torchrepro_lint.seeding.seeding import Seeding

Draws = frozenset[ast.Call | None]
"""The samples that a value is made of; None for whatever else may be in it."""


@remembered
def learns_noise(seeding: Seeding, program: Program) -> bool:
    """Whether every loss in the file that starts a program compares numbers that it draws with others that it draws."""
    losses: dict[object, Site] = {}
    for call, scope in seeding.calls("backward"):
        held = call.args[0] if call.args else getattr(call.func, "value", None)
        if scope.facts is not seeding.entry.facts or held is None:
            continue
        key = (held.id, scope.binding_scope(held.id)) if isinstance(held, ast.Name) else held
        losses.setdefault(key, Site(held, scope))
    return bool(losses) and all(_is_of_noise(loss, program) for loss in losses.values())


def _is_of_noise(loss: Site, program: Program) -> bool:
    """Whether it is so for the loss of `loss.backward()` or `optimizer.backward(loss)`, whatever it is given."""
    made = [b.value for b in loss.scope.bindings_of(loss.node)] or [loss.node]
    return all(isinstance(value, ast.Call) and _compares_noise(value, loss.scope, program) for value in made)


def _compares_noise(loss: ast.Call, scope: Scope, program: Program) -> bool:
    if len(loss.args) < 2:
        return False
    domain = _MadeOf(program)
    output, label = (program.evaluate(value, scope, domain) for value in loss.args[:2])
    return len(label) == 1 and bool(output) and None not in label | output and output.isdisjoint(label)


@dataclass(frozen=True)
class _MadeOf(Domain[Draws]):
    """What a value is made of by calls alone: of their arguments, and of the object that they are called on."""

    program: Program
    nothing = frozenset({None})

    def join(self, values: Sequence[Draws]) -> Draws:
        return frozenset().union(*values)

    def constant(self, value: object, node: ast.expr, scope: Scope) -> Draws:
        return frozenset()

    def reference(self, target: str | Scope, node: ast.AST, scope: Scope) -> Draws:
        return frozenset()

    def display(self, node: Written, scope: Scope, of: Of[Draws]) -> Draws:
        return self.join([of(e, scope) for e in node.elts]) if isinstance(node, ast.Tuple | ast.List) else self.nothing

    def known_call(self, call: ast.Call, scope: Scope, of: Of[Draws]) -> Draws:
        name = self.program.callee(call, scope)
        draw = draw_of(self.program, name, call, scope)
        if draw is not None and draw.kind == "sample":
            return frozenset({call})
        parts = arguments_of(call)
        if name is None and isinstance(call.func, ast.Attribute):
            parts.append(call.func.value)
        return self.join([of(part, scope) for part in parts])

    def operator(self, node: ast.AST, scope: Scope, of: Of[Draws]) -> Draws:
        parts = [of(n, scope) for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
        is_known = isinstance(node, ast.UnaryOp | ast.BinOp) and not any(parts)
        return frozenset() if is_known else self.nothing

    def item(self, container: ast.expr, key: ast.expr | None, scope: Scope, of: Of[Draws]) -> Draws:
        return of(container, scope)
