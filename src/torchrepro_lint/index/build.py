"""`ast` tree -> ModuleFacts, in one walk without recursion, so that deep nesting costs depth of data only."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from torchrepro_lint.elements import Position
from torchrepro_lint.index.binding import all_arguments, bind, bind_parameters, bind_target, enter
from torchrepro_lint.index.compact import KINDS, by_kind, compact
from torchrepro_lint.index.facts import ITEM, Binding, FunctionNode, ModuleFacts, ParseError, Scope, last_name
from torchrepro_lint.source import SourceFile

Pending: TypeAlias = "list[tuple[ast.AST, Scope]]"
_ASYNC = re.compile(r"\basync\b(?!\s+(?:def|for|with)\b)")
_SETTLES = r"seed|determin|generator"  # what other cells may need from one that cannot be read


def build(source: SourceFile, *, is_compact: bool = False) -> ModuleFacts:
    """Parse and index one file, whose tree is small or quickly made. Raises `ParseError`."""
    if source.kind == "configuration":
        from torchrepro_lint.index.configuration import configuration  # few programs have one

        return configuration(source)
    tree = _parse(source)
    facts = ModuleFacts(source, compact(tree, source.whole.count("\n") + 1) if is_compact else tree)
    _walk(facts)
    return facts


def readable(source: SourceFile) -> SourceFile | None:
    """What of a file that is no Python can be read all the same, every place as it was: a notebook without the cells
    that are none, a file from before Python 3.7 that has `async` as a name, one whose formatted strings are of 3.12."""
    if source.cells:
        return _without_broken_cells(source)
    text = _ASYNC.sub("asyn_", source.whole)
    if text != source.whole and _is_read(text):
        return source.with_text(text)
    from torchrepro_lint.source.newer_strings import written_for_older  # few files need it

    text = written_for_older(source.whole)
    return source.with_text(text, is_rewritten=True) if text != source.whole and _is_read(text) else None


def _without_broken_cells(source: SourceFile) -> SourceFile | None:
    """A notebook with blanks for the cells that are no Python, which hardly run either; every place stays what it was.
    None where no other cell is left, or where such a cell, which a newer Python may read, is about seeds."""
    starts = [source.line_starts[line - 1] for line, _ in source.cells]
    cells = [source.whole[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]
    kept = [cell if _is_read(cell) else re.sub(r"[^\r\n]", " ", cell) for cell in cells]
    broken = [cell for cell, left in zip(cells, kept, strict=True) if cell != left]
    text = "".join(kept)
    if not text.strip() or any(re.search(_SETTLES, cell) for cell in broken) or not _is_read(text):
        return None
    return source.with_text(text)


def _is_read(text: str) -> bool:
    try:
        _parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _parsed(text: str, name: str = "<unknown>") -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in the user's strings are not our business
        return ast.parse(text, filename=name)


def _parse(source: SourceFile) -> ast.Module:
    try:
        return _parsed(source.whole, source.rel)
    except SyntaxError as error:
        position = Position(error.lineno, max(error.offset or 1, 1)) if error.lineno else None
        grammar = f"read with the grammar of Python {sys.version_info.major}.{sys.version_info.minor}"
        raise ParseError(f"{error.msg} ({grammar})", position) from None
    except (RecursionError, MemoryError):
        raise ParseError("nested too deeply for this Python's parser", None) from None
    except ValueError as error:
        raise ParseError(str(error), None) from None


# Nodes without children that matter; None stands for a missing key, default or value.
_LEAVES = frozenset(by_kind(dict.fromkeys(
    c for c in KINDS
    if issubclass(c, ast.Name | ast.Constant | ast.Pass | ast.Break | ast.Continue | ast.alias
                  | ast.expr_context | ast.operator | ast.unaryop | ast.cmpop | ast.boolop)
))) | {type(None)}  # fmt: skip
_NOT_NODES = frozenset({"ctx", "op", "ops", "id", "attr", "arg", "kind", "type_comment", "name", "module", "level",
                        "names", "asname", "is_async", "simple", "rest", "type_ignores", "conversion", "kwd_attrs",
                        "type_params", "tag", "lineno"})  # fmt: skip


def _fields_with_nodes(node: type[ast.AST]) -> tuple[str, ...]:
    """The fields that can hold nodes worth a visit, last first (the stack reverses them)."""
    if issubclass(node, ast.Constant | ast.MatchSingleton):
        return ()
    return tuple(reversed([f for f in node._fields if f not in _NOT_NODES]))


_FIELDS = by_kind({kind: _fields_with_nodes(kind) for kind in KINDS})


def _walk(facts: ModuleFacts) -> None:
    """Visit every node once, in source order, each with the scope that it lies in."""
    pending: Pending = [(facts.tree, facts.scope)]
    pop, push, leaves, fields, handlers = pending.pop, pending.append, _LEAVES, _FIELDS, _HANDLERS
    while pending:
        node, scope = pop()
        kind = node.__class__
        handler = handlers.get(kind)
        if handler is not None and handler(node, scope, pending):
            continue
        for name in fields[kind]:
            value: Any = getattr(node, name, None)
            if value.__class__ is list:
                for item in reversed(value):
                    if item.__class__ not in leaves:
                        push((item, scope))
            elif value.__class__ not in leaves:
                push((value, scope))


def _push(nodes: Iterable[ast.AST | None], scope: Scope, pending: Pending) -> None:
    """Queue `nodes` so that the first is visited first."""
    pending.extend((n, scope) for n in reversed([n for n in nodes if n is not None]))


# -- handlers: return True when they queued the children themselves -----------------------------------------
def _function(node: ast.AST, scope: Scope, pending: Pending) -> bool:
    assert isinstance(node, FunctionNode)
    bind(scope, node.name, Binding("function", node))
    inner = enter(scope, "function", node.name, node)
    bind_parameters(node.args, inner)
    _push(node.body, inner, pending)
    annotations = [a.annotation for a in all_arguments(node.args)]
    _push([*node.decorator_list, *node.args.defaults, *node.args.kw_defaults, *annotations, node.returns],
          scope, pending)  # fmt: skip
    return True


def _lambda(node: ast.AST, scope: Scope, pending: Pending) -> bool:
    assert isinstance(node, ast.Lambda)
    inner = enter(scope, "lambda", "<lambda>", node)
    inner.returns.append(node.body)
    bind_parameters(node.args, inner)
    _push([node.body], inner, pending)
    _push([*node.args.defaults, *node.args.kw_defaults], scope, pending)
    return True


def _class(node: ast.AST, scope: Scope, pending: Pending) -> bool:
    assert isinstance(node, ast.ClassDef)
    bind(scope, node.name, Binding("class", node))
    inner = enter(scope, "class", node.name, node)
    _push(node.body, inner, pending)
    _push([*node.decorator_list, *node.bases, *(k.value for k in node.keywords)], scope, pending)
    return True


def _comprehension(node: ast.AST, scope: Scope, pending: Pending) -> bool:
    assert isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp)
    inner = enter(scope, "comprehension", "<comprehension>", node)
    first, *rest = node.generators
    later: list[ast.AST] = list(first.ifs)
    for generator in rest:
        later += [generator.iter, *generator.ifs]
    for generator in node.generators:
        bind_target(inner, generator.target, "loop", node, generator.iter)
    elements = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    _push([*later, *elements], inner, pending)
    _push([first.iter], scope, pending)
    return True


def _call(node: ast.AST, scope: Scope, pending: Pending) -> bool:
    assert isinstance(node, ast.Call)
    site = (node, scope)
    scope.runs.append(site)
    scope.facts.calls.setdefault(last_name(node.func) or ITEM, []).append(site)
    return False


def _assign(node: ast.AST, scope: Scope, pending: Pending) -> bool:
    assert isinstance(node, ast.Assign)
    for target in node.targets:
        bind_target(scope, target, "assign", node, node.value)
    return False


def _annotated(node: ast.AST, scope: Scope, pending: Pending) -> bool:
    assert isinstance(node, ast.AnnAssign)
    if node.value is not None:
        bind_target(scope, node.target, "assign", node, node.value)
    return False


def _rebound(node: ast.AST, scope: Scope, pending: Pending) -> bool:
    assert isinstance(node, ast.AugAssign)
    bind_target(scope, node.target, "other", node, None)
    return False


def _walrus(node: ast.AST, scope: Scope, pending: Pending) -> bool:
    assert isinstance(node, ast.NamedExpr)
    while scope.kind == "comprehension" and scope.parent is not None:
        scope = scope.parent
    bind_target(scope, node.target, "assign", node, node.value)
    return False


def _for(node: ast.AST, scope: Scope, pending: Pending) -> bool:
    assert isinstance(node, ast.For | ast.AsyncFor)
    scope.runs.append((node, scope))
    bind_target(scope, node.target, "loop", node, node.iter)
    return False


def _subscript(node: ast.AST, scope: Scope, pending: Pending) -> bool:
    assert isinstance(node, ast.Subscript)
    if chooses_item(node):
        scope.runs.append((node, scope))
    return False


def chooses_item(node: ast.Subscript) -> bool:
    """Whether an item of what a name holds is read, that is not known to be one of a dictionary."""
    index = node.slice
    is_item = not isinstance(index, ast.Slice | ast.Tuple | ast.Compare) and not (
        isinstance(index, ast.Constant) and isinstance(index.value, str)
    )
    return is_item and isinstance(node.value, ast.Name) and isinstance(node.ctx, ast.Load)


def _with(node: ast.AST, scope: Scope, pending: Pending) -> bool:
    assert isinstance(node, ast.With | ast.AsyncWith)
    for item in node.items:
        scope.runs.append((item, scope))
        if item.optional_vars is not None:
            bind_target(scope, item.optional_vars, "with", node, item.context_expr)
    return False


def _except(node: ast.AST, scope: Scope, pending: Pending) -> bool:
    assert isinstance(node, ast.ExceptHandler)
    scope.facts.handlers.append((node.lineno, node.end_lineno or node.lineno))
    if node.name:
        bind(scope, node.name, Binding("other", node))
    return False


def _capture(node: ast.AST, scope: Scope, pending: Pending) -> bool:
    name = getattr(node, "name", None) or getattr(node, "rest", None)
    if name:
        bind(scope, name, Binding("other", node))
    return False


def _return(node: ast.AST, scope: Scope, pending: Pending) -> bool:
    assert isinstance(node, ast.Return)
    if node.value is not None:
        scope.function.returns.append(node.value)
    return False


def _declare(node: ast.AST, scope: Scope, pending: Pending) -> bool:
    assert isinstance(node, ast.Global | ast.Nonlocal)
    for name in node.names:
        scope.outer[name] = "global" if isinstance(node, ast.Global) else "nonlocal"
    return True


def _if(node: ast.AST, scope: Scope, pending: Pending) -> bool:
    assert isinstance(node, ast.If)
    if scope.kind == "module" and scope.facts.guard is None and is_main_guard(node.test):
        scope.facts.guard = node
    return False


def is_main_guard(test: ast.expr) -> bool:
    """`__name__ == "__main__"`, either way round."""
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    sides = [test.left, test.comparators[0]]
    return any(isinstance(s, ast.Name) and s.id == "__name__" for s in sides) and any(
        isinstance(s, ast.Constant) and s.value == "__main__" for s in sides
    )


def _import(node: ast.AST, scope: Scope, pending: Pending) -> bool:
    assert isinstance(node, ast.Import)
    scope.runs.append((node, scope))
    for alias in node.names:
        target = alias.name if alias.asname else alias.name.partition(".")[0]
        binding = Binding("import", node, target=target)
        bind(scope, alias.asname or target, binding)
        scope.facts.imports.append(Binding("import", node, target=alias.name))
    return True


def _import_from(node: ast.AST, scope: Scope, pending: Pending) -> bool:
    assert isinstance(node, ast.ImportFrom)
    scope.runs.append((node, scope))
    facts = scope.facts
    for alias in node.names:
        if alias.name == "*":
            facts.star_imports.append(Binding("import", node, target=node.module or "", level=node.level))
            continue
        target = f"{node.module}.{alias.name}" if node.module else alias.name
        binding = Binding("import", node, target=target, level=node.level)
        bind(scope, alias.asname or alias.name, binding)
        facts.imports.append(binding)
        if alias.asname and alias.asname != alias.name:
            facts.aliases.setdefault(alias.name, set()).add(alias.asname)
    return True


def _joined(node: ast.AST, scope: Scope, pending: Pending) -> bool:
    assert isinstance(node, ast.JoinedStr)
    scope.facts.f_strings.append(node)
    return False


def _yield(_: ast.AST, scope: Scope, pending: Pending) -> bool:
    scope.function.yields = True
    return False


_HANDLERS: dict[type, Callable[[ast.AST, Scope, Pending], bool]] = {
    ast.FunctionDef: _function, ast.AsyncFunctionDef: _function, ast.Lambda: _lambda, ast.ClassDef: _class,
    ast.ListComp: _comprehension, ast.SetComp: _comprehension, ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension, ast.Call: _call, ast.Assign: _assign, ast.AnnAssign: _annotated,
    ast.AugAssign: _rebound, ast.NamedExpr: _walrus, ast.For: _for, ast.AsyncFor: _for, ast.With: _with,
    ast.AsyncWith: _with, ast.ExceptHandler: _except, ast.MatchAs: _capture, ast.MatchStar: _capture,
    ast.MatchMapping: _capture, ast.Return: _return, ast.Global: _declare, ast.Nonlocal: _declare,
    ast.Yield: _yield, ast.YieldFrom: _yield, ast.If: _if, ast.Import: _import, ast.ImportFrom: _import_from,
    ast.Subscript: _subscript,
}  # fmt: skip
if sys.version_info < (3, 12):
    _HANDLERS[ast.JoinedStr] = _joined
_HANDLERS = by_kind(_HANDLERS)
