"""Where programs start: main guards, module-level scripts, notebooks and console scripts."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

from torchrepro_lint.index import ModuleFacts, Scope, last_name
from torchrepro_lint.project.disk import exists
from torchrepro_lint.project.project import Project

# What starts the work of a program, by its name.
_STARTS = re.compile(r"_*(?:main|run|train|fit|test|eval|evaluate|validate|launch|experiment|save)(?:_|$)")
_TESTING = ("unittest", "pytest")
_HARMLESS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Pass)


class Entry(NamedTuple):
    """A program of `facts`: its module runs from top to bottom, then `function` of a console script; `node` is where
    a person says it starts."""

    facts: ModuleFacts
    node: ast.stmt
    is_guarded: bool
    function: Scope | None = None


def entries(facts: ModuleFacts, project: Project) -> list[Entry]:
    """The programs that a file starts; tests are not programs."""
    if is_test(facts):
        return []
    if facts.guard is not None:
        return [Entry(facts, facts.guard, is_guarded=True)]
    commands = project.console_scripts.get(str(facts.source.path), ())
    if commands:
        functions = [s for s in facts.scope.children.values() if s.kind == "function" and s.name in commands]
        return [Entry(facts, f.node, False, f) for f in functions]  # type: ignore[arg-type]
    active = [n for n in facts.tree.body if not isinstance(n, _HARMLESS)]
    if facts.source.kind == "notebook":
        return [Entry(facts, active[0], is_guarded=False)] if active else []
    if facts.source.kind == "stub" or not any(_runs_something(n) for n in active) or _is_imported(facts, project):
        return []
    return [Entry(facts, active[0], is_guarded=False)]


def files_of_programs(facts: ModuleFacts, project: Project) -> set[Path]:
    """The files of the programs that run the code of a file: all that they import. Empty where none in sight does."""
    own = facts.source.path
    loaded = {path: project.load(str(path)) for path in (own, *project.users([own]))}
    starts = [path for path, f in loaded.items() if f is not None and entries(f, project)]
    return {path for start in starts for path in project.reachable(start)}


def is_tried_out(facts: ModuleFacts, project: Project) -> bool:
    """Whether a module that others import shows under its own guard what it has, and starts nothing there."""
    if facts.guard is None or not project.users([facts.source.path]):
        return False
    return not any(_STARTS.match(last_name(n.func)) for n in ast.walk(facts.guard) if isinstance(n, ast.Call))


def is_test(facts: ModuleFacts) -> bool:
    """Files of unit tests, by what they import, where they lie, and the names that test runners look for."""
    stem = facts.source.path.stem
    folders = facts.source.rel.split("/")[:-1]
    if stem in ("conftest", "setup") or "tests" in folders or "test_utils" in folders:
        return True
    if not facts.packages.isdisjoint(_TESTING):
        return True
    return (stem.startswith("test_") or stem.endswith("_test")) and not _is_evaluation(facts)


def _is_evaluation(facts: ModuleFacts) -> bool:
    """Whether a file that is named as one of tests is a program: it has options, or nothing that a runner finds."""
    if "ArgumentParser" in facts.calls or "parse_args" in facts.calls:
        return True
    return not any(s.name.startswith(("test_", "Test")) for s in facts.scope.children.values())


def _runs_something(node: ast.stmt) -> bool:
    """Loops, branches and calls do; constants, aliases and docstrings do not."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return any(isinstance(n, ast.Call) for n in ast.walk(node))
    return isinstance(node, ast.For | ast.While | ast.With | ast.If | ast.Try)


def _is_imported(facts: ModuleFacts, project: Project) -> bool:
    """Whether another file of the project imports this one: then it is a library module."""
    stem = facts.source.path.stem
    if stem in ("__init__", "__main__"):
        return stem == "__init__"
    in_package = project.disk(exists, str(facts.source.path.parent / "__init__.py")) and not _reads_options(facts)
    if in_package or any(b.level for b in facts.imports):
        return True  # a script there has a guard or options, and without one it cannot import relatively
    own = facts.source.path
    others = (path for path in project.text.mentioning(stem) or () if path != own)
    return any(str(own) in project.imported(path) for path in others)


def _reads_options(facts: ModuleFacts) -> bool:
    """Whether a file parses the command line when it is imported, as no library does."""
    return any(scope.kind == "module" for _, scope in facts.calls.get("parse_args", ()))
