"""Where the work of a program begins: which of its first statements only set things up, reading options, naming
constants, choosing a device.

Whatever cannot be seen through is work: it may draw.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Program, remembered
from torchrepro_lint.dataflow.abstract_values import Constant, Display, Origin, Result
from torchrepro_lint.dataflow.enclosing import ONLY_BINDS, run_with
from torchrepro_lint.index import FunctionNode, Scope, walk
from torchrepro_lint.project.names import Variable
from torchrepro_lint.rng.draws import draw_at, draw_of
from torchrepro_lint.seeding.discarded import is_besides
from torchrepro_lint.seeding.run_by import commands

MAX_DEPTH = 5  # of functions that read options
_OF_FILE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# What runs the one function that it is given, with options as its arguments.
_OF_OPEN_FILES = frozenset({"open", "read", "readline", "readlines", "write", "flush", "close"})
# What of a parser of options takes options as well: docs.python.org/3/library/argparse.html#other-utilities
_PARSES = frozenset({"parse_args", "parse_known_args"})
_PARTS = frozenset({"add_argument_group", "add_mutually_exclusive_group", "add_subparsers", "add_parser"})


class Beginning(NamedTuple):
    """The first statement of `body`, which runs in `scope`, that may draw; None where none does. With `is_shared`,
    other programs start with the same body."""

    scope: Scope
    body: Sequence[ast.stmt]
    statement: ast.stmt | None
    is_shared: bool = False


def beginnings(
    scope: Scope, body: Sequence[ast.stmt], works: Collection[ast.AST], program: Program
) -> Iterator[Beginning]:
    """Where the work begins in a body, and then within the function that this runs, if nothing else runs before it:
    outermost first. `works` are calls and imports that are known to be work."""
    is_shared = False
    for _ in range(MAX_DEPTH):
        statement = next((s for s in body if _is_work(s, scope, works, program)), None)
        yield Beginning(scope, body, statement, is_shared)
        inner = _entered(statement, scope, works, program)
        if inner is None or (inner.facts is not scope.facts and _goes_on(body, statement, scope, works, program)):
            return
        is_shared = is_shared or _is_started_elsewhere(inner, program)
        scope, body = inner, inner.node.body  # type: ignore[attr-defined]


def _goes_on(
    body: Sequence[ast.stmt], statement: ast.stmt | None, scope: Scope, works: Collection[ast.AST], program: Program
) -> bool:
    """Whether a body does more work after a statement: then a function of another file that this calls is not all of
    the program, but a part that others may share."""
    later = body[body.index(statement) + 1 :] if statement is not None else ()
    return any(_is_work(s, scope, works, program) for s in later)


def _is_work(statement: ast.stmt, scope: Scope, works: Collection[ast.AST], program: Program) -> bool:
    if isinstance(statement, ONLY_BINDS):
        return statement in works
    calls = list(_calls(statement))
    if any(n in works for n in calls):
        return True
    calls = [n for n in calls if not _stands_above_guard(n, scope, program)]
    return not _prepares(statement, scope, program) and not all(_only_sets_up(n, scope, program, 0) for n in calls)


def _stands_above_guard(call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether a call makes what others import as well, at the top of a file with a main guard: a transform."""
    facts = scope.facts
    if scope.kind != "module" or facts.guard is None or facts.in_guard(call):
        return False
    made = tuple(catalogue.table("callables")["set_up"]["above_guard"])
    return (program.callee(call, scope) or "").startswith(made)


def _prepares(statement: ast.stmt, scope: Scope, program: Program) -> bool:
    """Whether a statement above the definitions of a file makes a library ready, with nothing of the program's own:
    `pynvml.nvmlInit()`; or one reads an option that is written as a literal: `args.size = eval(args.size)`."""
    match statement:
        case ast.Expr(value=ast.Call(args=args, keywords=keywords) as call) if scope.kind == "module":
            given = (*args, *(k.value for k in keywords))
            name = program.callee(call, scope)
            is_above = any(isinstance(s, _OF_FILE) and s.lineno > statement.lineno for s in scope.facts.tree.body)
            is_of_library = name is not None and draw_of(program, name, call, scope) is None and not _is_never(name)
            return is_above and is_of_library and all(isinstance(a, ast.Constant) for a in given)
        case ast.Assign(targets=[target], value=ast.Call(func=ast.Name(id="eval"), args=[text])):
            return ast.unparse(target) == ast.unparse(text)
        case ast.If() | ast.For() | ast.With() | ast.Expr():
            return not filled_options(statement).isdisjoint(scope.bindings)
    return False


def filled_options(statement: ast.stmt) -> set[str]:
    """The options that a statement gives other values by their names, as from a file: `setattr(args, key, value)`,
    `args.__dict__[key] = value`, `vars(args).update(given)`."""
    found: set[str] = set()
    for node in walk(statement) if isinstance(statement, ast.If | ast.For | ast.With | ast.Expr) else ():
        match node:
            case ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id=name), *_]):
                found.add(name)
            case ast.Subscript(value=held, ctx=ast.Store()) | ast.Attribute(value=held, attr="update"):
                match held:
                    case (
                        ast.Attribute(value=ast.Name(id=name), attr="__dict__")
                        | ast.Call(func=ast.Name(id="vars"), args=[ast.Name(id=name)])
                    ):
                        found.add(name)
    return found


def _entered(statement: ast.stmt | None, scope: Scope, works: Collection[ast.AST], program: Program) -> Scope | None:
    """The project's function that a statement calls, where it does nothing else and no other code calls it."""
    match statement:
        case ast.Expr(value=ast.Call() as call) | ast.Assign(value=ast.Call() as call):
            pass
        case ast.Return(value=ast.Call() as call):
            pass
        case _:
            return None
    function = _started(call, scope, program)
    if function is None or not isinstance(function.node, ast.FunctionDef):
        return None
    if any(isinstance(n, ast.Yield | ast.YieldFrom) for n in walk(function.node)):
        return None
    if any(c in works or not _only_sets_up(c, scope, program, 0) for c in _calls(statement) if c is not call):
        return None
    sites = program.callers_of(function)
    others = [(made, where) for made, where in sites or () if made is not call]
    return function if sites is not None and all(_starts_program(*other, program) for other in others) else None


def _starts_program(call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether a call is what a program of its own begins its work with."""
    facts = scope.facts
    statement = facts.statement(call)
    start = facts.guard or facts.tree
    if facts.parents.get(statement) is not start or not isinstance(statement, ast.Expr) or statement.value is not call:
        return False
    if facts.guard is None and program.project.users([facts.source.path]):
        return False
    return statement is next((s for s in start.body if _is_work(s, facts.scope, (), program)), None)


def _is_started_elsewhere(function: Scope, program: Program) -> bool:
    """Whether the project's installer makes a command of a function, or other programs begin with it."""
    commanded = program.project.console_scripts.get(str(function.facts.source.path), ())
    return function.name in commanded or len(program.callers_of(function) or ()) > 1


def _started(call: ast.Call, scope: Scope, program: Program) -> Scope | None:
    """The project's function that a call is one of, or that a command line runs: `fire.Fire(main)`, `app()`."""
    function = program.resolve(call.func, scope)
    if function in catalogue.names("callables", "command_lines"):
        given = program.given(call, scope)
        return given[0][1] if len(given) == 1 else None
    if isinstance(function, Scope) and function.kind == "function":
        return function
    offered = commands(call, scope, program) if isinstance(function, Variable) else []
    return offered[0][0] if len(offered) == 1 else None


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """The calls that running a node runs, without those in functions that it defines."""
    return (part for part in run_with([node]) if isinstance(part, ast.Call))


def _only_sets_up(call: ast.Call, scope: Scope, program: Program, depth: int) -> bool:
    """Whether a call can neither draw nor seed, whatever it is given."""
    draw = draw_at(call, scope, program)
    if draw is not None:
        return is_besides(draw, program)
    found = program.runs(call, scope)
    if found == ("importlib.reload",) and call.args:  # of a library, as its import
        return isinstance(program.resolve(call.args[0], scope), str)
    if found:
        return all(_is_harmless(callee, program, depth) for callee in found) or _adds_options(call, scope, program)
    function: ast.expr | None = call.func
    if isinstance(function, ast.Name):  # `add = parser.add_argument`
        made, owner = scope.bindings_of(function), scope.binding_scope(function.id)
        function, scope = made[0].value if len(made) == 1 and not made[0].path else None, owner or scope
    if not isinstance(function, ast.Attribute):
        return False
    if function.attr in _PARSES:  # whatever it is that reads the options
        return True
    if function.attr in _OF_OPEN_FILES and not program.project.text.defines_function(function.attr):
        return True
    return program.is_of_builtin(function.attr) or _holds_plain(function.value, scope, program, depth)


def _adds_options(call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether a library's function is given a parser of options, and nothing else: `deepspeed.add_config_arguments`."""
    if not isinstance(program.callee(call, scope), str) or len(call.args) != 1 or call.keywords:
        return False
    made = program.origins(call.args[0], scope)
    return bool(made) and all(isinstance(o, Result) and str(o.callee).endswith("ArgumentParser") for o in made)


def _holds_plain(value: ast.expr, scope: Scope, program: Program, depth: int) -> bool:
    """Whether the methods of a value set up as well."""
    while isinstance(value, ast.Attribute) and value.attr == "parent":  # Path(__file__).parent.parent
        value = value.value
    made = program.origins(value, scope)
    return depth <= MAX_DEPTH and bool(made) and all(_is_plain(origin, program, depth) for origin in made)


def _is_plain(origin: Origin, program: Program, depth: int) -> bool:
    """Whether an object is a literal, or was made by what sets up: a parser of options, a group of that."""
    match origin:
        case Constant() | Display():
            return True
        case Result(callee=str() as name):
            return _is_quiet(name) or _adds_options(origin.node, origin.scope, program)
        case Result(callee=Scope(kind="function") as function):
            return _sets_up(function, program, depth + 1)
        case Result(callee=Scope(kind="class") as owner):  # whose own methods are followed
            bases = program.external_bases(owner)
            return bool(bases) and all(map(_is_quiet, bases))
        case Result(callee=None, node=ast.Call(func=ast.Attribute(value=holder, attr=name)), scope=scope):
            return name in _PARTS and _holds_plain(holder, scope, program, depth + 1)
    return False


def _is_harmless(callee: str | Scope, program: Program, depth: int) -> bool:
    if isinstance(callee, str):
        return _is_quiet(callee)
    if callee.kind == "class":
        method = program.names.class_member(callee, "__init__")
        bases = program.external_bases(callee)
        return all(map(_is_quiet, bases)) and (not isinstance(method, Scope) or _sets_up(method, program, depth + 1))
    return callee.kind == "function" and _sets_up(callee, program, depth + 1)


def _sets_up(function: Scope, program: Program, depth: int) -> bool:
    return depth <= MAX_DEPTH and _function_sets_up(function, depth, program)


@remembered
def _function_sets_up(function: Scope, depth: int, program: Program) -> bool:
    if not isinstance(function.node, FunctionNode):
        return False
    calls = (call for statement in function.node.body for call in _calls(statement))
    return all(_only_sets_up(call, function.facts.scope_of(call), program, depth) for call in calls)


def _is_quiet(name: str) -> bool:
    """Whether an external function neither draws nor seeds, nor runs code that it is given."""
    rows = catalogue.table("callables")["set_up"]
    if _is_never(name):
        return False
    if ".__version__." in name:  # a text
        return True
    known = name.partition(".")[0] in rows["packages"] or name.removesuffix(".__init__") in rows["names"]
    return known or name.startswith(tuple(rows["prefixes"]))


def _is_never(name: str) -> bool:
    return name.startswith(tuple(catalogue.table("callables")["set_up"]["never"]))
