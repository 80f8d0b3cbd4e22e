"""Where programs start: main guards, module-level scripts, notebooks and console scripts."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

from torchrepro_lint.index import ModuleFacts, Scope, last_name, walk
from torchrepro_lint.project.contents import active, start_of
from torchrepro_lint.project.disk import exists
from torchrepro_lint.project.project import Project

# What starts the work of a program, by its name.
STARTS = re.compile(r"_*(?:main|run|train|fit|test|eval|evaluate|validate|launch|experiment|save)(?:_|$)")

_ENDS = re.compile(r"_(?:main|run|train)$")  # `cli_main()`


class Entry(NamedTuple):
    """A program of `facts`: its module runs from top to bottom, then `function` of a console script, or the object that
    is called `command`, as `app = typer.Typer()`; `node` is where a person says it starts."""

    facts: ModuleFacts
    node: ast.stmt
    is_guarded: bool
    function: Scope | None = None
    command: str = ""


def entries(facts: ModuleFacts, project: Project) -> list[Entry]:
    """The programs that a file starts; tests are not programs."""
    start, own = start_of(facts), facts.source.path
    if start == "test":
        return []
    if facts.guard is not None:
        return [Entry(facts, facts.guard, is_guarded=True)]
    commands = project.console_scripts.get(str(own), ())
    if commands:
        functions = [s for s in facts.scope.children.values() if s.kind == "function" and s.name in commands]
        objects = [(name, b) for name in commands for b in facts.scope.bindings.get(name, ()) if b.kind == "assign"]
        return [
            *(Entry(facts, f.node, False, f) for f in functions),  # type: ignore[arg-type]
            *(Entry(facts, facts.statement(b.node), False, command=name) for name, b in objects[:1]),
        ]
    return [Entry(facts, next(active(facts)), is_guarded=False)] if _starts(start, own, project) else []


def _starts(start: str | None, path: Path, project: Project) -> bool:
    """Whether a file that starts so is a program without a guard or a command."""
    is_packaged = start == "script" and project.disk(exists, str(path.parent / "__init__.py"))
    if is_packaged and not project.imports_beside(path):
        return False  # part of a package: a script there has a guard, reads options or trains, or is started there
    return start == "main" or (start in ("script", "work") and not _is_imported(path, project))


def is_module(entry: Entry) -> bool:
    """Whether a program is started as a module, `python -m tool.train`, so that the packages that it is in run first: a
    command, a package itself, or a file that could not import what is beside it otherwise."""
    is_command = entry.function is not None or bool(entry.command)
    is_relative = any(binding.level for binding in entry.facts.imports)
    return is_command or is_relative or entry.facts.source.path.name == "__main__.py"


def files_of_programs(facts: ModuleFacts, project: Project) -> set[Path]:
    """The files of the programs that run the code of a file: all that they import. Empty where none in sight does."""
    own = facts.source.path
    starts = [path for path in (own, *project.users([own])) if _is_program(path, project)]
    return set().union(*map(project.reachable, starts))  # which takes the hashes as they are


def _is_program(path: Path, project: Project) -> bool:
    """Whether a file starts a program."""
    if project.console_scripts.get(str(path)):
        facts = project.load(str(path))
        return facts is not None and bool(entries(facts, project))
    start = project.files.says(str(path), start_of)
    return start == "guard" or _starts(start, path, project)


def is_tried_out(facts: ModuleFacts, project: Project) -> bool:
    """Whether a module that others import shows under its own guard what it has, and starts nothing there."""
    if facts.guard is None or not project.users([facts.source.path]):
        return False
    calls = [n for n in walk(facts.guard) if isinstance(n, ast.Call) and not _switches(n, facts)]
    own = {name for name, made in facts.scope.bindings.items() if any(b.kind == "function" for b in made)}
    passed = {last_name(a) for call in calls for a in call.args} & own  # `spawn(main, 8)`
    names = {*(last_name(call.func) for call in calls), *passed}
    return not any(STARTS.match(name) or _ENDS.search(name) for name in names)


def _switches(call: ast.Call, facts: ModuleFacts) -> bool:
    """Whether a call only switches a model to its training: `model.train()`, which `model.eval()` does back, or is
    `model(x)` done with."""
    match call.func:
        case ast.Attribute(value=model, attr="train" | "eval") if not call.args and not call.keywords:
            other = "eval" if call.func.attr == "train" else "train"
            back = (c.func for c, _ in facts.calls.get(other, ()) if isinstance(c.func, ast.Attribute))
            is_called = isinstance(model, ast.Name) and model.id in facts.calls
            return is_called or any(ast.unparse(b.value) == ast.unparse(model) for b in back)
    return False


def _is_imported(own: Path, project: Project) -> bool:
    """Whether another file of the project imports this one: then it is a library module."""
    others = (path for path in project.text.mentioning(own.stem) or () if path != own)
    return any(str(own) in project.imported(path) for path in others)
