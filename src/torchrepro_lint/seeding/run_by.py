"""What a framework runs of a project's own code when it is called: the commands of a command line, the hooks of a
Lightning module, the data set of a trainer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Program, remembered, remembered_in_file
from torchrepro_lint.dataflow.abstract_values import Display, Reference, Result
from torchrepro_lint.dataflow.instantiated import interfaces
from torchrepro_lint.index import ModuleFacts, Scope, arguments_of, dotted, last_name
from torchrepro_lint.project.names import Variable
from torchrepro_lint.rng.draws import is_made_by, seeder_methods

Run: TypeAlias = "tuple[Scope, Scope | None]"
"""A function, and the class of the object that it is a method of."""

Decorated: TypeAlias = "tuple[Scope, list[str]]"

IMPORTS = "importlib.import_module"
SETS_DEFAULTS = "set_defaults"  # of a parser: what it is given, the options have as attributes
_ITER = "builtins.iter"
FIRE = ("fire.Fire", "fire.core.Fire", "jsonargparse.CLI", "jsonargparse.auto_cli", "clize.run", "clize.runner.run",
        "defopt.run", "argh.dispatch_commands")  # fmt: skip
MAX_COMMANDS = 64  # that one call may run
_ADDS = ("add_typer", "add_command")
_FEW = 3  # statements of a function that only hands on: a docstring, a print
_LIGHTNING = ("LightningModule", "LightningDataModule")
_HOOKS = ("prepare_data", "setup", "configure_model", "train_dataloader", "configure_optimizers", "on_fit_start",
          "on_train_epoch_start", "training_step", "validation_step")  # fmt: skip
_TRAINED_BY = ("fit", "validate", "LightningCLI")
_OF_TRAINER = {"train_dataset": "__getitem__", "eval_dataset": "__getitem__", "model": "forward",
               "data_collator": "__call__"}  # fmt: skip


@remembered
def commands(call: ast.Call, scope: Scope, program: Program) -> list[Run]:
    """The functions that `app()` may run: those decorated with `@app.command()`; or `globals()[task]()`: all others of
    its file."""
    if _is_dispatch(call, scope):
        functions = scope.facts.scope.children.values()
        return [(f, None) for f in functions if f.kind == "function" and f is not scope.function]
    target = program.resolve(call.func, scope) if isinstance(call.func, ast.Name) else None
    return offered(target, program)


def offered(target: object, program: Program) -> list[Run]:
    """The commands of a group, which is an object or itself a function, and of the groups that are added to it."""
    pending, found = [target], dict[Scope, None]()
    for _ in range(MAX_COMMANDS):
        if not pending:
            break
        match pending.pop(0):
            case Variable(name=name, scope=owner):
                facts = owner.facts
            case Scope(kind="function", name=name, facts=facts):
                pass
            case _:
                continue
        found |= dict.fromkeys(_commands_in(facts).get(name, ()))
        added = [program.resolve(value, facts.scope) for value in _added_to(name, facts)]
        found |= dict.fromkeys(f for f in added if isinstance(f, Scope) and f.kind == "function")
        pending += added
    runs: list[Run] = [(function, None) for function in found]
    return runs[:MAX_COMMANDS]


def is_first(function: Scope) -> bool:
    """Whether a function is run before the command that is asked for: the constructor of an object whose methods are
    offered, what is decorated with `@app.callback()`, and a group itself."""
    decorators = [d.func if isinstance(d, ast.Call) else d for d in function.decorators]
    return function.own_name == "__init__" or any(last_name(d) in ("callback", "group") for d in decorators)


def chosen(function: ast.expr, scope: Scope, program: Program) -> tuple[Scope, ...]:
    """The functions that `args.run()` may run, where the options of commands were given them as
    `parser.set_defaults(run=train)`: in the same file, or in those that it imports."""
    if not isinstance(function, ast.Attribute) or not program.project.text.containing(SETS_DEFAULTS):
        return ()
    return _chosen(function.attr, scope.facts, program)


@remembered
def _chosen(attribute: str, facts: ModuleFacts, program: Program) -> tuple[Scope, ...]:
    files: Iterable[ModuleFacts] = [facts]
    if SETS_DEFAULTS not in facts.calls:
        reachable = program.project.reachable(facts.source.path)
        setting = program.project.text.containing(SETS_DEFAULTS) or ()
        files = program.loaded(path for path in setting if path in reachable)
    kept = (
        program.definition(keyword.value, where)
        for file in files
        for call, where in file.calls.get(SETS_DEFAULTS, ())
        for keyword in call.keywords
        if keyword.arg == attribute
    )
    return tuple(dict.fromkeys(found for found in kept if found is not None))


def decorated_in(facts: ModuleFacts) -> list[Decorated]:
    """The functions at the top of a file that are decorated, and with what."""
    functions = [scope for scope in facts.scope.children.values() if scope.kind == "function"]
    return [(f, [dotted(decorator) or "" for decorator in f.decorators]) for f in functions if f.decorators]


@remembered_in_file
def _commands_in(facts: ModuleFacts) -> dict[str, list[Scope]]:
    """The first functions at the top of a file by the names of the objects that their decorators are of: those of `app`
    are decorated with `@app.command()`."""
    found: dict[str, list[Scope]] = {}
    for function, by in decorated_in(facts):
        for name in dict.fromkeys(written.partition(".")[0] for written in by if "." in written):
            known = found.setdefault(name, [])
            if len(known) < MAX_COMMANDS:
                known.append(function)
    return found


@remembered_in_file
def _added_to(name: str, facts: ModuleFacts) -> list[ast.expr]:
    """The groups of commands that a file adds to a group at its top: `app.add_typer(models)`."""
    calls = (call for adds in _ADDS for call, scope in facts.calls.get(adds, ()) if scope is facts.scope)
    return [call.args[0] for call in calls if call.args and (dotted(call.func) or "").rpartition(".")[0] == name]


def handlers(facts: ModuleFacts, program: Program) -> Iterator[Scope]:
    """The functions of a file that answer requests, once the program serves: `@app.post("/predict")`."""
    frameworks = catalogue.table("frameworks")["web"]["packages"]
    if facts.packages.isdisjoint(frameworks):
        return
    for function, by in decorated_in(facts):
        applications = {name.partition(".")[0] for name in by if "." in name}
        for name in sorted(applications & set(facts.scope.bindings)):
            values = [b.value for b in facts.scope.bindings[name] if isinstance(b.value, ast.Call)]
            if any((program.callee(v, facts.scope) or "").partition(".")[0] in frameworks for v in values):
                yield function
                break


def _is_dispatch(call: ast.Call, scope: Scope) -> bool:
    """Whether a call is all that its function, or the program, does: run the one that is named by an argument."""
    match call.func:
        case ast.Subscript(value=ast.Call(func=ast.Name(id="globals" | "locals")), slice=ast.Name() | ast.Attribute()):
            statement = scope.facts.statement(call)
            body = getattr(scope.facts.parents[statement], "body", [])
            return isinstance(statement, ast.Expr | ast.Return) and body[-1] is statement and len(body) <= _FEW
    return False


def wrappers(function: Scope, program: Program) -> Iterator[Scope]:
    """The project's own code around a decorated function: what its decorators return in its place."""
    for decorator in getattr(function.node, "decorator_list", ()):
        made = decorator.func if isinstance(decorator, ast.Call) else decorator
        target = program.resolve(made, function.parent or function)
        if isinstance(target, Scope) and target.kind == "class":  # as one that derives from `ContextDecorator`
            yield from (method for method, _ in _methods(target, ("__enter__",), program))
        found = [target] if isinstance(target, Scope) and target.kind == "function" else []
        for _ in range(2 if isinstance(decorator, ast.Call) else 1):
            returned = [(outer, r.id) for outer in found for r in outer.returns if isinstance(r, ast.Name)]
            inner = [program.names.lookup(name, outer) for outer, name in returned]
            found = [f for f in inner if isinstance(f, Scope) and f.kind == "function" and f.parent in found]
        yield from found


def may_run(name: str | None, written: str) -> bool:
    """Whether a call of the external `name`, which is `written` so, may be one of a framework that runs more, or of
    Python that runs a method of what it is given."""
    last = name.rpartition(".")[2] if name else written
    is_run = (name is None and written in seeder_methods()) or name == _ITER
    return is_run or name in FIRE or last in _TRAINED_BY or name in catalogue.names("frameworks", "hf_trainers")


@remembered
def run_by(name: str | None, call: ast.Call, scope: Scope, program: Program) -> list[Run]:
    """The project's functions that a framework, or Python itself, runs when the external `name` is called."""
    return list(_run_by(name, call, scope, program))


def _run_by(name: str | None, call: ast.Call, scope: Scope, program: Program) -> Iterator[Run]:
    last = name.rpartition(".")[2] if name else last_name(call.func)
    if name in FIRE:
        yield from _fired(call, scope, program)
    elif name == _ITER:
        for owner in (o for items in call.args[:1] for o in _classes(items, scope, program)):
            yield from _methods(owner, ("__iter__",), program)
    elif name is None and last in seeder_methods():
        yield from _experiments(call, scope, program)
    elif last in _TRAINED_BY:
        hooks = ("__init__", *_HOOKS) if name in interfaces() else _HOOKS
        for owner in (o for v in arguments_of(call) for o in _classes(v, scope, program)):
            if any(base.rpartition(".")[2] in _LIGHTNING for base in program.external_bases(owner)):
                yield from _methods(owner, hooks, program)
    elif name in catalogue.names("frameworks", "hf_trainers"):
        for keyword in (k for k in call.keywords if k.arg in _OF_TRAINER):
            for owner in _classes(keyword.value, scope, program):
                yield from _methods(owner, (_OF_TRAINER[str(keyword.arg)],), program)


def started(facts: ModuleFacts, program: Program) -> Iterator[tuple[Scope, ast.Call]]:
    """The functions that a file runs as soon as it defines them, `@ex.automain`, each with the call that made `ex`."""
    for row in (row for row in catalogue.table("rng")["seeder_methods"] if "starts" in row):
        for function, by in decorated_in(facts):
            for name, _, decorator in (written.rpartition(".") for written in by):
                made = facts.scope.bindings[name][-1].value if name in facts.scope.bindings else None
                is_made = isinstance(made, ast.Call) and program.callee(made, facts.scope) in row["made_by"]
                if decorator in row["starts"] and is_made:
                    yield function, made  # type: ignore[misc]


def deployed(facts: ModuleFacts, program: Program) -> Iterator[tuple[list[Run], bool]]:
    """What a service runs of a file's functions, `@app.function()`, and classes, `@app.cls()`, each with whether it has
    a process of its own."""
    for row in catalogue.table("callables")["deployed"]:
        if facts.packages.isdisjoint(name.partition(".")[0] for name in row["made_by"]):
            continue
        for scope in facts.scope.children.values():
            named = [program.qualified(d, facts.scope) for d in scope.decorators]
            of_app = [d.attr for d in scope.decorators if _is_of_app(d, row, facts, program)]
            if not of_app or not set(named).isdisjoint(row["serves"]):
                continue
            if of_app[0] in row["here"] or of_app[0] in row["functions"]:
                yield [(scope, None)], of_app[0] in row["functions"]
            elif of_app[0] in row["classes"]:
                methods = [(m, program.qualified(d, scope)) for m in scope.children.values() for d in m.decorators]
                runs = [(m, scope) for wanted in row["methods"] for m, name in methods if name == wanted]
                if runs:
                    yield [*_methods(scope, ("__init__",), program), *runs], True


def _is_of_app(
    decorator: ast.expr, row: Mapping[str, Any], facts: ModuleFacts, program: Program
) -> TypeGuard[ast.Attribute]:
    return isinstance(decorator, ast.Attribute) and program.is_made_by(row["made_by"], decorator.value, facts.scope)


def _experiments(call: ast.Call, scope: Scope, program: Program) -> Iterator[Run]:
    """`ex.run()` runs what is decorated with `@ex.main` in the file that makes `ex`."""
    row = seeder_methods()[last_name(call.func)]
    if "runs" not in row or not isinstance(call.func, ast.Attribute):
        return
    if is_made_by(row, call.func.value, scope, program):
        for made in program.results(call.func.value, scope):
            yield from _decorated_by(tuple(row["runs"]), made.scope.facts)


@remembered_in_file
def _decorated_by(decorators: tuple[str, ...], facts: ModuleFacts) -> Sequence[Run]:
    """The functions of a file with one of these decorators, whatever they are methods of: the first of them."""
    last = [(function, [written.rpartition(".")[2] for written in by]) for function, by in decorated_in(facts)]
    return [(function, None) for function, by in last if not set(by).isdisjoint(decorators)][:MAX_COMMANDS]


def _fired(call: ast.Call, scope: Scope, program: Program) -> Iterator[Run]:
    """`fire.Fire(...)`, or jsonargparse's `CLI`, offers a class's methods, the values of a dict or a list, or all
    functions of its file."""
    if not call.args:
        yield from ((f, None) for f in scope.facts.scope.children.values() if f.kind == "function")
        return
    for origin in program.origins(call.args[0], scope):
        match origin:
            case Display(node=ast.Dict(values=values), scope=where):
                yield from _functions(values, where, program)
            case Display(node=ast.List(elts=values) | ast.Tuple(elts=values), scope=where):
                yield from _functions(values, where, program)
            case Reference(target=Scope(kind="class") as owner) | Result(callee=Scope(kind="class") as owner):
                public = [n for n in owner.bindings if n == "__init__" or not n.startswith("_")]
                yield from _methods(owner, sorted(public, key=lambda n: n != "__init__"), program)


def _functions(values: Iterable[ast.expr], scope: Scope, program: Program) -> Iterator[Run]:
    offered = [program.resolve(v, scope) for v in values]
    yield from ((f, None) for f in offered if isinstance(f, Scope) and f.kind == "function")


def _classes(value: ast.expr, scope: Scope, program: Program) -> Iterator[Scope]:
    """The project classes that a value is, or is an instance of."""
    for origin in program.origins(value, scope):
        match origin:
            case Reference(target=Scope(kind="class") as owner) | Result(callee=Scope(kind="class") as owner):
                yield owner


def _methods(owner: Scope, names: tuple[str, ...] | list[str], program: Program) -> Iterator[Run]:
    for name in names:
        method = program.names.method(owner, name)
        if method is not None:
            yield method, owner
