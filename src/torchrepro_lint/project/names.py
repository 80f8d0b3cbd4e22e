"""What a written name means: through imports, aliases and re-exports, across the files of the program.

`resolve` answers with a `Target`: an external dotted name ("torch.utils.data.DataLoader"), the scope of a
function, class or module of the project, or a variable. An ambiguous name resolves to None.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

from torchrepro_lint.index import Binding, FunctionNode, ModuleFacts, Scope
from torchrepro_lint.project.modules import ModuleFinder
from torchrepro_lint.tracking import Memo, Rests, Tracker

MAX_DEPTH = 24
MAX_DERIVED = 16  # classes, and files that have them: what has more is a library's
MAX_STARS = 64  # a module with more `from x import *` is the front of a library: all of it would have to be read
_BUILTINS = frozenset(dir(builtins))
_UNASKED = object()


class Variable(NamedTuple):
    """A name bound to values rather than to one definition."""

    name: str
    scope: Scope
    bindings: tuple[Binding, ...]


Target: TypeAlias = "str | Scope | Variable"


class Names:
    """Resolves names over the modules that `load` gives; `canonical` maps an external name to its usual spelling, and
    `deriving` lists the files with classes that are derived from one of a name."""

    def __init__(
        self,
        finder: ModuleFinder,
        load: Callable[[str], ModuleFacts | None],
        canonical: Callable[[str], str],
        tracker: Tracker,
        deriving: Callable[[str], list[Path]],
    ) -> None:
        self.tracker = tracker
        self._deriving = deriving
        self._derived: Memo[tuple[Scope, ...] | None] = Memo(tracker)
        self._finder = finder
        self._load = load
        self._canonical = canonical
        self._answers: dict[tuple[Scope, str, tuple[str, ...]], Target | None] = {}
        self._holders: dict[tuple[Scope, str], tuple[list[Binding], bool, Variable]] = {}
        self._bases: dict[Scope, list[str | Scope]] = {}
        self._rests: dict[object, Rests] = {}  # what those of these answers rest on that rest on anything
        self._cuts = 0  # how often a bound ended a search

    def forget(self) -> None:
        """Files have changed or were dropped: answers may speak of scopes that are no more."""
        self._answers.clear()
        self._holders.clear()
        self._bases.clear()
        self._rests.clear()
        self._derived.clear()

    def resolve(self, expr: ast.expr, scope: Scope, depth: int = 0) -> Target | None:
        """The target of a name or attribute chain, seen from `scope`."""
        if isinstance(expr, ast.Name) and depth <= MAX_DEPTH:
            return self.lookup(expr.id, scope, (), depth + 1)
        rest: tuple[str, ...] = ()
        node = expr
        while isinstance(node, ast.Attribute):
            rest = (node.attr, *rest)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        if depth > MAX_DEPTH:
            self._cuts += 1
            return None
        return self.lookup(node.id, scope, rest, depth + 1)

    def lookup(self, name: str, scope: Scope, rest: tuple[str, ...] = (), depth: int = 0) -> Target | None:
        """The target of `name.rest...`, seen from `scope`."""
        key = (scope, name, rest)
        known = self._answers.get(key, _UNASKED)
        if known is not _UNASKED:
            if rests := self._rests.get(key):
                self.tracker.rest_on(rests)
            return known  # type: ignore[return-value]
        outer = self.tracker.begin()
        cuts, size = self._cuts, len(self._answers)
        found = self._lookup(name, scope, rest, depth)
        while depth <= 1 and cuts < self._cuts and len(self._answers) > size:
            self._answers.popitem()  # found on the way, too deep to be known for good
        self._answers[key] = found
        if rests := self.tracker.end(outer):
            self._rests[key] = rests
        return found

    def _lookup(self, name: str, scope: Scope, rest: tuple[str, ...], depth: int) -> Target | None:
        owner = scope.binding_scope(name)
        if owner is None:
            return self._unbound(name, scope.facts, rest, depth)
        bindings, are_one, variable = self._held(name, owner)
        first = bindings[0]
        if first.kind == "import" and are_one:
            return self.imported(first, owner.facts, rest, depth)
        target: Target | None = None
        if len(bindings) == 1:
            if first.kind in ("function", "class"):
                target = owner.defined(first.node)
            elif first.kind == "assign" and isinstance(first.value, ast.Name | ast.Attribute):
                target = self.resolve(first.value, owner, depth + 1)
        if target is None or isinstance(target, Variable):
            target = variable
        return self.members(target, rest, depth)

    def _held(self, name: str, owner: Scope) -> tuple[list[Binding], bool, Variable]:
        """What binds a name, without stand-ins, and whether all of it imports the same; the name as a variable."""
        key = (owner, name)
        if key not in self._holders:
            bindings = owner.bindings[name]
            kept = _primary(bindings, owner.facts)
            are_one = len({(b.target, b.level) for b in kept}) == 1
            self._holders[key] = kept, are_one, Variable(name, owner, tuple(bindings))
        return self._holders[key]

    def members(self, target: Target | None, rest: tuple[str, ...], depth: int = 0) -> Target | None:
        """Follow attribute names from a target."""
        for i, name in enumerate(rest):
            match target:
                case str():
                    return self._canonical(".".join((target, *rest[i:])))
                case Scope(kind="module"):
                    target = self._module_member(target, name, depth)
                case Scope(kind="class"):
                    target = self.class_member(target, name, depth)
                case _:
                    return None
        return target

    def _module_member(self, module: Scope, name: str, depth: int) -> Target | None:
        if depth > MAX_DEPTH:
            self._cuts += 1
            return None
        if name in module.bindings:
            return self.lookup(name, module, (), depth + 1)
        return self._starred(name, module.facts, (), depth + 1)

    def class_member(self, owner: Scope, name: str, depth: int = 0) -> Target | None:
        """A method or class attribute, by the order of the bases."""
        for base in self.bases(owner, depth):
            if isinstance(base, str):
                continue
            found = base.bindings.get(name)
            if found:
                last = found[-1]
                if last.kind in ("function", "class"):
                    return base.children[last.node]
                return Variable(name, base, tuple(found))
        return None

    def method(self, owner: Scope, name: str) -> Scope | None:
        """The function that a class has under this name; None where it has something else, such as a class."""
        found = self.class_member(owner, name)
        return found if isinstance(found, Scope) and found.kind == "function" else None

    def derived(self, owner: Scope) -> tuple[Scope, ...] | None:
        """The classes at the top of a file that are derived from a class, nearest first; None where they are many."""
        return self._derived.get(owner, self._find_derived, (owner,))

    def _find_derived(self, owner: Scope) -> tuple[Scope, ...] | None:
        found: dict[Scope, None] = {}
        pending = [owner]
        while pending and len(found) <= MAX_DERIVED:
            base = pending.pop(0)
            paths = self._deriving(base.own_name)
            if len(paths) > MAX_DERIVED:
                return None
            loaded = [self._load(str(path)) for path in paths]
            classes = (c for facts in loaded if facts is not None for c in facts.scope.children.values())
            new = [c for c in classes if c.kind == "class" and c not in (owner, *found) and base in self.bases(c)]
            found |= dict.fromkeys(new)
            pending += new
        return tuple(found) if len(found) <= MAX_DERIVED else None

    def bases(self, owner: Scope, depth: int = 0) -> list[str | Scope]:
        """The class and all its ancestors, nearest first; external ones as dotted names."""
        if owner in self._bases:
            self.tracker.rest_on(self._rests.get(owner, ()))
            return self._bases[owner]
        outer = self.tracker.begin()
        cuts = self._cuts
        found = self._find_bases(owner, depth)
        rests = self.tracker.end(outer)
        if cuts == self._cuts or not depth:
            self._bases[owner] = found
            if rests:
                self._rests[owner] = rests
        return found

    def classes(self, owner: Scope) -> list[Scope]:
        """The class and those of its ancestors that the project defines, nearest first."""
        return [base for base in self.bases(owner) if isinstance(base, Scope)]

    def _find_bases(self, owner: Scope, depth: int) -> list[str | Scope]:
        found: list[str | Scope] = [owner]
        queue: list[Scope] = [owner]
        while queue and len(found) < 64:
            scope = queue.pop(0)
            assert isinstance(scope.node, ast.ClassDef)
            for expr in scope.node.bases:
                base = self.resolve(expr, scope.parent or scope, depth + 1)
                if isinstance(base, Scope) and base.kind == "class" and base not in found:
                    queue.append(base)
                    found.append(base)
                elif isinstance(base, str):
                    found.append(base)
        return found

    def imported(
        self, binding: Binding, facts: ModuleFacts, rest: tuple[str, ...] = (), depth: int = 0
    ) -> Target | None:
        """The target of `rest` in what an import of `facts` binds."""
        if depth > MAX_DEPTH:
            self._cuts += 1
            return None
        full = ".".join((binding.target, *rest)) if binding.target else ".".join(rest)
        found = self._finder.find(full, binding.level, str(facts.source.path), _modules_in(binding))
        if found is None and (own := _of_itself(full, binding, facts)):
            return self.members(facts.scope, own, depth + 1)
        if found is None:
            return self._canonical(full) if not binding.level else None
        path, remaining = found
        count = full.count(".") + 1 - (remaining.count(".") + 1 if remaining else 0)
        hiding = self._hiding(full.split(".")[:count], binding, facts)
        if hiding is not None:
            package, at = hiding
            return self.members(package, tuple(full.split(".")[at:]), depth + 1)
        module = self._load(path)
        if module is None:
            return None
        return self.members(module.scope, tuple(remaining.split(".")) if remaining else (), depth + 1)

    def _hiding(self, parts: list[str], binding: Binding, facts: ModuleFacts) -> tuple[Scope, int] | None:
        """The package that has something else under the name of its submodule, and where in `parts` that name is:
        after `from .launch import launch` in a package, `package.launch` is the function."""
        for at in range(_modules_in(binding), len(parts)):
            found = self._finder.find(".".join(parts[:at]), binding.level, str(facts.source.path), at)
            package = self._load(found[0]) if found is not None and not found[1] else None
            if package is None or package is facts:
                continue
            if parts[at] in package.scope.bindings or self._is_brought(parts[at], package):
                return package.scope, at
        return None

    def _is_brought(self, name: str, package: ModuleFacts) -> bool:
        """Whether a package takes from a submodule what has its name there: `from .launch import *`."""
        for star in package.star_imports:
            if star.target.rpartition(".")[2] == name:
                place = self._finder.find(star.target, star.level, str(package.source.path), star.target.count(".") + 1)
                module = self._load(place[0]) if place is not None else None
                if module is not None and name in module.scope.bindings:
                    return True
        return False

    def _unbound(self, name: str, facts: ModuleFacts, rest: tuple[str, ...], depth: int) -> Target | None:
        if facts.star_imports and (target := self._starred(name, facts, rest, depth)) is not None:
            return target
        return ".".join(("builtins", name, *rest)) if name in _BUILTINS else None

    def _starred(self, name: str, facts: ModuleFacts, rest: tuple[str, ...], depth: int) -> Target | None:
        """A name that only `from x import *` can have brought."""
        if depth > MAX_DEPTH or len(facts.star_imports) > MAX_STARS:
            self._cuts += 1
            return None
        external: list[str] = []
        for binding in reversed(facts.star_imports):
            count = binding.target.count(".") + 1
            found = self._finder.find(binding.target, binding.level, str(facts.source.path), count)
            if found is None:
                external.append(binding.target)
                continue
            module = self._load(found[0])
            if module is not None and module is not facts:
                target = self._module_member(module.scope, name, depth + 1)
                if target is not None:
                    return self.members(target, rest, depth + 1)
        if len(external) == 1 and name not in _BUILTINS:
            return self._canonical(".".join((external[0], name, *rest)))
        return None


def _modules_in(binding: Binding) -> int:
    """How many parts of what an import binds are modules: all but what is imported from one."""
    return binding.target.count(".") + 1 - isinstance(binding.node, ast.ImportFrom) if binding.target else 0


def is_left_open(method: Scope) -> bool:
    """Whether a method does nothing, or only raises: a subclass is to have another one."""
    node = method.node
    if not isinstance(node, FunctionNode) or method.self_name is None:
        return False
    return all(isinstance(s, ast.Pass | ast.Raise) or _is_said(s) for s in node.body)


def _is_said(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _primary(bindings: list[Binding], facts: ModuleFacts) -> list[Binding]:
    """Without stand-ins: what an `except` arm binds, and `name = None`."""
    if len(bindings) == 1:
        return bindings
    named = [b for b in bindings if not (isinstance(b.value, ast.Constant) and b.value.value is None)]
    return [b for b in named if not facts.in_handler(b.node)] or bindings


def _of_itself(name: str, binding: Binding, facts: ModuleFacts) -> tuple[str, ...]:
    """What a script imports from itself that it defines, `from train import Workspace` in `train.py`, or a module that
    looks up `models.factory.small` in `models/factory.py`."""
    parts, path = tuple(name.split(".")), facts.source.path.with_suffix("").parts
    inside = (parts[n:] for n in range(1, len(parts)) if parts[:n] == path[-n:] and not binding.level)
    made = facts.scope.bindings
    return next((p for p in inside if any(b.kind in ("function", "class") for b in made.get(p[0], ()))), ())
