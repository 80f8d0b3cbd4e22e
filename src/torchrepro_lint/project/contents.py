"""What the code of one file says by itself, in short: a search rests on that, where it would else rest on all of the
code of each file that it looks into. Such an answer is plain data, and is the same for the same text.

Knows no other file: where another one could decide, the answer is that it may be.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

from torchrepro_lint.index import ITEM, ModuleFacts, Scope

_TESTING = ("unittest", "pytest")
_TEST_FOLDERS = frozenset({"test", "tests", "testing", "unittest", "unittests", "unit_test", "unit_tests"})
_HARMLESS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Pass)


def may_call(facts: ModuleFacts, name: str, owner: str) -> bool:
    """Whether a call may be one of a function `name` of another file, which is a method where its `owner` is a class;
    or of a class of this name."""
    calls = facts.calls
    sites = (site for spelled in (name, *facts.aliases.get(name, ())) for site in calls.get(spelled, ()))
    return bool(calls.get(ITEM)) or any(
        _may_be_of_object(call.func, owner) or _may_be_others(call.func, scope) for call, scope in sites
    )


def may_pass(facts: ModuleFacts, name: str) -> bool:
    """Whether a call may be given a function `name` of another file."""
    return any(_may_be_others(value, scope) for _, value, scope in facts.passed.get(name, ()))


def calls_any(facts: ModuleFacts, *names: str) -> bool:
    """Whether anything of these names is called."""
    return not facts.calls.keys().isdisjoint(names)


def reads_attribute(facts: ModuleFacts, name: str) -> bool:
    """Whether an attribute of this name is read."""
    return bool(facts.reads(facts.tree).of_attribute(name))


def may_read(facts: ModuleFacts, name: str) -> bool:
    """Whether a variable of this name of another file may be read."""
    reads = facts.reads(facts.tree)
    spelled = (name, *facts.aliases.get(name, ()))
    nodes = (node for each in spelled for node in (*reads.of_name(each), *reads.of_attribute(each)))
    return any(_may_be_others(node, facts.scope_of(node)) for node in nodes)


def called_in(facts: ModuleFacts, name: str) -> tuple[str, ...]:
    """The names that functions called `name` call, in a file that is no test."""
    if is_test(facts):
        return ()
    return tuple(
        called for called, sites in facts.calls.items() if any(scope.function.own_name == name for _, scope in sites)
    )


def only_defines(facts: ModuleFacts, name: str) -> bool:
    """Whether a call of its function `name` runs nothing: one that makes a decorator, say."""
    match facts.scope.bindings.get(name):
        case [binding] if binding.kind == "function":
            function = facts.scope.children[binding.node]
            return not function.runs and not getattr(function.node, "decorator_list", ())
    return False


def start_of(facts: ModuleFacts) -> Literal["", "test", "guard", "main", "options", "script"]:
    """How a program starts in a file: for certain by a `guard` or as a `main` file, which nothing imports; if nothing
    else imports it, as a `script`, or one that reads `options`, as no library does."""
    if is_test(facts):
        return "test"
    if facts.guard is not None:
        return "guard"
    stem, kind = facts.source.path.stem, facts.source.kind
    if kind == "notebook":
        return "main" if any(active(facts)) else ""
    if kind == "stub" or stem == "__init__" or not any(map(_runs_something, active(facts))):
        return ""
    if stem == "__main__":
        return "main"
    if any(b.level for b in facts.imports):
        return ""  # without a guard, a script cannot import relatively
    return "options" if any(scope.kind == "module" for _, scope in facts.calls.get("parse_args", ())) else "script"


def active(facts: ModuleFacts) -> Iterator[ast.stmt]:
    """The statements at the top of a file that are no definitions and imports."""
    return (n for n in facts.tree.body if not isinstance(n, _HARMLESS))


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
    """Whether a file that is named as one of tests is a program: it has options, or nothing that a runner finds, and
    does not lie with tests."""
    if "ArgumentParser" in facts.calls or "parse_args" in facts.calls:
        return True
    if lies_with_tests(facts):
        return False
    return not any(s.name.startswith(("test_", "Test")) for s in facts.scope.children.values())


def lies_with_tests(facts: ModuleFacts) -> bool:
    """Whether a file lies where tests of the code often do, or programs that evaluate a model."""
    return not _TEST_FOLDERS.isdisjoint(facts.source.rel.split("/")[:-1])


def _runs_something(node: ast.stmt) -> bool:
    """Loops, branches and calls do; constants, aliases and docstrings do not."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return any(isinstance(n, ast.Call) for n in ast.walk(node))
    return isinstance(node, ast.For | ast.While | ast.With | ast.If | ast.Try)


def _may_be_of_object(callee: ast.expr, owner: str) -> bool:
    """Whether a callee is a method of something that has a name."""
    return owner == "class" and isinstance(callee, ast.Attribute) and isinstance(callee.value, ast.Name)


def _may_be_others(written: ast.expr, scope: Scope) -> bool:
    """Whether a name, or a chain of attributes, may mean a function or class of another file."""
    root = written
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    owner = scope.binding_scope(root.id)
    if owner is None:
        return bool(scope.facts.star_imports)
    kinds: Iterable[str] = ("import",) if root is written else ("import", "class")  # which may have it from a base
    return any(
        b.kind in kinds or (b.kind == "assign" and isinstance(b.value, ast.Name | ast.Attribute))
        for b in owner.bindings[root.id]
    )


QUESTIONS: dict[str, Callable[..., Any]] = {
    question.__name__: question
    for question in (may_call, may_pass, calls_any, reads_attribute, may_read, called_in, only_defines, start_of)
}
"""By their names, under which they are noted."""
