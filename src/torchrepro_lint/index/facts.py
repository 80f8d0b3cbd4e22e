"""ModuleFacts: what one file binds, calls and assigns, on top of its `ast` tree.

The tree is kept, and everything that only some files need (parents, exact ranges) is worked out when first
asked for: most files are never asked. Knows nothing of rules, of other files, or of what a name means
outside this one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from torchrepro_lint.elements import Position, Range, spanning
from torchrepro_lint.index.fstrings import repair_positions
from torchrepro_lint.index.parents import Parents
from torchrepro_lint.index.reads import Reads
from torchrepro_lint.source import SourceFile


class ParseError(Exception):
    """The text is not what its file's name says, to the running interpreter; `position` says where, if it is known."""

    def __init__(self, message: str, position: Position | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


BindingKind = Literal["import", "assign", "unpack", "parameter", "function", "class", "loop", "with", "other"]
ScopeKind = Literal["module", "class", "function", "lambda", "comprehension"]
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
LoopNode = ast.For | ast.AsyncFor | ast.While
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
STATEMENT_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


class Binding:
    """One way a name gets its value.

    `value` is the expression it is bound to (an assignment's right side, a parameter's default, the iterable of
    a loop, the context of a with); `path` leads into it when a tuple is unpacked. For an import, `target` is
    the dotted name as written and `level` the number of leading dots.
    """

    __slots__ = ("kind", "level", "node", "path", "target", "value")

    def __init__(
        self,
        kind: BindingKind,
        node: ast.AST,
        value: ast.expr | None = None,
        path: tuple[int, ...] = (),
        target: str = "",
        level: int = 0,
    ) -> None:
        self.kind: BindingKind = kind
        self.node = node
        self.value = value
        self.path = path
        self.target = target
        self.level = level


class Scope:
    """A namespace: module, class, function, lambda or comprehension.

    `runs` has the calls, loops, chosen items, items of `with` and imports that are run where the scope is, in source
    order: those of a function with the classes and comprehensions in it, which share its list. A function that `yields`
    is a generator.
    """

    __slots__ = ("_self_name", "attributes", "bindings", "children", "facts", "kind", "name", "node", "outer", "parent",
                 "returns", "runs", "yields")  # fmt: skip

    def __init__(self, kind: ScopeKind, name: str, node: ast.AST, parent: Scope | None, facts: ModuleFacts) -> None:
        self.kind: ScopeKind = kind
        self.name = name
        self.node = node
        self.parent = parent
        self.facts = facts
        self.bindings: dict[str, list[Binding]] = {}
        self.attributes: dict[str, list[tuple[Binding, Scope]]] = {}
        self.children: dict[ast.AST, Scope] = {}
        self.returns: list[ast.expr] = []
        self.outer: dict[str, Literal["global", "nonlocal"]] = {}
        self.runs: list[tuple[ast.AST, Scope]] = []
        self.yields = False
        self._self_name: str | None = ""

    def __repr__(self) -> str:
        return f"<{self.kind} {self.facts.source.rel}:{self.name}>"

    @property
    def self_name(self) -> str | None:
        """The name of a method's first parameter, for a plain or class method."""
        if self._self_name == "":
            self._self_name = self._find_self_name()
        return self._self_name

    def _find_self_name(self) -> str | None:
        if self.kind != "function" or self.parent is None or self.parent.kind != "class":
            return None
        node = self.node
        assert isinstance(node, FunctionNode)
        parameters = node.args.posonlyargs + node.args.args
        if not parameters or any(dotted(d) == "staticmethod" for d in node.decorator_list):
            return None
        return parameters[0].arg

    def defined(self, node: ast.AST) -> Scope:
        """The function or class whose definition binds a name here, also where one inside says `global` or
        `nonlocal`."""
        return self.children[node] if node in self.children else self.facts.scope_of(node).children[node]

    @property
    def calls(self) -> list[tuple[ast.Call, Scope]]:
        """The calls that are run where the scope is, in source order."""
        return [(node, scope) for node, scope in self.runs if isinstance(node, ast.Call)]

    @property
    def decorators(self) -> list[ast.expr]:
        """What a function or class is decorated with, without the arguments of these."""
        found: list[ast.expr] = getattr(self.node, "decorator_list", [])
        return [d.func if isinstance(d, ast.Call) else d for d in found]

    @property
    def own_name(self) -> str:
        """The name without those of the scopes around it."""
        return self.name.rpartition(".")[2]

    @property
    def method_class(self) -> Scope | None:
        """The class whose `self` is visible here: of this method, or of the one this scope lies in."""
        scope: Scope | None = self
        while scope is not None:
            if scope.self_name:
                return scope.parent
            scope = scope.parent
        return None

    def bindings_of(self, node: ast.AST | None) -> list[Binding]:
        """The bindings of the name that `node`, read here, is; none of a builtin, and of what is no name."""
        owner = self.binding_scope(node.id) if isinstance(node, ast.Name) else None
        return owner.bindings[node.id] if owner is not None and isinstance(node, ast.Name) else []

    def is_self(self, node: ast.expr) -> bool:
        """Whether `node`, read here, is the `self` of the method around it."""
        holder = self.binding_scope(node.id) if isinstance(node, ast.Name) else None
        return holder is not None and isinstance(node, ast.Name) and holder.self_name == node.id

    @property
    def function(self) -> Scope:
        """The innermost function that runs this code, or the module."""
        scope = self
        while scope.kind not in ("function", "module") and scope.parent is not None:
            scope = scope.parent
        return scope

    def binding_scope(self, name: str) -> Scope | None:
        """Where Python would look `name` up from here; None for a builtin or an unknown name."""
        scope: Scope | None = self
        first = True
        while scope is not None:
            if (first or scope.kind != "class") and name in scope.bindings:
                return scope
            if scope.outer.get(name) == "global":
                return self.facts.scope if name in self.facts.scope.bindings else None
            scope, first = scope.parent, False
        return None

    def descend(self) -> Iterator[Scope]:
        """This scope and all inside it, in source order."""
        yield self
        for child in self.children.values():
            yield from child.descend()


ITEM = "[]"


class AttributeSet(NamedTuple):
    """`target = value`, where `target` is an attribute; `value` is None for `del` and augmented forms."""

    target: ast.Attribute
    value: ast.expr | None
    statement: ast.stmt
    scope: Scope


class SubscriptSet(NamedTuple):
    """`target = value`, where `target` is a subscript, mostly with a literal string key."""

    target: ast.Subscript
    value: ast.expr | None
    statement: ast.stmt
    scope: Scope


class ModuleFacts:
    """One file. `calls` and `attribute_sets` are keyed by the last part of the written name, in source order; calls of
    what has no name, `trainers[name](...)` and `made()()`, by ITEM, as `subscript_sets` without a literal key.

    `aliases` maps the last part of an imported or assigned name to the other names it goes by here, so that
    `DataLoader` finds the calls of `DL` after `import DataLoader as DL`. `handlers` has the first and last line of each
    `except` clause. `f_strings` are those whose inner positions `ast` got wrong, until a range is asked for.
    """

    __slots__ = ("_in_handlers", "_item_sets", "_object_sets", "_packages", "_parents", "_passed", "_reads",
                 "_statements", "aliases", "attribute_sets", "blocks", "calls", "conditions", "declared", "definitions",
                 "f_strings", "guard", "handlers", "imported", "imports", "is_own", "kept", "lines", "scope", "source",
                 "star_imports", "statements", "subscript_sets", "tree", "with_arguments")  # fmt: skip

    def __init__(
        self, source: SourceFile, tree: ast.Module, statements: dict[int, tuple[int, int]] | None = None
    ) -> None:
        self.source = source
        self.tree = tree
        self.scope = Scope("module", "", tree, None, self)
        self.lines = source.whole.count("\n")
        self.calls: dict[str, list[tuple[ast.Call, Scope]]] = {}
        self.attribute_sets: dict[str, list[AttributeSet]] = {}
        self.subscript_sets: dict[str, list[SubscriptSet]] = {}
        self.aliases: dict[str, set[str]] = {}
        self.star_imports: list[Binding] = []
        self.imports: list[Binding] = []
        self.handlers: list[tuple[int, int]] = []
        self.f_strings: list[ast.JoinedStr] = []
        self.guard: ast.If | None = None
        self.is_own: Callable[..., bool] = lambda module, **how: False  # whether a module is the project's
        self._parents: Parents | None = None
        self._passed: dict[str, list[tuple[str, ast.expr, Scope]]] | None = None
        self._reads: dict[ast.AST, Reads] = {}
        self.conditions: dict[ast.AST, Any] = {}  # kept by `dataflow.conditions`
        self.blocks: dict[ast.AST, Any] = {}  # by `dataflow.conditions`, too
        self.declared: Any = None  # kept by `project.declarations`
        self.definitions: dict[ast.AST, Any] = {}  # kept by `dataflow.reaching_definitions`
        self.imported: dict[Scope, Any] = {}  # kept by `syntax.imports`
        self.kept: dict[object, Any] = {}  # by `dataflow.store`: answers to questions of this file alone
        self.statements: dict[int, str] = {}  # by `fingerprints`
        self.with_arguments: dict[Any, Any] = {}  # by `syntax.arguments`, for calls of one text
        self._statements = statements
        self._in_handlers: set[int] | None = None
        self._item_sets: dict[str, dict[str, list[SubscriptSet]]] = {}
        self._object_sets: dict[str, dict[str, list[AttributeSet]]] = {}
        self._packages: frozenset[str] | None = None

    def release(self) -> None:
        """Break the cycles between scopes, so that the tree is freed at once. The facts are of no use afterwards."""
        gone = ast.Module([], [])
        for scope in list(self.scope.descend()):
            scope.children, scope.bindings, scope.attributes, scope.parent = {}, {}, {}, None
            scope.node, scope.returns, scope.runs = gone, [], []
        del self.scope
        self.tree = gone
        self.calls, self.attribute_sets, self.subscript_sets, self._parents = {}, {}, {}, None
        self._item_sets, self._object_sets = {}, {}
        self.imports, self.star_imports, self.guard = [], [], None
        self._reads, self.conditions, self.blocks, self.definitions, self.imported, self.kept = {}, {}, {}, {}, {}, {}
        self.declared = self._passed = self._statements = None

    @property
    def packages(self) -> frozenset[str]:
        """The first parts of the names of all modules that the file imports: `torch` of `torch.nn`."""
        if self._packages is None:
            self._packages = frozenset(binding.target.partition(".")[0] for binding in self.imports)
        return self._packages

    def in_guard(self, node: ast.AST) -> bool:
        """Whether `node` lies under `if __name__ == "__main__":`, which only the program's own file runs."""
        guard, line = self.guard, getattr(node, "lineno", 0)
        return guard is not None and guard.lineno <= line <= (guard.end_lineno or 0)

    def in_handler(self, node: ast.AST) -> bool:
        """Whether `node` lies in an `except` clause."""
        if self._in_handlers is None:
            self._in_handlers = {line for first, last in self.handlers for line in range(first, last + 1)}
        return getattr(node, "lineno", 0) in self._in_handlers

    # -- places -------------------------------------------------------------------------------------------
    def range(self, node: ast.AST) -> Range:
        """The exact place of an expression, statement, keyword, argument or import alias."""
        while self.f_strings:
            repair_positions(self.f_strings.pop(), self.source)
        at: Any = node
        first, start, last, end = at.lineno, at.col_offset, at.end_lineno, at.end_col_offset
        if self.source.text.isascii():
            return spanning(first, start + 1, last, end + 1)
        column = self.source.column
        return spanning(first, column(first, start), last, column(last, end))

    def text(self, node: ast.AST) -> str:
        """The source of `node`, as written."""
        text, starts = self.source.text, self.source.line_starts
        if self.f_strings or not text.isascii():
            return self.source.slice(self.range(node))
        at: Any = node
        return text[starts[at.lineno - 1] + at.col_offset : starts[at.end_lineno - 1] + at.end_col_offset]

    # -- what is set ----------------------------------------------------------------------------------------
    def item_sets(self, key: str, name: str) -> Sequence[SubscriptSet]:
        """Where `name[key] = value` is written, in source order."""
        if key not in self._item_sets:
            by_name = self._item_sets[key] = {}
            for item in self.subscript_sets.get(key, ()):
                if isinstance(item.target.value, ast.Name):
                    by_name.setdefault(item.target.value.id, []).append(item)
        return self._item_sets[key].get(name, ())

    def object_sets(self, attribute: ast.Attribute) -> Sequence[AttributeSet]:
        """Where the same attribute is set of an object that is written the same way, in source order."""
        name = attribute.attr
        if name not in self._object_sets:
            by_object = self._object_sets[name] = {}
            for item in self.attribute_sets.get(name, ()):
                by_object.setdefault(ast.dump(item.target.value), []).append(item)
        known = self._object_sets[name]
        return known.get(ast.dump(attribute.value), ()) if known else ()

    # -- the tree downwards and upwards -----------------------------------------------------------------------
    def reads(self, top: ast.AST) -> Reads:
        """What is read inside `top`."""
        if top not in self._reads:
            self._reads[top] = Reads(top)
        return self._reads[top]

    @property
    def passed(self) -> dict[str, list[tuple[str, ast.expr, Scope]]]:
        """What calls are given, by its last name: the last name of what is called, the argument and its scope."""
        if self._passed is None:
            self._passed = {}
            for called, sites in self.calls.items():
                for call, scope in sites:
                    for value in (*call.args, *(keyword.value for keyword in call.keywords)):
                        self._passed.setdefault(last_name(value), []).append((called, value, scope))
            self._passed.pop("", None)
        return self._passed

    def every_call(self) -> Iterator[tuple[ast.Call, Scope]]:
        """All calls of the file, those with the same last name together."""
        return (site for sites in self.calls.values() for site in sites)

    @property
    def parents(self) -> Parents:
        """Child to parent."""
        if self._parents is None:
            self._parents = Parents(self.tree)
        return self._parents

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Parent, grandparent, ... up to the module."""
        return self.parents.above(node)

    def call_of(self, function: ast.AST | None) -> ast.Call | None:
        """The call that `function` is the function of: `f(x)` of `f`."""
        call = self.parents.get(function) if function is not None else None
        return call if isinstance(call, ast.Call) and call.func is function else None

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that `node` is, or is part of."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def scope_of(self, node: ast.AST) -> Scope:
        """The innermost scope that `node` is evaluated in: what a comprehension runs through first lies outside of it,
        and so do the defaults, decorators, annotations and bases of functions and classes."""
        owners = [a for a in self.ancestors(node) if not isinstance(a, ast.Module)]
        scope = self.scope
        for i in range(len(owners) - 1, -1, -1):
            inner = scope.children.get(owners[i])
            if inner is None:
                continue
            if _is_inside(node, owners[:i], owners[i]):
                scope = inner
        return scope

    def statement_lines(self, line: int) -> tuple[int, int]:
        """First and last line of the innermost statement at `line`; of a compound one, only its header."""
        if self._statements is None:
            self._statements = _statements_by_line(self.tree)
        return self._statements.get(line, (line, line))


def _is_inside(node: ast.AST, between: Sequence[ast.AST], owner: ast.AST) -> bool:
    """Whether `node` is evaluated in the scope that `owner` opens; `between` leads from the one to the other."""
    part = between[-1] if between else node
    match owner:
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return owner.generators[0].iter not in (node, *between)
        case ast.Lambda():
            return part is owner.body or isinstance(node, ast.arg)
    return isinstance(part, ast.stmt) or isinstance(node, ast.arg)


def _statements_by_line(tree: ast.Module) -> dict[int, tuple[int, int]]:
    """Of statements that share a line, the one around the others, else the first."""
    found: dict[int, tuple[int, int]] = {}
    pending: list[ast.AST] = list(reversed(tree.body))
    while pending:
        node = pending.pop()
        inner = [n for name in STATEMENT_BODIES for n in getattr(node, name, ())]
        first = _first_line(node)
        last = max(first, min(map(_first_line, inner)) - 1) if inner else _last_line(node)
        for line in range(first, last + 1):
            found.setdefault(line, (first, last))
        pending.extend(reversed(inner))
    return found


def _first_line(node: ast.AST) -> int:
    decorators = getattr(node, "decorator_list", None)
    if isinstance(node, ast.match_case):
        return node.pattern.lineno
    return decorators[0].lineno if decorators else node.lineno  # type: ignore[attr-defined, no-any-return]


def _last_line(node: ast.AST) -> int:
    last = node.body[-1] if isinstance(node, ast.match_case) else node
    return last.end_lineno or 0  # type: ignore[attr-defined]


def last_name(node: ast.AST | None) -> str:
    """`c` for `a.b.c`, `a` for `a`; empty for what is no name and no attribute."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def dotted(node: ast.AST | None) -> str | None:
    """`a.b.c` for a name or a chain of attributes on one, else None."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))


def keyword_value(call: ast.Call, *names: str) -> ast.expr | None:
    """What `call` passes by the first keyword that has one of these names, as it is written."""
    return next((keyword.value for keyword in call.keywords if keyword.arg in names), None)


def arguments_of(call: ast.Call) -> list[ast.expr]:
    """All that a call passes, by position and by keywords."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]
