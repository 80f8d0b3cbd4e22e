"""Data loaders and samplers as they are called: whether one shuffles, with whose generator, and with which workers.

Knows the catalogue's loaders and samplers; knows nothing of rules, and nothing of what a data set does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import UNKNOWN, Call, Module, Opaque, Program, Site, remembered, start_of
from torchrepro_lint.dataflow.abstract_values import Constant, Origin, Parameter, Result, Unknown
from torchrepro_lint.dataflow.binding import named_parameters, positional_parameters
from torchrepro_lint.dataflow.conditions import PathCondition, conditions, unequal_to
from torchrepro_lint.dataflow.configured_values import rows
from torchrepro_lint.dataflow.enclosing import ancestors
from torchrepro_lint.dataflow.options import is_of_files, outcome
from torchrepro_lint.dataflow.outcomes import Truth
from torchrepro_lint.elements import Certainty
from torchrepro_lint.index import ModuleFacts, Scope, calls_in, last_name, walk

_NO_SUCH_ARGUMENT = frozenset({"TypeError", "Exception", "BaseException"})  # what a call with an unknown one raises
_GENERATOR_SET = re.compile(r"""["']generator["']|\.generator\s*=[^=]""")
_GLOBAL_GENERATORS = ("torch.default_generator", "torch._C.default_generator")


def loaders() -> Mapping[str, Mapping[str, Any]]:
    """Canonical name -> row, of the loaders that pass their arguments on to `torch.utils.data.DataLoader`."""
    return catalogue.names("loaders", "loaders")


def samplers() -> Mapping[str, Mapping[str, Any]]:
    """Canonical name -> row, of what draws indices or splits and takes a generator."""
    return catalogue.names("loaders", "samplers")


@remembered
def loader_calls(facts: ModuleFacts, program: Program) -> list[Call]:
    """The loaders that a file makes, of derived classes too whose constructors hand their arguments on."""
    found = {id(c.node): c for c in Module(facts, program).calls(loaders().keys())}
    for spelled, sites in facts.calls.items():
        for node, scope in sites if "Loader" in spelled else ():
            owner = program.resolve(node.func, scope)
            if id(node) not in found and isinstance(owner, Scope) and owner.kind == "class":
                handed = handed_on(owner, program)
                if handed is not None:
                    found[id(node)] = Call(node, scope, handed.name, program, subclass=owner)
    return sorted(found.values(), key=lambda c: start_of(c.node))


@remembered
def handed_on(owner: Scope, program: Program) -> Call | None:
    """The `super().__init__(dataset, **kwargs)` of a class derived from a loader, when its constructor leaves it to
    its callers whether the loader shuffles."""
    init = program.names.method(owner, "__init__")
    if init is None or not isinstance(init.node, ast.FunctionDef) or init.node.args.kwarg is None:
        return None
    base = next((b for b in program.external_bases(owner) if b in loaders()), None)
    sites = [node for node, scope in init.facts.calls.get("__init__", ()) if scope is init]
    if base is None or len(sites) != 1 or not _passes_on(sites[0], init.node.args):
        return None
    taken = init.node.args.kwarg.arg
    uses = [n for n in walk(init.node) if isinstance(n, ast.Name) and n.id == taken and not _only_looks(n, init)]
    handed = Call(_as_written(sites[0]), init, base, program)
    shuffle = argument(handed, "shuffle")
    is_left = _taken_by(handed, shuffle) is not None if shuffle is not None else "shuffle" not in named_parameters(init)
    return handed if len(uses) == 1 and is_left else None


def _only_looks(read: ast.Name, init: Scope) -> bool:
    """`"num_workers" in kwargs`, `kwargs["num_workers"]`"""
    match init.facts.parents[read]:
        case ast.Subscript(value=held, ctx=ast.Load()):
            return held is read
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[held]):
            return held is read
    return False


def _taken_by(handed: Call, passed: Site | Opaque | None) -> str | None:
    """The parameter of the constructor that is handed on as it is: `super().__init__(dataset, shuffle=shuffle)`."""
    match passed:
        case Site(node=ast.Name(id=name), scope=scope) if scope is handed.scope:
            bindings = scope.bindings.get(name, ())
            return name if len(bindings) == 1 and bindings[0].kind == "parameter" else None
    return None


def _passes_on(call: ast.Call, taken: ast.arguments) -> bool:
    """Whether a call hands `**kwargs` on, and `*args` either as they are or not at all."""
    starred = [ast.unparse(a.value) for a in call.args if isinstance(a, ast.Starred)]
    unpacked = [ast.unparse(k.value) for k in call.keywords if k.arg is None]
    as_it_is = len(taken.args) == 1 and not taken.kwonlyargs and len(call.args) == 1
    return (
        taken.kwarg is not None
        and unpacked == [taken.kwarg.arg]
        and (not starred if taken.vararg is None else as_it_is and starred == [taken.vararg.arg])
    )


def _as_written(call: ast.Call) -> ast.Call:
    """What a call passes by itself."""
    args = [a for a in call.args if not isinstance(a, ast.Starred)]
    return ast.copy_location(ast.Call(call.func, args, [k for k in call.keywords if k.arg is not None]), call)


def argument(call: Call, name: str) -> Site | Opaque | None:
    """The argument `name` of a loader or sampler."""
    position = _position(call.name, name)
    if call.subclass is None or call.name not in loaders():
        return call.argument(name, position)
    handed = handed_on(call.subclass, call.program)
    if handed is None or call.scope is handed.scope:
        return call.argument(name, position)
    written = handed.argument(name, position)
    taken = _taken_by(handed, written)
    if taken is not None:
        return _given(call, handed.scope, taken)
    if written is not None:
        return written
    takes_args = isinstance(handed.scope.node, ast.FunctionDef) and handed.scope.node.args.vararg is not None
    return call.argument(name, position if takes_args else None)


@cache
def _position(called: str, name: str) -> int | None:
    """Where a loader or sampler takes an argument that is passed by its place."""
    row = loaders().get(called) or samplers()[called]
    position: int | None = row["positions"].get(name) if "positions" in row else row.get(name)
    return position


def _given(call: Call, constructor: Scope, name: str) -> Site | Opaque | None:
    """What a call gives a constructor for its parameter `name`, or the default of that."""
    positional = positional_parameters(constructor)
    given = call.argument(name, positional.index(name) if name in positional else None)
    if given is not None:
        return given
    default = constructor.bindings[name][0].value  # a parameter's is its default
    return Site(default, constructor) if default is not None else None


# -- shuffling ------------------------------------------------------------------------------------------------
def shuffling(call: Call) -> Certainty | None:
    """Whether a loader shuffles by itself: certain, likely (an expression decides), or None."""
    return _shuffling(call, call.program)


@remembered
def _shuffling(call: Call, program: Program) -> Certainty | None:
    sampler = _sampler_given(call)
    shuffle = argument(call, "shuffle")
    if sampler is True or not isinstance(shuffle, Site) or _is_denied(shuffle.node, call):
        return None
    truth = outcome(shuffle.node, shuffle.scope, program)
    is_configured = shuffle.scope.facts.source.kind == "configuration"
    if truth is Truth.NEVER or (truth is Truth.RARELY and (is_configured or is_of_files(*shuffle, program))):
        return None
    if truth is Truth.UNKNOWN and _is_left_off(*shuffle, program):
        return None
    if sampler is None and _is_for_other_calls(shuffle, program):
        return None
    return Certainty.CERTAIN if truth is Truth.ALWAYS and sampler is False else Certainty.LIKELY


def _is_left_off(value: ast.expr, scope: Scope, program: Program) -> bool:
    """Whether a value is off since a parameter is by default, of a function to which nothing in sight passes it."""
    return all(_comes_off(origin, program) for origin in program.origins(_narrowed(value, scope), scope))


def _is_for_other_calls(shuffle: Site, program: Program) -> bool:
    """Whether a loader shuffles only if nobody gives its function a sampler, as some calls do, and if a test that
    nothing in sight decides is met: the calls that leave the sampler out may be those that do not meet it."""
    tests = conditions(*shuffle)
    samplers = [name for c in tests if (name := _left_out(c)) is not None]
    others = [c.test for c in tests if _left_out(c) is None]
    is_given = any(isinstance(o, Result) for name in samplers for o in program.origins(name, shuffle.scope))
    return is_given and any(outcome(test, shuffle.scope, program) is Truth.UNKNOWN for test in others)


def _left_out(condition: PathCondition) -> ast.Name | None:
    """The name that a test finds to be None: `if sampler is None`."""
    match condition.test:
        case ast.Compare(left=ast.Name() as name, ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
            return name if condition.holds else None
    return None


def _narrowed(value: ast.expr, scope: Scope) -> ast.expr:
    """What has to be on for a value to be on: `shuffle` of `shuffle and not is_stream`, or of a parameter that is set
    to that and to nothing else."""
    set_to = [b.value for b in scope.bindings_of(value) if b.kind != "parameter"] if isinstance(value, ast.Name) else []
    match set_to or [value]:
        case [ast.BoolOp(op=ast.And(), values=[first, *_])]:
            return first
    return value


def _comes_off(origin: Origin, program: Program) -> bool:
    match origin:
        case Parameter(name=name, scope=function):
            default = function.bindings[name][0].value
            is_off = isinstance(default, ast.Constant) and not default.value
            return is_off and not program.callers.may_pass(function, name)
        case Constant(value=value):
            return not value
    return False


def _is_denied(value: ast.expr, call: Call) -> bool:
    """Whether a call only comes by where the name that it passes is false: `if shuffle: ... else: call(shuffle)`."""
    tests = conditions(call.node, call.scope) if isinstance(value, ast.Name) else ()
    return any(not c.holds and isinstance(c.test, ast.Name) and c.test.id == ast.unparse(value) for c in tests)


def _sampler_given(call: Call) -> bool | None:
    """Whether a sampler object decides the order; None when it is not known."""
    answers: list[bool | None] = []
    asks_for = loaders().get(call.name, {}).get("makes_sampler")
    if asks_for is not None:
        asked = call.literal(asks_for, _position(call.name, asks_for), default=False)
        answers.append(None if asked is UNKNOWN else bool(asked))
    for name in ("sampler", "batch_sampler"):
        found = argument(call, name)
        answers.append(_is_given_at(found, call) if isinstance(found, Site) else None if found else False)
    return True if True in answers else None if None in answers else False


def _is_given_at(passed: Site, call: Call) -> bool | None:
    """Whether it is, in a call below tests of the value: `if sampler is None: return`."""
    is_one = None in unequal_to(passed.node, call.node, call.scope)
    return True if is_one else _is_given(passed, call.program)


def _is_given(passed: Site, program: Program) -> bool | None:
    """Whether the value is surely not None, surely None, or unknown."""
    found = program.origins(passed.node, passed.scope)
    nothing = [isinstance(o, Constant) and o.value is None for o in found]
    if all(nothing):
        return False
    return None if any(nothing) or any(isinstance(o, Unknown | Parameter) for o in found) else True


# -- generators and workers ------------------------------------------------------------------------------------
def lacks_generator(call: Call) -> bool:
    """Whether a loader or sampler surely draws from the global generator: it is passed none, None, or that one."""
    passed = argument(call, "generator")
    if passed is None:
        return not _makes_do_without(call)
    if passed is UNKNOWN:
        return _unpacks_what_is_read(call)
    if call.program.qualified(passed.node, passed.scope) in _GLOBAL_GENERATORS:
        return True
    return _is_given(passed, call.program) is False


def _unpacks_what_is_read(call: Call) -> bool:
    """Whether all that a call unpacks without being known is part of a configuration file, which holds no generator:
    `**OmegaConf.load(path).loader`."""
    if call.subclass is not None or any(isinstance(a, ast.Starred) for a in call.node.args):
        return False
    if _GENERATOR_SET.search(call.facts.source.text) is not None:
        return False
    from torchrepro_lint.dataflow.mappings import entries_of  # few calls unpack

    unpacked = [k.value for k in call.node.keywords if k.arg is None]
    open_ones = [v for v in unpacked if entries_of(v, call.scope, call.program) is None]
    return all(_is_read(v, call.scope, call.program) for v in open_ones)


def _is_read(value: ast.expr, scope: Scope, program: Program) -> bool:
    """Whether a value is a part of what a program reads from a file, or Hydra composes."""
    while isinstance(value, ast.Attribute | ast.Subscript):
        value = value.value
    read = {name for kind in ("readers", "merges", "compositions") for name in rows(kind)}
    if program.is_made_by(read, value, scope):
        return True
    function = scope.binding_scope(value.id) if isinstance(value, ast.Name) else None
    if function is None or [b.kind for b in function.bindings_of(value)] != ["parameter"]:
        return False
    made = (d.func if isinstance(d, ast.Call) else d for d in function.decorators)
    return any(program.qualified(d, function.parent or function) in rows("composers") for d in made)


def _makes_do_without(call: Call) -> bool:
    """Whether a call stands in for one that passes a generator and failed: in the `except` of a `try` around that."""
    child: ast.AST = call.node
    for holder in ancestors(call.node, call.scope) if call.facts.in_handler(call.node) else ():
        if isinstance(holder, ast.Try) and isinstance(child, ast.ExceptHandler) and child.type is not None:
            caught = {last_name(n) for n in walk(child.type) if isinstance(n, ast.Name | ast.Attribute)}
            tried = (c for c in calls_in(*holder.body) if last_name(c.func) == last_name(call.node.func))
            return bool(caught & _NO_SUCH_ARGUMENT) and any(k.arg == "generator" for c in tried for k in c.keywords)
        child = holder
    return False


def workers(call: Call) -> bool | None:
    """Whether a loader surely has (True), surely has not (False), or may have (None) worker processes."""
    row = loaders()[call.name]
    number, method = argument(call, "num_workers"), argument(call, "worker_method")
    if number is None or row["workers"] == "threads" or method is not None:
        return False
    if number is UNKNOWN:
        return None
    return outcome(number.node, number.scope, call.program).certain


def is_single_worker(call: Call) -> bool:
    """Whether a loader has one worker process, which holds the only copy of its data set."""
    number = argument(call, "num_workers")
    return isinstance(number, Site) and call.program.literal(number.node, number.scope) == 1


def lacks_worker_init(call: Call) -> bool:
    """Whether the workers surely run without a `worker_init_fn`."""
    if loaders()[call.name]["workers"] != "unseeded":
        return False
    passed = argument(call, "worker_init_fn")
    return passed is None or (isinstance(passed, Site) and _is_given(passed, call.program) is False)
