"""Loops and comprehensions over the items: whether what a loop leaves behind shows the order of its rounds."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Program, start_of
from torchrepro_lint.dataflow.abstract_values import Constant
from torchrepro_lint.dataflow.binding import argument_for
from torchrepro_lint.dataflow.conditions import conditions
from torchrepro_lint.dataflow.edges import Edges
from torchrepro_lint.dataflow.enclosing import run_with
from torchrepro_lint.dataflow.follow import Follow, Policy
from torchrepro_lint.dataflow.options import outcome
from torchrepro_lint.dataflow.reaching_definitions import reads_of_binding
from torchrepro_lint.dataflow.use import ESCAPED, STOP, Sink, Step, Steps, Use
from torchrepro_lint.index import Comprehension, ModuleFacts, Scope, arguments_of, names_in
from torchrepro_lint.loading.decisions import GIVEN, KEPT, NUMBERED, TRAINED, Decision, Shown, decided, saves, stored
from torchrepro_lint.loading.loops import Effect, Loop, effects, index_name, is_one, other_names
from torchrepro_lint.rng.draws import draw_of
from torchrepro_lint.rng.seeded_before import may_seed
from torchrepro_lint.rng.updates import is_optimizer, updates_model

_DATA = ("data", "sample", "image", "label", "class", "split", "corpus")
_DRAWN = {"sample": "number", "order": "draw"}  # by the kind of the draw
_Held: TypeAlias = Literal["numbering", "numbers"]
_ARRAYS = frozenset({"zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like"})
_PACKS = frozenset({"builtins.chr", "builtins.str", "builtins.list", "builtins.tuple"})


def comprehension(generator: ast.comprehension, use: Use[Shown], edges: Edges) -> Steps:
    """`[... for item in items]` and the like."""
    facts = use.scope.facts
    owner = facts.parents[generator]
    assert isinstance(owner, Comprehension)
    target = generator.target
    if isinstance(target, ast.Name) and any(is_one(test, {target.id}) for test in generator.ifs):
        return STOP
    match facts.parents[owner], owner:
        case ast.Expr() as statement, ast.ListComp(elt=ast.Call(func=ast.Attribute(value=held, attr="append"))):
            return stored(held, statement, use.become("sequence").at(owner), edges)  # a loop in other words
    mapping, elements = _made_of_pairs(owner, facts)
    drawn = _drawn(edges.program, elements, facts)
    if drawn is not None or isinstance(owner, ast.SetComp):
        return (Sink(drawn),) if drawn is not None else STOP
    if mapping is None:
        return (use.become("sequence").at(owner),)
    index = index_name(generator.target, generator.iter)
    if index and index in names_in(*elements):
        return STOP if only_compares(mapping, use.at(mapping).scope, edges.program) else decided(use, owner, NUMBERED)
    return (use.become("mapping").at(mapping),)


def _made_of_pairs(owner: ast.expr, facts: ModuleFacts) -> tuple[ast.expr | None, list[ast.expr]]:
    """The dict that a comprehension makes, as `dict((word, number) for ...)` does; and what it holds."""
    match owner, facts.parents[owner]:
        case ast.DictComp(key=key, value=value), _:
            return owner, [key, value]
        case (
            ast.GeneratorExp(elt=ast.Tuple(elts=[_, _] as pair)) | ast.ListComp(elt=ast.Tuple(elts=[_, _] as pair)),
            ast.Call(func=ast.Name(id="dict"), args=[given]) as call,
        ) if given is owner:
            return call, pair
    return None, [owner.elt] if isinstance(owner, ast.ListComp | ast.SetComp | ast.GeneratorExp) else []


def rounds(node: Loop | ast.While, use: Use[Shown], edges: Edges) -> Iterator[Step]:
    """What the order of a loop's rounds decides, whatever brings the items."""
    facts = use.scope.facts
    drawn = _drawn(edges.program, node.body, facts)
    if drawn is not None:
        yield Sink(drawn)
    called: set[Scope] = set()
    for effect in effects(facts, node):
        if effect.kind == "call" and isinstance(effect.node, ast.Call):
            if effect.why and saves(effect.node, use.scope, edges.program):
                yield from decided(use, effect.node, effect.why)
            if _trains(effect.node, node, facts, edges.program):
                yield from decided(use, effect.node, TRAINED)
            callee = _callee(effect.node, facts, edges.program)
            if callee is not None and callee not in called:
                called.add(callee)
                yield from _left_by(callee, effect.node, use, edges)
        else:
            yield from _effect(effect, node, use, edges)


def _trains(call: ast.Call, loop: Loop | ast.While, facts: ModuleFacts, program: Program) -> bool:
    """Whether a call updates a model that outlives the round: it steps an optimizer that is made before the loop, or is
    a function that is given one and does."""
    is_step = isinstance(call.func, ast.Attribute) and call.func.attr == "step"
    held = [call.func.value] if isinstance(call.func, ast.Attribute) and is_step else arguments_of(call)
    scope = facts.scope_of(call)
    kept = (h for h in held if isinstance(h, ast.Name | ast.Attribute) and not _is_set_in(loop, h, scope))
    return any(is_optimizer(h, scope, program) for h in kept) and updates_model(call, scope, program)


def _is_set_in(loop: Loop | ast.While, held: ast.Name | ast.Attribute, scope: Scope) -> bool:
    """Whether the rounds of a loop give a name, or an attribute, something else."""
    facts = scope.facts
    if isinstance(held, ast.Name):
        owner = scope.binding_scope(held.id)
        bound: list[ast.AST] = [b.node for b in owner.bindings[held.id]] if owner is not None else []
    else:
        bound = [found.statement for found in facts.attribute_sets.get(held.attr, ())]
    return any(loop in facts.ancestors(node) for node in bound)


def _drawn(program: Program, body: Sequence[ast.AST], facts: ModuleFacts) -> Decision | None:
    """A random number, order or choice that is drawn for each item in turn, where nothing seeds for each."""
    for node in run_with(body):
        if isinstance(node, ast.Call):
            scope = facts.scope_of(node)
            if may_seed(node, scope, program):
                return None
            name = program.qualified(node.func, scope)
            draw = draw_of(program, name, node, scope) if name else None
            if draw is not None and draw.kind in _DRAWN:
                return Decision(facts, node, f"decides which item gets which random {_DRAWN[draw.kind]}")
    return None


def _effect(effect: Effect, node: Loop | ast.While, use: Use[Shown], edges: Edges) -> Steps:
    match effect.kind:
        case "decides":
            return STOP if _never_runs(effect.node, use, edges.program) else decided(use, effect.node, effect.why)
        case "sequence" | "mapping" if effect.target is not None:
            return _filled(effect, effect.target, use.scope.facts, edges)
        case "last" if isinstance(effect.target, ast.Name):
            return _kept(effect, effect.target, node, use)
        case "yield":
            return _yielded(effect.node, use, edges)
    return STOP


def _never_runs(node: ast.AST, use: Use[Shown], program: Program) -> bool:
    """Whether no call asks for what ends a loop after so many rounds: `if amount is not None and count == amount`."""
    if not isinstance(node, ast.Break):
        return False
    scope = use.scope.facts.scope_of(node)
    return any(outcome(c.test, scope, program).certain is (not c.holds) for c in conditions(node, scope))


def _filled(effect: Effect, target: ast.expr, facts: ModuleFacts, edges: Edges) -> Iterator[Step]:
    """Something that the rounds fill in their order."""
    shown: Shown = "mapping" if effect.kind == "mapping" else "text" if _is_text(target, facts) else "sequence"
    scope, statement = facts.scope_of(effect.node), facts.statement(effect.node)
    if shown == "mapping" and _has_places(target, scope):
        return
    if isinstance(effect.node, ast.AugAssign) and _begins_as_number(target, scope, edges.program):
        return  # a sum
    bound = scope.bindings_of(target) if isinstance(target, ast.Name) and shown == "sequence" else ()
    names = (target, *(name for binding in bound for name in other_names(binding)))
    for name in names:
        use = Use(name, scope, shown, effect.path)
        yield from stored(name, statement, use, edges)
        yield from _filled_for_callers(use, edges)


def _filled_for_callers(use: Use[Shown], edges: Edges) -> Iterator[Step]:
    """A list or dict that a function is given to fill, where those that call it read it."""
    name = use.node.id if isinstance(use.node, ast.Name) else ""
    owner = use.scope.function
    if owner.kind != "function" or not any(b.kind == "parameter" for b in owner.bindings.get(name, ())):
        return
    for call, where in edges.program.callers_of(owner) or ():
        passed = argument_for(call, owner, name)
        if isinstance(passed, ast.Name | ast.Attribute):
            yield from stored(passed, where.facts.statement(call), Use(passed, where, use.state, use.path), edges)


def _has_places(target: ast.expr, scope: Scope) -> bool:
    """Whether what is assigned to by keys begins as a list or an array, where each item has its place, whichever comes
    first: `results = [None] * count`."""
    values = [b.value for b in scope.bindings_of(target)] if isinstance(target, ast.Name) else []
    return bool(values) and all(isinstance(v, ast.expr) and _is_of_places(v) for v in values)


def _begins_as_number(target: ast.expr, scope: Scope, program: Program) -> bool:
    """Whether a name begins as a number, or as an array of a fixed size, to which numbers are added: `total = 0.0`,
    `counts = np.zeros(10)`."""
    if not isinstance(target, ast.Name):
        return False
    begins = (origin.value for origin in program.origins(target, scope) if isinstance(origin, Constant))
    return any(_makes_array(b.value) for b in scope.bindings_of(target)) or any(
        isinstance(v, int | float) for v in begins
    )


def _is_of_places(value: ast.expr) -> bool:
    match value:
        case ast.List() | ast.ListComp():
            return True
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            return isinstance(left, ast.List) or isinstance(right, ast.List)
    return _makes_array(value)


def _makes_array(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _ARRAYS


def _is_text(target: ast.expr, facts: ModuleFacts) -> bool:
    """Whether a name begins as a text, which the rounds make longer: `log = ""`."""
    values = (b.value for b in facts.scope_of(target).bindings_of(target)) if isinstance(target, ast.Name) else ()
    return any(isinstance(v, ast.JoinedStr) or isinstance(getattr(v, "value", None), str) for v in values)


def _kept(effect: Effect, target: ast.Name, node: Loop | ast.While, use: Use[Shown]) -> Steps:
    """A name that still has the value of the last round when it is read below the loop."""
    owner = use.scope.facts.scope_of(effect.node).binding_scope(target.id)
    if owner is None or owner.function is not use.scope.function:
        return STOP
    last = (node.end_lineno or 0, node.end_col_offset or 0)
    own = (
        site.node for site in reads_of_binding(target.id, owner, effect.node) if site.scope.function is owner.function
    )
    return decided(use, effect.node, KEPT) if any(start_of(read) >= last for read in own) else STOP


def _callee(call: ast.Call, facts: ModuleFacts, program: Program) -> Scope | None:
    callees = program.values.callees(call, facts.scope_of(call))
    callee = callees[0] if len(callees) == 1 else None
    return callee if isinstance(callee, Scope) and isinstance(callee.node, ast.FunctionDef) else None


def _left_by(callee: Scope, call: ast.Call, use: Use[Shown], edges: Edges) -> Iterator[Step]:
    """A function of the project that the loop calls may fill something that outlives it, or give what it is given the
    next number in that."""
    assert isinstance(callee.node, ast.FunctionDef)
    for effect in effects(callee.facts, callee.node):
        if effect.why == NUMBERED and effect.kind == "decides":
            yield from decided(use, call, NUMBERED)
        if effect.target is None or effect.kind not in ("sequence", "mapping"):
            continue
        inner = callee.facts.scope_of(effect.node)
        if not (isinstance(effect.target, ast.Name) and inner.binding_scope(effect.target.id) is callee):
            yield from _filled(effect, effect.target, callee.facts, edges)


# -- results -----------------------------------------------------------------------------------------------------
def _yielded(node: ast.AST, use: Use[Shown], edges: Edges) -> Steps:
    """The rounds' items are what a generator yields, in their order."""
    function = use.scope.function
    owner = function.parent
    if owner is not None and owner.kind == "class" and function.name.endswith(".__iter__"):
        is_data = any("Data" in base for base in edges.program.external_bases(owner))
        return decided(use, node, "becomes the order of the samples") if is_data else STOP
    return returned(node, use.become("sequence"), edges)


def returned(node: ast.AST, use: Use[Shown], edges: Edges) -> Steps:
    """What callers do with items that a function returns or yields.

    A function of a module about data that nobody calls by its name is called through a table or a
    framework, for its data; a method perhaps by a name that its class puts together, for anything.
    """
    function = use.scope.function
    if use.state == "sequence" and not edges.callers(function) and _gives_data(function, edges.program):
        return decided(use, node, GIVEN)
    return edges.returned(use)


def _gives_data(function: Scope, program: Program) -> bool:
    facts, owner = function.facts, function.parent
    if function.kind != "function" or facts.source.path.stem.startswith("test"):
        return False
    if owner is not None and owner.kind == "class":
        chosen = (call for call, _ in facts.calls.get("getattr", ()) if len(call.args) > 1)
        is_named = any(not isinstance(call.args[1], ast.Constant | ast.Name) for call in chosen)
        return not is_named and any("Data" in base for base in program.external_bases(owner))
    stem = facts.source.rel.rpartition("/")[0] + "/" + facts.source.path.stem
    return any(word in f"{stem} {function.name}".lower() for word in _DATA)


# -- numbers that are only compared ------------------------------------------------------------------------------------
def only_compares(numbering: ast.expr, scope: Scope, program: Program) -> bool:
    """Whether all that is made of a dict with the numbers of items is an argument of functions that compare, or the
    dict is only asked which items it has."""
    search = Follow(_POLICY, program)
    compared = list(search.found([Use(numbering, scope, "numbering")]))
    return bool(compared) and not search.escaped


def _judge(use: Use[_Held], edges: Edges) -> Steps | None:
    parent = use.parent
    match parent:
        case ast.Assign(targets=[ast.Name()]) | ast.Return():
            return None
        case ast.Subscript(value=value, ctx=ast.Load()) if use.state == "numbering" and value is use.node:
            return (use.become("numbers").at(parent),)
        case ast.ListComp() | ast.GeneratorExp() | ast.List() | ast.Tuple() if use.state == "numbers":
            return (use.at(parent),)
        case ast.Compare(ops=[ast.In() | ast.NotIn()], left=item) if use.state == "numbering" and item is not use.node:
            return (Sink(parent),)
        case ast.Attribute(attr="keys") if use.state == "numbering" and (call := use.scope.facts.call_of(parent)):
            return (use.at(call),)
        case ast.Call() if use.state == "numbering":
            return None
        case ast.Call() if use.call is not None:
            return _passed(use, use.call, edges.program)
    return (ESCAPED,)


def _passed(use: Use[_Held], call: ast.Call, program: Program) -> Steps:
    name = program.callee(call, use.scope)
    if name in catalogue.table("order")["compares"]["names"]:
        return (Sink(call),)
    is_join = isinstance(call.func, ast.Attribute) and call.func.attr == "join"
    return (use.at(call),) if name in _PACKS or is_join else (ESCAPED,)


_POLICY: Policy[_Held, ast.expr] = Policy("comparisons of numbered items", _judge, is_complete=True, bound=60)
