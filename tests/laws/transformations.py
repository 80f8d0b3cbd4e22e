"""Changes of a program that keep what it does: a comment, dead code, another file, a function extracted, moved or
renamed. The laws say that the findings stay the same, up to place.

Each transformation takes the files of a program and a source of choices, and gives the changed files, or None where it
has nothing to change. Knows nothing of the linter.
"""

from __future__ import annotations

import ast
import builtins
import random
import re
from collections.abc import Callable, Iterator, Mapping

Files = Mapping[str, str]
Transformation = Callable[[Files, random.Random], "dict[str, str] | None"]
_BUILTINS = frozenset(dir(builtins))
_FREE = "quark"  # the beginning of new names, which no program uses and which says nothing
_LEAVES = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal,
           ast.NamedExpr, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef,
           ast.Delete, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Try)  # fmt: skip


def comments(files: Files, choose: random.Random) -> dict[str, str] | None:
    """A comment above some statements."""
    name = _one(files, choose)
    lines = files[name].splitlines(keepends=True)
    tops = [n.lineno - 1 for n in ast.parse(files[name]).body if not getattr(n, "decorator_list", ())]
    if not tops:
        return None
    for line in sorted(choose.sample(tops, min(3, len(tops))), reverse=True):
        lines.insert(line, "# nothing to see here\n")
    return {**files, name: "".join(lines)}


def dead_code(files: Files, choose: random.Random) -> dict[str, str] | None:
    """A function that nobody calls."""
    name = _one(files, choose)
    tree = ast.parse(files[name])
    place = next((i for i, n in enumerate(tree.body) if _is_guard(n)), len(tree.body))
    made = ast.parse(f"def {_FREE}_{choose.randrange(100)}(first, second=2):\n    return [first, second]\n").body
    if place == len(tree.body) and not any(isinstance(n, ast.FunctionDef | ast.ClassDef) for n in tree.body):
        return None  # a script: what follows its last statement may be where the program ends
    tree.body[place:place] = made
    return {**files, name: ast.unparse(tree) + "\n"}


def unused_file(files: Files, choose: random.Random) -> dict[str, str] | None:
    """A module that nobody imports."""
    made = f"LIMIT = {choose.randrange(9)}\n\n\ndef {_FREE}_clip(value):\n    return min(value, LIMIT)\n"
    return {**files, f"{_FREE}_unused.py": made}


def another_entry(files: Files, choose: random.Random) -> dict[str, str] | None:
    """A program of its own that has nothing to do with the others."""
    body = f"import sys\n\n\ndef {_FREE}_main():\n    print(sys.argv[1:])\n"
    made = f'{body}\n\nif __name__ == "__main__":\n    {_FREE}_main()\n'
    return {**files, f"{_FREE}_entry.py": made}


def rename(files: Files, choose: random.Random) -> dict[str, str] | None:
    """A local variable of a function gets another name."""
    name = _one(files, choose)
    tree = ast.parse(files[name])
    found = [(f, v) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for v in _renamable(f)]
    if not found:
        return None
    function, old = choose.choice(found)
    new = f"{_FREE}{choose.randrange(100)}"
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id == old:
            node.id = new
    return {**files, name: ast.unparse(tree) + "\n"}


def _renamable(function: ast.FunctionDef) -> Iterator[str]:
    """Variables that the function itself assigns, and no function or class in it reads."""
    if any(isinstance(n, _SCOPES) for n in ast.walk(function) if n is not function):
        return
    stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    arguments = {a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg)}
    outer = {name for n in ast.walk(function) if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
    yield from sorted(stored - arguments - outer)


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp,
           ast.GeneratorExp)  # fmt: skip


def extract(files: Files, choose: random.Random) -> dict[str, str] | None:
    """Statements of a function become a function of their own."""
    name = _one(files, choose)
    tree = ast.parse(files[name])
    candidates = [(f, i, j) for f in tree.body if isinstance(f, ast.FunctionDef) for i, j in _extractable(f)]
    if not candidates:
        return None
    function, first, last = choose.choice(candidates)
    part = function.body[first:last]
    arguments = {a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg)}
    reads, writes = _names(part, ast.Load) | _augmented(part), _names(part, ast.Store)
    before = arguments | _names(function.body[:first], ast.Store) | _imported(function.body[:first])
    taken = sorted(reads & before)
    given = sorted(writes & _names(function.body[last:], ast.Load))
    helper = f"{_FREE}_part{choose.randrange(100)}"
    result = ast.Tuple([ast.Name(n) for n in given]) if len(given) > 1 else ast.Name(given[0]) if given else None
    body = [*part, *([ast.Return(result)] if result is not None else [])]
    made = ast.FunctionDef(helper, _arguments(taken), body, [])
    call = ast.Call(ast.Name(helper), [ast.Name(n) for n in taken], [])
    function.body[first:last] = [ast.Assign([result], call) if result is not None else ast.Expr(call)]
    tree.body.insert(tree.body.index(function), made)
    return {**files, name: ast.unparse(ast.fix_missing_locations(tree)) + "\n"}


def _imported(body: list[ast.stmt]) -> set[str]:
    imports = (n for s in body for n in ast.walk(s) if isinstance(n, ast.Import | ast.ImportFrom))
    return {(alias.asname or alias.name).partition(".")[0] for node in imports for alias in node.names}


def _extractable(function: ast.FunctionDef) -> Iterator[tuple[int, int]]:
    """Runs of plain statements whose every value is bound before, whichever way was taken."""
    body = function.body
    for first in range(len(body)):
        for last in range(first + 1, min(first + 4, len(body) + 1)):
            part = body[first:last]
            if any(isinstance(n, _LEAVES) for s in part for n in ast.walk(s)) or _is_docstring(part[0]):
                break
            plain = all(isinstance(s, ast.Assign | ast.Expr | ast.AugAssign) for s in part)
            if plain and not any(isinstance(n, ast.Name) and n.id == "super" for s in part for n in ast.walk(s)):
                yield first, last


def inline(files: Files, choose: random.Random) -> dict[str, str] | None:
    """A function without parameters that one statement calls is written where it is called."""
    name = _one(files, choose)
    tree = ast.parse(files[name])
    found = [(f, body, i) for f in tree.body if isinstance(f, ast.FunctionDef) and (spot := _only_call(f, files, tree))
             for body, i in [spot]]  # fmt: skip
    if not found:
        return None
    function, body, place = choose.choice(found)
    inner = [s for s in function.body if not _is_docstring(s)]
    body[place : place + 1] = inner or [ast.Pass()]
    tree.body.remove(function)
    return {**files, name: ast.unparse(tree) + "\n"}


def _only_call(function: ast.FunctionDef, files: Files, tree: ast.Module) -> tuple[list[ast.stmt], int] | None:
    """Where `f()` stands as a statement of another function of the file, when nothing else mentions `f`."""
    a = function.args
    parameters = [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg]
    if any(p is not None for p in parameters) or function.decorator_list or function.name.startswith("test"):
        return None
    if any(
        isinstance(n, ast.Return | ast.Yield | ast.YieldFrom | ast.Global | ast.Nonlocal) for n in ast.walk(function)
    ):
        return None
    if sum(len(re.findall(rf"\b{function.name}\b", text)) for text in files.values()) != 2:
        return None
    outer = _names([n for n in tree.body if not isinstance(n, ast.FunctionDef)], ast.Store)
    for caller in tree.body:
        if caller is function or not (isinstance(caller, ast.FunctionDef) or _is_guard(caller)):
            continue
        assert isinstance(caller, ast.FunctionDef | ast.If)
        if (_names(caller.body, ast.Store) | outer) & _names(function.body, ast.Store):
            continue
        for place, statement in enumerate(caller.body):
            match statement:
                case ast.Expr(value=ast.Call(func=ast.Name(id=called))) if called == function.name:
                    return caller.body, place
    return None


def move(files: Files, choose: random.Random) -> dict[str, str] | None:
    """A function moves to a file of its own, which the old one imports."""
    name = _one(files, choose)
    if "/" in name:
        return None
    tree = ast.parse(files[name])
    imports = [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    if any(
        isinstance(n, ast.ImportFrom) and (n.level or n.module == "__future__" or n.names[0].name == "*")
        for n in imports
    ):
        return None
    known = {(a.asname or a.name).split(".")[0] for n in imports for a in n.names} | _BUILTINS
    found = [f for f in tree.body if isinstance(f, ast.FunctionDef) and not f.decorator_list and not _is_named(f)
             and _free_names(f) <= known | {f.name}]  # fmt: skip
    if not found:
        return None
    function = choose.choice(found)
    home = f"{_FREE}_home"
    tree.body[tree.body.index(function)] = ast.ImportFrom(home, [ast.alias(function.name)], 0)
    moved = ast.Module([*imports, function], [])
    return {**files, name: ast.unparse(ast.fix_missing_locations(tree)) + "\n", f"{home}.py": ast.unparse(moved) + "\n"}


def split_class(files: Files, choose: random.Random) -> dict[str, str] | None:
    """The first methods of a class move into a base of it."""
    name = _one(files, choose)
    tree = ast.parse(files[name])
    found = [c for c in tree.body if isinstance(c, ast.ClassDef) and _is_splittable(c)]
    if not found:
        return None
    derived = choose.choice(found)
    half = choose.randrange(1, len(derived.body))
    base = ast.ClassDef(f"{derived.name}{_FREE.title()}", derived.bases, [], derived.body[:half], [])
    tree.body.insert(tree.body.index(derived), base)
    derived.bases, derived.body = [ast.Name(base.name)], derived.body[half:]
    return {**files, name: ast.unparse(ast.fix_missing_locations(tree)) + "\n"}


def _is_splittable(owner: ast.ClassDef) -> bool:
    only_methods = len(owner.body) > 1 and all(isinstance(s, ast.FunctionDef) for s in owner.body)
    return only_methods and not owner.decorator_list and not owner.keywords and "super" not in ast.unparse(owner)


ALL: tuple[Transformation, ...] = (
    comments, dead_code, unused_file, another_entry, rename, extract, inline, move, split_class,
)  # fmt: skip


def plain(files: Files) -> dict[str, str]:
    """The files as `ast` writes them, so that a transformation changes nothing but what it says."""
    return {name: ast.unparse(ast.parse(text)) + "\n" for name, text in files.items()}


# -- syntax ---------------------------------------------------------------------------------------------------------
def _one(files: Files, choose: random.Random) -> str:
    return choose.choice(sorted(files))


def _is_guard(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def _is_named(function: ast.FunctionDef) -> bool:
    """Whether the name of a function says where a program, or a unit test, begins."""
    return function.name.startswith(("main", "test"))


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _names(body: list[ast.stmt], context: type[ast.expr_context]) -> set[str]:
    return {n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}


def _augmented(body: list[ast.stmt]) -> set[str]:
    """The variables that `x += 1` reads."""
    targets = [n.target for s in body for n in ast.walk(s) if isinstance(n, ast.AugAssign)]
    return {t.id for t in targets if isinstance(t, ast.Name)}


def _free_names(function: ast.FunctionDef) -> set[str]:
    own = {a.arg for a in ast.walk(function) if isinstance(a, ast.arg)} | _names([function], ast.Store)
    inner = {n.name for n in ast.walk(function) if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    return _names([function], ast.Load) - own - inner


def _arguments(names: list[str]) -> ast.arguments:
    return ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])
