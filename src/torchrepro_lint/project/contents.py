"""What the code of one file says by itself, in short: a search rests on that, where it would else rest on all of the
code of each file that it looks into. Such an answer is plain data, and is the same for the same text.

Knows no other file: where another one could decide, the answer is that it may be.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Literal, NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.index import ITEM, ModuleFacts, Scope, walk

_TESTING = ("unittest", "pytest")
_COPIES = frozenset({"third_party", "third-party", "thirdparty", "3rdparty", "vendor", "vendored", "_vendor"})
_AS_GIVEN = ("-main", "-master")
_TEST_FOLDERS = frozenset({"test", "tests", "testing", "unittest", "unittests", "unit_test", "unit_tests"})
_HARMLESS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Pass)
_WORK = ("parse_args", "backward", "zero_grad", "fit", "learn", "submit", "optimize", "spawn", "Adam", "AdamW", "SGD",
         "RMSprop")  # fmt: skip
_STARTS = re.compile(r"(?:main|run|train)(?:_\w+)?")
_TRAINS = re.compile(r"(?:pre_?)?train(?:_\w+)?")
_IMPORTS = "import_module"  # which runs a module that is named at run time
_CONFIGURES = ("seed", "cudnn", "determinis", "add_argument")


def may_call(facts: ModuleFacts, name: str, owner: str) -> bool:
    """Whether a call may be one of a function `name` of another file, which is a method where its `owner` is a class;
    or of a class of this name."""
    calls = facts.calls
    sites = (site for spelled in (name, *facts.aliases.get(name, ())) for site in calls.get(spelled, ()))
    return bool(calls.get(ITEM)) or any(
        _may_be_of_object(call.func, owner) or _may_be_others(call.func, scope) for call, scope in sites
    )


def passes(facts: ModuleFacts, name: str) -> tuple[tuple[str, int], ...]:
    """The functions `name` of other files that calls may be given, as they are imported: the module with the function,
    and the number of dots before it; an empty text where the imports alone do not tell."""
    found = (
        _as_imported(value, scope) for _, value, scope in facts.passed.get(name, ()) if _may_be_others(value, scope)
    )
    return tuple(dict.fromkeys(found))


def defines(facts: ModuleFacts, name: str) -> bool:
    """Whether its name `name` is one function of its own, and never anything else."""
    return [binding.kind for binding in facts.scope.bindings.get(name, ())] == ["function"]


def calls_any(facts: ModuleFacts, *names: str) -> bool:
    """Whether anything of these names is called."""
    return not facts.calls.keys().isdisjoint(names)


def may_pass(facts: ModuleFacts, function: str, parameter: str, place: str) -> bool:
    """Whether a call of a name may pass a parameter: by keyword, as the argument at `place`, or unpacked."""
    return any(
        len(call.args) > int(place)
        or any(isinstance(argument, ast.Starred) for argument in call.args)
        or any(keyword.arg in (None, parameter) for keyword in call.keywords)
        for call, _ in facts.calls.get(function, ())
    )


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
            function = facts.scope.defined(binding.node)
            return not function.runs and not getattr(function.node, "decorator_list", ())
    return False


def start_of(facts: ModuleFacts) -> Literal["", "test", "guard", "main", "work", "script"]:
    """How a program starts in a file: for certain by a `guard` or as a `main` file, which nothing imports; if nothing
    else imports it, as a `script`, or one that does the `work` of a program, as no library does."""
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
    return "work" if _works_at_top(facts) else "script"


def _works_at_top(facts: ModuleFacts) -> bool:
    """Whether importing a file would read options, train, or run what it calls its work."""
    own = [name for name in facts.calls if _STARTS.fullmatch(name) and defines(facts, name)]
    sites = [site for name in (*_WORK, *own) for site in facts.calls.get(name, ())]
    return any(scope.kind == "module" for _, scope in sites) or _trains_by_import(facts)


def _trains_by_import(facts: ModuleFacts) -> bool:
    """Whether a statement at the top of a file does nothing but call an imported function that is named after training:
    `train_student(model, loader)`, which `train_test_split(rows)` is not, whose result is kept."""
    for name in filter(_TRAINS.fullmatch, facts.calls):
        if [binding.kind for binding in facts.scope.bindings.get(name, ())] == ["import"]:
            sites = facts.calls[name]
            if any(scope.kind == "module" and isinstance(facts.parents[call], ast.Expr) for call, scope in sites):
                return True
    return False


def active(facts: ModuleFacts) -> Iterator[ast.stmt]:
    """The statements at the top of a file that are no definitions and imports."""
    return (n for n in facts.tree.body if not isinstance(n, _HARMLESS))


def is_test(facts: ModuleFacts) -> bool:
    """Files of unit tests, by what they import, where they lie, and the names that test runners look for."""
    *folders, name = facts.source.rel.split("/")
    stem = name.rpartition(".")[0]
    if stem in ("conftest", "setup", "tests") or "tests" in folders or "test_utils" in folders:
        return True
    if stem.endswith("_tests"):  # of several: a program that evaluates is a `_test`
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


def is_a_copy(facts: ModuleFacts) -> bool:
    """Whether a file lies where copies of other projects do, which the next copy writes over: `third_party/`. GitHub
    gives a project as a folder `apex-master`; one that lies at the top may be the whole of this project."""
    folders = facts.source.rel.lower().split("/")[:-1]
    return not _COPIES.isdisjoint(folders) or any(name.endswith(_AS_GIVEN) for name in folders[1:])


def _runs_something(node: ast.stmt) -> bool:
    """Loops, branches and calls do; constants, aliases and docstrings do not."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return any(isinstance(n, ast.Call) for n in walk(node))
    return isinstance(node, ast.For | ast.While | ast.With | ast.If | ast.Try)


def _may_be_of_object(callee: ast.expr, owner: str) -> bool:
    """Whether a callee is a method of something that has a name, or is kept as an attribute of that."""
    if owner != "class" or not isinstance(callee, ast.Attribute):
        return False
    holder = callee.value.value if isinstance(callee.value, ast.Attribute) else callee.value
    return isinstance(holder, ast.Name)


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


def _as_imported(written: ast.expr, scope: Scope) -> tuple[str, int]:
    """What `f` is after `from m import f`, and `m.f` after `import m`."""
    root = written.value if isinstance(written, ast.Attribute) else written
    owner = scope.binding_scope(root.id) if isinstance(root, ast.Name) else None
    bindings = owner.bindings[root.id] if owner is not None and isinstance(root, ast.Name) else []
    if [b.kind for b in bindings] == ["import"]:
        (made,) = bindings
        if isinstance(written, ast.Name) and isinstance(made.node, ast.ImportFrom):
            return made.target, made.level
        if isinstance(written, ast.Attribute) and isinstance(made.node, ast.Import):
            return f"{made.target}.{written.attr}", made.level
    return "", 0


QUESTIONS: dict[str, Callable[..., Any]] = {
    question.__name__: question
    for question in (
        may_call,
        passes,
        defines,
        calls_any,
        may_pass,
        reads_attribute,
        may_read,
        called_in,
        only_defines,
        start_of,
    )
}
"""By their names, under which they are noted."""


# -- what importing it runs -------------------------------------------------------------------------------------------
class Outline(NamedTuple):
    """`imports` are (name, level) in order, and so are those `called`; a file that is not `active` has no other effect
    when it is imported than what these calls have."""

    imports: tuple[tuple[str, int], ...]
    active: bool
    called: tuple[tuple[str, int], ...] = ()


def outline_of(facts: ModuleFacts) -> Outline:
    """The outline of a file."""
    at_top = {node for node, _ in facts.scope.runs}  # also within an `if`, a `try` or a class
    imports = tuple((b.target, b.level) for b in facts.imports if b.node in at_top)
    text = facts.source.text.lower()
    called = None if any(word in text for word in _CONFIGURES) else _called_at_top(facts)
    return Outline(imports, called is None, called or ())


def outline_from(row: Any) -> Outline | None:
    """The same as JSON gives it back."""
    if row is None:
        return None
    imports, active, called = row
    return Outline(_names(imports), bool(active), _names(called))


def _names(rows: Any) -> tuple[tuple[str, int], ...]:
    return tuple((str(name), int(level)) for name, level in rows)


def _called_at_top(facts: ModuleFacts) -> tuple[tuple[str, int], ...] | None:
    """What is imported and called outside of functions, decorators for instance; None where a call there can draw,
    enters code of the file itself, or imports what is named at run time."""
    own = facts.scope.bindings
    found: dict[tuple[str, int], None] = {}
    for name, sites in facts.calls.items():
        bindings = own.get(name, ())
        is_active = _draws(name) or name == _IMPORTS
        matters = is_active or (bindings and bindings[-1].kind in ("function", "class", "import"))
        if not matters or not any(_outside_functions(scope) for _, scope in sites):
            continue
        if is_active or any(b.kind != "import" for b in bindings):
            return None
        found |= dict.fromkeys((b.target, b.level) for b in bindings)
    return tuple(found)


def _outside_functions(scope: Scope) -> bool:
    while scope.kind in ("class", "comprehension") and scope.parent is not None:
        scope = scope.parent
    return scope.kind == "module"


@cache
def _draws(name: str) -> bool:
    """Whether a call that is written with this name may be one that draws or seeds."""
    return name in _drawing_names() or re.fullmatch(catalogue.table("frameworks")["fresh"]["model"], name) is not None


@cache
def _drawing_names() -> frozenset[str]:
    tables = [*catalogue.names("rng", "draws"), *catalogue.names("rng", "methods"), *catalogue.names("rng", "seeders")]
    return frozenset(name.rpartition(".")[2] for name in tables)
