"""Draws that no result is made of: a number that is never read, and the weights of a model that is only counted,
printed or asked for its name.

Told by how the value is used in the function that makes it; what leaves that function may be used anywhere.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence, Set
from typing import TypeGuard

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.abstract_values import Origin, Result
from torchrepro_lint.dataflow.enclosing import ancestors, names_in
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.references import imported_reads, reads_of_target
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.index import ModuleFacts, Scope, last_name
from torchrepro_lint.rng.draws import Draw
from torchrepro_lint.seeding.seeding import Link

_CONVERT = frozenset({"str", "int", "float", "round"})
_MOVE = frozenset({"to", "cuda", "cpu", "eval", "train", "half", "float", "double"})  # what a model itself is after
_DESCRIBE = re.compile(
    r"(?i)^(?:print|len|str|repr|type|isinstance|hasattr|id)$|^(?:get_|print_|show_)?(?:n|num|number_of|count|model|param)_"
    r"?(?:trainable_)?(?:param(?:eter)?s?|weights|size|info)(?:_count)?$|summar|^print_(?:net|model)|flops|macs"
)
_NAMES = frozenset({"name", "__class__", "__name__", "training", "device", "dtype"})
_PARTS = frozenset({"parameters", "named_parameters", "buffers", "modules", "named_modules", "children"})
_FORM = frozenset({"shape", "dtype", "ndim"})
_MEASURES = frozenset({"numel", "nelement", "element_size", "size", "shape", "requires_grad", "dtype", "__class__"})


def is_never_read(draw: Draw, program: Program) -> bool:
    """`number = str(random.randint(0, 9))` in a function that does nothing with it."""
    facts, scope = draw.scope.facts, draw.scope
    match facts.parents.get(_outermost(draw.node, facts)):
        case ast.Assign(targets=[ast.Name() as target]) as statement if scope.kind == "function":
            return not reads_of_target(target, statement, scope, program) and not _reads_all_names(scope)
    return False


def is_only_described(steps: Sequence[Link], program: Program) -> bool:
    """Whether one of the calls on the way to a draw gives an object that is only described, which is made there."""
    return any(
        isinstance(step.node, ast.Call)
        and _is_described(step.node, step.scope, program)
        and _is_made(step.node, step.scope, {s.node for s in steps[number:]}, program)
        for number, step in enumerate(steps)
    )


def is_measured(steps: Sequence[Link]) -> bool:
    """Whether of what one of the calls on the way to a draw gives only the shape is read:
    `dataset.__getitem__(0)[0].shape`."""
    return any(isinstance(step.node, ast.Call) and _has_form_read(step.node, step.scope.facts) for step in steps)


def is_on_meta(steps: Sequence[Link], program: Program) -> bool:
    """Whether weights are made where there is no memory for them: `with torch.device("meta"): net = Net()`."""
    return any(
        isinstance(block, ast.With) and any(_is_undrawn(item.context_expr, step.scope, program) for item in block.items)
        for step in steps
        for block in ancestors(step.node, step.scope)
    )


def _is_undrawn(entered: ast.expr, scope: Scope, program: Program) -> bool:
    if not isinstance(entered, ast.Call):
        return False
    name, known = program.resolve(entered.func, scope), catalogue.table("rng")["undrawn"]
    if isinstance(name, Scope):  # in the project of the library itself
        return f"accelerate.{name.name}" in known["blocks"]
    is_meta = bool(entered.args) and program.literal(entered.args[0], scope) == "meta"
    return name in known["blocks"] or (name in known["devices"] and is_meta)


def _has_form_read(call: ast.Call, facts: ModuleFacts) -> bool:
    made: ast.AST = call
    while isinstance(outer := facts.parents.get(made), ast.Subscript) and outer.value is made:
        made = outer
    return isinstance(outer, ast.Attribute) and outer.attr in _FORM


def _is_made(call: ast.Call, scope: Scope, calls: Set[ast.AST], program: Program) -> bool:
    """Whether a call gives what one of `calls` constructs, or others in its place: `{"a": A, "b": B}[name]()`."""
    made = program.origins(call, scope)
    constructed = [origin.node for origin in made if _is_constructed(origin)]
    return len(constructed) == len(made) and not calls.isdisjoint(constructed)


def _is_constructed(origin: Origin) -> TypeGuard[Result]:
    match origin:
        case Result(callee=str() | Scope(kind="class")):
            return True
    return False


def _outermost(node: ast.AST, facts: ModuleFacts) -> ast.AST:
    """The number itself, or the text that is made of it."""
    for outer in facts.ancestors(node):
        match outer:
            case ast.BinOp() | ast.JoinedStr() | ast.FormattedValue():
                node = outer
            case ast.Call(func=ast.Name(id=name)) if name in _CONVERT:
                node = outer
            case _:
                break
    return node


def _reads_all_names(scope: Scope) -> bool:
    found = (site for name in ("locals", "vars", "eval", "exec") for site in scope.facts.calls.get(name, ()))
    return any(
        isinstance(call.func, ast.Name)
        and where.function is scope.function
        and (call.func.id != "vars" or not call.args)  # `vars(options)` has the names of an object
        for call, where in found
    )


def _is_described(call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether the result of a call is described at once, or held by a name of which all reads only describe it."""
    facts = scope.facts
    made: ast.AST = call
    while _is_moved(made, facts):
        made = facts.parents[facts.parents[made]]
    match facts.parents.get(made):
        case ast.Call(func=func, args=[first, *_]) if first is made:
            return _describes(func, scope, program)
        case ast.Assign(targets=[ast.Name() as target]) as statement if scope.kind in ("function", "module"):
            if scope.binding_scope(target.id) is not scope or _reads_all_names(scope):
                return False
            if scope.kind == "module" and imported_reads(target.id, scope, program) != []:
                return False
            return all(_is_description(read, program) for read in reads_of_target(target, statement, scope, program))
    return False


def _is_moved(node: ast.AST, facts: ModuleFacts) -> bool:
    """`Net().to(device)`"""
    parent = facts.parents.get(node)
    return isinstance(parent, ast.Attribute) and parent.attr in _MOVE and facts.call_of(parent) is not None


def _describes(func: ast.expr, scope: Scope, program: Program) -> bool:
    name = last_name(func)
    return program.by_name(_DESCRIBE.search(name) is not None, "that a call only describes a model", scope, name)


def _is_description(read: Site, program: Program) -> bool:
    facts = read.scope.facts
    parent = facts.parents.get(read.node)
    match parent:
        case ast.FormattedValue() | ast.Delete():
            return True
        case ast.Call(func=func) if func is not read.node:
            return _describes(func, read.scope, program)
        case ast.Attribute(attr=attr, ctx=ast.Load()) if attr in _NAMES:
            return True
        case ast.Attribute(attr=attr, ctx=ast.Load()):
            call = facts.parents.get(parent)
            if not isinstance(call, ast.Call) or call.func is not parent:
                return False
            outer = facts.parents.get(call)
            if attr in _MOVE:
                return isinstance(outer, ast.Expr) and not _runs_own_method(call, read.scope, program)
            return attr in _PARTS and _is_measured(outer, call, facts)
    return False


def _runs_own_method(call: ast.Call, scope: Scope, program: Program) -> bool:
    """`trainer.train()` of a class of the project that is no module."""
    owners = (m.parent for m in program.runs(call, scope) if isinstance(m, Scope))
    return any(o is not None and o.kind == "class" and not program.external_bases(o) for o in owners)


def _is_measured(outer: ast.AST | None, parts: ast.Call, facts: ModuleFacts) -> bool:
    """`sum(p.numel() for p in net.parameters())`, and the loop that adds up: of each part, only the size is read."""
    match outer:
        case ast.comprehension(target=target) if outer.iter is parts:
            body: ast.AST | None = facts.parents.get(outer)
        case ast.For(target=target) if outer.iter is parts:
            body = outer
        case _:
            return False
    names = names_in(target)
    read = (n for n in ast.walk(body or outer) if isinstance(n, ast.Name) and n.id in names)
    return all(_has_size_read(n, facts) for n in read if isinstance(n.ctx, ast.Load))


def _has_size_read(part: ast.expr, facts: ModuleFacts) -> bool:
    """`p.numel()`, `p.data.size()`"""
    match facts.parents.get(part):
        case ast.Attribute(attr="data") as data:
            return _has_size_read(data, facts)
        case ast.Attribute(attr=attr):
            return attr in _MEASURES
    return False
