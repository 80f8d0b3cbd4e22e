"""What a value is when the program runs as it is configured by default, with configuration files that its user may
override or choose: Hydra's, those that an option names, those that the command line is merged into.

Values travel by the ways of `evaluate`, and by a few more for which it has no answer.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.abstract_values import Constant, Display, Origin, is_configured
from torchrepro_lint.dataflow.binding import passed_by_name
from torchrepro_lint.dataflow.configured_values import rows
from torchrepro_lint.dataflow.evaluate import CallersOf, Values
from torchrepro_lint.dataflow.grafts import Graft, Tree, built, merge, written_entries
from torchrepro_lint.dataflow.hydra import composed
from torchrepro_lint.dataflow.sites import CallSite, Site
from torchrepro_lint.index import Binding, FunctionNode, ModuleFacts, Scope, keyword_value
from torchrepro_lint.project.contents import is_test
from torchrepro_lint.project.project import Project

SUFFIXES = (".yaml", ".yml")
MAX_NESTED = 4
MAX_PRIMARY = 16  # configurations of which a user names one
TARGETS = ("_target_", "target", "cls", "class")  # the others until Hydra 1.0


class Instantiation(NamedTuple):
    """A class or function that Hydra calls, with the mapping of the configuration that names it and its arguments;
    what the code passes besides goes to the outermost."""

    target: str | Scope
    mapping: Site
    is_outermost: bool


class Defaults(Values):
    """Values by default. Where they are known, the user can still choose others. What tests of the project pass is no
    default."""

    are_defaults = True

    def __init__(self, project: Project, callers_of: CallersOf) -> None:
        super().__init__(project, lambda function: _outside_tests(callers_of(function)))

    def __call__(self, expr: ast.expr, scope: Scope) -> list[Origin]:
        return super().__call__(*expr.site) if isinstance(expr, Graft) else super().__call__(expr, scope)

    def configured_entries(self, expr: ast.expr, scope: Scope) -> list[Display] | None:
        """The mappings of configuration files that an expression is."""
        found = self.value(expr, scope)
        known = [o for o in found if isinstance(o, Display) and isinstance(o.node, ast.Dict) and is_configured(o)]
        return known if found and len(known) == len(found) else None

    def instantiated(self, name: str, call: ast.Call, scope: Scope) -> list[Instantiation]:
        """What a call makes, by the targets that its configuration names: what is nested before what it is for."""
        if name not in rows("instantiators") or not call.args:
            return []
        held = self.configured_entries(call.args[0], scope) or ()
        different = {
            ast.dump(display.node): display for display in reversed(held)
        }.values()  # in the order of the files
        return [made for display in reversed(different) for made in self._made(display.node, display.scope, scope, 0)]

    def _made(self, mapping: ast.expr, written: Scope, scope: Scope, depth: int) -> Iterator[Instantiation]:
        entries = dict(written_entries(mapping, written))
        if depth < MAX_NESTED and not _is_constant(entries.get("_recursive_"), False):
            for value in entries.values():
                inner = value.node.elts if isinstance(value.node, ast.List) else [value.node]
                for nested in (n for n in inner if isinstance(n, ast.Dict)):
                    yield from self._made(nested, value.scope, scope, depth + 1)
        for key in TARGETS:
            named = entries[key].node if key in entries else None
            if isinstance(named, ast.Constant) and isinstance(named.value, str):
                target = self._named(named.value, scope)
                if target is not None:
                    yield Instantiation(target, Site(mapping, written), depth == 0)

    def named(self, path: ast.expr, scope: Scope) -> list[str | Scope]:
        """The classes or functions whose full names an expression has as texts."""
        texts = [o.value for o in self.value(path, scope) if isinstance(o, Constant) and isinstance(o.value, str)]
        return [target for text in texts if (target := self._named(text, scope)) is not None]

    def _named(self, dotted: str, scope: Scope) -> str | Scope | None:
        """A class or function by its full name, as an import in the same file would find it."""
        target = self._names.imported(Binding("import", scope.node, target=dotted), scope.facts)
        return target if isinstance(target, str | Scope) else None

    # -- calls ---------------------------------------------------------------------------------------------------
    def _called(self, callee: str | Scope | None, call: ast.Call, scope: Scope) -> list[Origin]:
        for kind, find in (("merges", self._merged), ("compositions", self._of_composition)):
            site = find(call, scope) if isinstance(callee, str) and callee in rows(kind) else None
            if site is not None:
                return self(*site)
        return super()._called(callee, call, scope)

    def _merged(self, call: ast.Call, scope: Scope) -> Site | None:
        tree: Tree = {}
        facts: ModuleFacts | None = None
        for value in call.args:
            origins = [] if isinstance(value, ast.Starred) else self(value, scope)
            if self._is_of_command_line(value, scope):
                continue
            match origins:
                case [Display(node=ast.Dict() as node, scope=where) as origin]:
                    merge(tree, Site(node, where))
                    facts = where.facts if is_configured(origin) else facts
                case _:
                    return None
        return built(tree, facts) if facts is not None else None

    def _is_of_command_line(self, value: ast.expr, scope: Scope) -> bool:
        made = [getattr(origin, "callee", None) for origin in self(value, scope)]
        return bool(made) and all(callee in rows("command_lines") for callee in made)

    # -- Hydra -----------------------------------------------------------------------------------------------------
    def _parameter(self, binding: Binding, scope: Scope) -> list[Origin]:
        sites = self._composed(binding, scope)
        return self._join([self(*site) for site in sites]) if sites else super()._parameter(binding, scope)

    def _composed(self, binding: Binding, function: Scope) -> list[Site]:
        """What Hydra calls a function with that is decorated by `hydra.main`."""
        node = function.node
        if not isinstance(node, FunctionNode) or not node.decorator_list or binding.node not in node.args.args[:1]:
            return []
        outer = function.parent or function
        calls = [d for d in node.decorator_list if isinstance(d, ast.Call)]
        composing = (d for d in calls if self._names.resolve(d.func, outer) in rows("composers"))
        sites = next((self._of_decorator(d, outer) for d in composing), [])
        return sites if len(sites) < 2 else [site for site in sites if _has(site, _read_of(binding.node, function))]

    def _of_decorator(self, decorator: ast.Call, outer: Scope) -> list[Site]:
        given = passed_by_name(decorator, "config_path", "config_name", "version_base")
        for origin in self(given[None], outer) if None in given else ():
            if isinstance(origin, Display) and isinstance(origin.node, ast.Dict) and origin.scope is outer:
                given = {**{key: site.node for key, site in written_entries(origin.node, outer)}, **given}
        folder, name = (self._text(given.get(key), outer) for key in ("config_path", "config_name"))
        if folder is None or name is None:
            return []
        is_named = not folder or self._is_there(folder, name, outer)
        chosen = [] if is_named else self._names_in(self._folder(folder, outer))
        if not chosen and not name:  # before Hydra 1.0 one path named the file
            folder, _, name = folder.rpartition("/")
        since_1_1 = "version_base" in given
        sites = [self._composed_from(folder, each, outer, since_1_1=since_1_1) for each in chosen or [name]]
        return [site for site in sites if site is not None]

    def _is_there(self, folder: str, name: str, scope: Scope) -> bool:
        return bool(name) and self._configuration(self._folder(folder, scope), name) is not None

    def _names_in(self, folder: Path) -> list[str]:
        """The configurations that a folder has, of which the user names one on the command line; none where they are
        many."""
        place = os.path.normpath(folder)
        found = [facts.source.path for facts in self._project.configurations.every_yaml() or ()]
        inside = [path.stem for path in found if str(path.parent) == place]
        return inside if len(inside) <= MAX_PRIMARY else []

    def _of_composition(self, call: ast.Call, scope: Scope) -> Site | None:
        """What `compose("config")` gives, where the file initialises Hydra once, and nothing is overridden."""
        given = passed_by_name(call, "config_name", "overrides")
        overrides = given.get("overrides")
        if overrides is not None and not (isinstance(overrides, ast.List) and not overrides.elts):
            return None
        known = rows("initializers")
        sites = [site for name in catalogue.last_parts(known) for site in scope.facts.calls.get(name, ())]
        found = [(c, where, self._names.resolve(c.func, where)) for c, where in sites]
        initial = [(c, where, name) for c, where, name in found if isinstance(name, str) and name in known]
        if len(initial) != 1:
            return None
        first, where, initializer = initial[0]
        passed = keyword_value(first, known[initializer]["argument"]) or (first.args[0] if first.args else None)
        folder, name = self._text(passed, where), self._text(given.get("config_name"), scope)
        return self._composed_from(folder, name, scope) if folder and name else None

    def _composed_from(self, folder: str, name: str, scope: Scope, *, since_1_1: bool = False) -> Site | None:
        base = self._folder(folder, scope)
        find, options = (lambda of: self._configuration(base, of)), (lambda group: self._names_in(base / group))
        return composed(name, find, options, since_1_1=since_1_1)

    def _folder(self, folder: str, scope: Scope) -> Path:
        return Path(folder) if Path(folder).is_absolute() else scope.facts.source.path.parent / folder

    def _text(self, value: ast.expr | None, scope: Scope) -> str | None:
        """A text argument; empty where it is left out or None."""
        if value is None or (isinstance(value, ast.Constant) and value.value is None):
            return ""
        found: Sequence[str] = self.configured.path_of(value, scope)
        return found[0] if len(found) == 1 and "\0" not in found[0] else None

    def _configuration(self, folder: Path, name: str) -> ModuleFacts | None:
        stem = _without_suffix(name)
        found = (self._project.configurations.read(str(folder / f"{stem}{suffix}")) for suffix in SUFFIXES)
        return next((facts for facts in found if facts is not None), None)


def _read_of(parameter: ast.AST, function: Scope) -> set[str]:
    """The entries of a configuration, not its methods, that the function reads which is called with it."""
    name, parents = getattr(parameter, "arg", ""), function.facts.parents
    reads = [parents.get(read) for read in function.facts.reads(function.node).of_name(name)]
    return {n.attr for n in reads if isinstance(n, ast.Attribute) and getattr(parents.get(n), "func", None) is not n}


def _has(site: Site, entries: Set[str]) -> bool:
    keys = site.node.keys if isinstance(site.node, ast.Dict) else []
    return entries <= {key.value for key in keys if isinstance(key, ast.Constant)}


def _without_suffix(name: str) -> str:
    return name.rsplit(".", 1)[0] if name.endswith(SUFFIXES) else name


def _is_constant(site: Site | None, value: object) -> bool:
    return site is not None and isinstance(site.node, ast.Constant) and site.node.value is value


def _outside_tests(calls: list[CallSite] | None) -> list[CallSite] | None:
    """The calls that are not in tests, if there are any."""
    return [site for site in calls or () if not is_test(site[1].facts)] or calls
