"""Whether the batches of a loader train nothing: they are printed, plotted, never asked for, or evaluate a model.

Knows the names that the loader gets in its own file; what goes anywhere else may be trained on.
"""

from __future__ import annotations

import ast
import re

from torchrepro_lint.dataflow import Call, Program, Site, remembered
from torchrepro_lint.dataflow.enclosing import outermost_loop
from torchrepro_lint.dataflow.references import reads_of_target
from torchrepro_lint.index import ModuleFacts, Scope, calls_in, last_name, walk
from torchrepro_lint.loading.loaders import loader_calls
from torchrepro_lint.project import roles
from torchrepro_lint.project.contents import reads_attribute

_SHOWS = frozenset({
    "print", "len", "size", "type", "format", "str", "range", "enumerate", "shape", "dim", "item", "numpy", "tolist",
    "figure", "subplot", "subplots", "imshow", "plot", "set_data", "title", "axis", "show", "pause", "make_grid",
    "squeeze", "permute", "zip",
})  # fmt: skip

# Methods of a table that give another one to look at, or its rows.
_VIEWS = frozenset({"head", "tail", "describe", "sort_index", "sort_values", "reset_index", "iterrows", "itertuples",
                    "items", "tolist", "to_list", "to_string", "to_markdown", "reshape", "squeeze",
                    "to_numpy"})  # fmt: skip
MAX_FILES = 60  # that name an attribute
MAX_NAMES = 4  # one after the other, that a table has in a notebook
_NO_GRADIENTS = frozenset({"no_grad", "inference_mode"})
EVALUATION = re.compile(
    r"(?:^|_)(?:val|valid|validate|validation|test|testing|eval(?:uate|uation)?|dev|visual)(?:_?(?:data)?_?(?:loader|sampler|iter|dl|set))?(?:_|$)"
    r"|(?:loader|sampler|iter|dl)_?(?:val|valid|test|eval|dev)$",
    re.IGNORECASE,
)
_EVALUATION_WORDS = re.compile("(?i)val|test|dev|visual")


def may_have_for_evaluation(facts: ModuleFacts) -> bool:
    """Whether `is_for_evaluation` may hold for a loader or sampler of a file."""
    return not _NO_GRADIENTS.isdisjoint(facts.calls) or _EVALUATION_WORDS.search(facts.source.text) is not None


def is_for_evaluation(call: Call) -> bool:
    """Whether a loader or sampler is called after an evaluation, or made where no gradients are kept: there, an expert
    would not shuffle at all."""
    facts = call.facts
    if not _NO_GRADIENTS.isdisjoint(facts.calls) and _is_without_gradients(call):
        return True
    named = [_named(target) for target in getattr(facts.statement(call.node), "targets", ())]
    is_named = any(map(EVALUATION.search, named))
    return call.program.by_name(is_named, "that a loader evaluates", call.scope, ", ".join(named))


def _named(target: ast.expr) -> str:
    """What a target is called: `loader`, `self.loader`, `loaders["valid"]`."""
    match target:
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            return key
    return last_name(target)


def _is_without_gradients(call: Call) -> bool:
    around = (item for node in call.facts.ancestors(call.node) if isinstance(node, ast.With) for item in node.items)
    return any(last_name(made.func) in _NO_GRADIENTS for item in around for made in calls_in(item.context_expr))


def is_only_looked_at(call: Call) -> bool:
    """Whether all that the file does with the loader is to count its batches, to show them, to take one of them, or to
    hand it to what evaluates, by its name; in a notebook also, that it makes the loader and leaves it at that."""
    facts, program = call.facts, call.program
    statement = facts.parents[call.node]
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return False
    sites = reads_of_target(statement.targets[0], statement, call.scope, program)
    if len(statement.targets) > 1 or not (sites or facts.source.cells) or program.project.users([facts.source.path]):
        return False
    if not sites:
        return True
    loop = outermost_loop(facts, call.node)
    return any(map(_is_taken, sites)) and all(_is_looked_at(site, loop, program) for site in sites)


@remembered
def replaced(facts: ModuleFacts, program: Program) -> set[ast.Call]:
    """The loaders of a file whose name a function gives to something else before anything reads it; or that an object
    keeps, and whose methods make another one wherever they use it."""
    return {call.node for call in loader_calls(facts, program) if _is_replaced(call)}


def _is_replaced(call: Call) -> bool:
    match call.facts.parents[call.node]:
        case ast.Assign(targets=[ast.Name(id=name) as target]) as statement if call.scope.kind == "function":
            is_bound_again = len(call.scope.bindings.get(name, ())) > 1
            return is_bound_again and not reads_of_target(target, statement, call.scope, call.program)
        case ast.Assign(targets=[ast.Attribute() as target]) if call.scope.is_self(target.value):
            return _is_made_anew(target.attr, call) and not _is_read_elsewhere(target.attr, call)
    return False


def _is_made_anew(attribute: str, call: Call) -> bool:
    """Whether each method that reads an attribute of the object has given it another value above, and some do."""
    facts, own = call.facts, call.scope.function
    sets = (s for s in facts.attribute_sets.get(attribute, ()) if s.scope.is_self(s.target.value))
    made = [(s.scope.function, s.statement.lineno) for s in sets if facts.parents[s.statement] is s.scope.function.node]
    found = (
        (read.lineno, read.value, facts.scope_of(read)) for read in facts.reads(facts.tree).of_attribute(attribute)
    )
    reads = [
        (line, scope.function)
        for line, held, scope in found
        if scope.method_class is own.method_class or not scope.is_self(held) or _may_be_kin(scope, own)
    ]
    return bool(reads) and all(
        any(function is reading and function is not own and line < read for function, line in made)
        for read, reading in reads
    )


def _may_be_kin(scope: Scope, other: Scope) -> bool:
    """Whether one of two methods is of a class with bases, through which the other's may be the same object's."""
    owners = (owner.node for owner in (scope.method_class, other.method_class) if owner is not None)
    return any(getattr(node, "bases", ()) for node in owners)


def _is_read_elsewhere(attribute: str, call: Call) -> bool:
    """Whether another file may read an attribute of this name, or this one by its text."""
    own, project = call.facts.source.path, call.program.project
    naming = project.text.mentioning(attribute)
    if naming is None or len(naming) > MAX_FILES or call.facts.source.matches(rf"[\"']{attribute}[\"']"):
        return True
    return any(project.files.says(str(path), reads_attribute, attribute) for path in naming if path != own)


def is_shown(table: ast.expr, scope: Scope, program: Program, names: int = MAX_NAMES) -> bool:
    """Whether a table is only looked at: it is what a cell shows, is printed or plotted, or its rows are one by one;
    in a notebook also by way of names."""
    facts = scope.facts
    node, parents = table, facts.parents
    while isinstance(parent := parents[node], ast.Attribute | ast.Subscript) or (
        isinstance(parent, ast.Call) and parent.func is node and last_name(node) in _VIEWS
    ):
        node = parent
    match parent:
        case ast.Expr():
            return True
        case ast.Call(func=ast.Name(id="print" | "display")) | ast.Call(func=ast.Attribute(attr="imshow" | "title")):
            return isinstance(parents[parent], ast.Expr)
        case ast.For(iter=rows, body=body) if rows is node:
            return all(isinstance(s, ast.Expr) and _is_printed(s.value) for s in body)
        case ast.Assign(targets=[ast.Name() as target]) if names and facts.source.cells and parent.value is node:
            read = reads_of_target(target, parent, scope, program)
            return bool(read) and all(is_shown(s.node, s.scope, program, names - 1) for s in read)
    return False


def _is_printed(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and last_name(value.func) in ("print", "display")


def _is_taken(site: Site) -> bool:
    """Whether this takes batches, and does not only count them, or look at the data set."""
    match site.scope.facts.parents[site.node]:
        case ast.Call(func=function):
            return last_name(function) != "len"
        case ast.Attribute(attr="dataset"):
            return False
    return True


def _is_looked_at(site: Site, loop: ast.stmt | None, program: Program) -> bool:
    facts = site.scope.facts
    node, parent = site.node, facts.parents[site.node]
    if isinstance(parent, ast.Call) and last_name(parent.func) == "enumerate":
        node, parent = parent, facts.parents[parent]
    match parent:
        case ast.Call(func=ast.Name(id="len")):
            return True
        case ast.keyword():
            return _evaluates(facts.parents[parent])
        case ast.Attribute(attr="dataset"):
            return True
        case ast.Call(func=ast.Name(id="iter")):
            return _is_one_batch(parent, site, loop, program)
        case ast.For() if parent.iter is node:
            return all(last_name(call.func) in _SHOWS for call in calls_in(*parent.body))
        case ast.Call():
            return _evaluates(parent)
    return False


def _evaluates(call: ast.AST) -> bool:
    """`evaluate(model, loader)`, `run_unit_test(model, loader)`"""
    name = last_name(call.func) if isinstance(call, ast.Call) else ""
    return roles.of_function(name, ()) == "evaluation" or name.endswith("_test")


def _is_one_batch(iterator: ast.Call, site: Site, loop: ast.stmt | None, program: Program) -> bool:
    """`next(iter(loader))`, or `batches = iter(loader)` and `next(batches)`, once in the `loop` that makes it."""
    facts = site.scope.facts
    if outermost_loop(facts, iterator) is not loop or (loop is not None and _steps(loop)):
        return False
    match facts.parents[iterator]:
        case ast.Call(func=ast.Name(id="next")):
            return True
        case ast.Assign(targets=[ast.Name() as name]) as statement:
            read = reads_of_target(name, statement, site.scope, program)
            return all(_is_next(s) and outermost_loop(s.scope.facts, s.node) is loop for s in read)
    return False


def _steps(loop: ast.stmt) -> bool:
    return any(isinstance(n, ast.Attribute) and n.attr in ("backward", "step") for n in walk(loop))


def _is_next(site: Site) -> bool:
    parent = site.scope.facts.parents[site.node]
    return (isinstance(parent, ast.Call) and last_name(parent.func) == "next") or (
        isinstance(parent, ast.Attribute) and parent.attr in ("next", "__next__")
    )
