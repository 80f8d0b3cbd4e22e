"""Weights that are kept by the number of an epoch or a step: what reads them, and the loop that goes on from there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchrepro_lint.dataflow import CallSite, Program, remembered, remembered_in_file, start_of
from torchrepro_lint.index import ModuleFacts, Scope, last_name, walk

COUNTED = r"(?i)epoch|step|iter"
_BEGINS = r"(?i)\.(?:start|begin|init\w*|resume|last)_?(?:from_?)?(?:epoch|step|iter)\w*$"  # of options
_TAKEN_UP = r"(?i)^(?:resume|restore|continue)\w*$|checkpoint|ckpt"
SAVES = ("torch.save", "torch.distributed.checkpoint.save", "torch.distributed.checkpoint.state_dict_saver.save")
Counting = ast.For | ast.While


@remembered
def numbered(facts: ModuleFacts, program: Program) -> tuple[tuple[Counting, CallSite], ...]:
    """The loops that begin with a number that the file which is read above has in its name, with what reads it:
    `torch.load(f"model.{args.begin}")` and `for epoch in range(args.begin + 1, epochs)`."""
    found: list[tuple[Counting, CallSite]] = [*_told_by_name(facts, program), *_told_by_user(facts, program)]
    for function, reads in files_read(facts, program).items():
        first: dict[str, ast.Call] = {}  # of those with a name in their path
        for call in reads:
            for path in call.args[:1]:
                for name in _operands(path) | _of_named(path, function):
                    first.setdefault(name, call)
        for node in walk(function.node) if first else ():
            match node:
                case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=[start, _, *_])):
                    named = [first[name] for name in _operands(start) if name in first]
                    above = [call for call in named if call.lineno < node.lineno]
                    found += [(node, (min(above, key=start_of), function))] if above else []
    return tuple(found)


def _told_by_name(facts: ModuleFacts, program: Program) -> Iterator[tuple[Counting, CallSite]]:
    """The same where the name of the file tells the number: `load(files[-1])` and `epoch = int(files[-1][5:9]) + 1`."""
    for told, scope in facts.calls.get("int", ()):
        function = scope.function
        match facts.statement(told):
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]) as statement:
                loops = [n for n in _begun(function).get(ast.unparse(target), ()) if n.lineno > told.lineno]
                files = {ast.unparse(n) for n in walk(told) if isinstance(n, ast.Name | ast.Subscript)} if loops else ()
                given = [call for name in files for call in _given(function).get(name, ())]
                above = [call for call in given if call.lineno < loops[0].lineno and call not in walk(statement)]
                reads = [call for call in above if reads_file(call, scope, program)]
                yield from ((loop, (reads[0], scope)) for loop in loops if reads)


def _told_by_user(facts: ModuleFacts, program: Program) -> Iterator[tuple[Counting, CallSite]]:
    """The same where the user tells the number: `torch.load(args.resume)` and `range(args.start_epoch, epochs)`."""
    for function, reads in files_read(facts, program).items():
        taken_up = [call for call in reads if any(_is_taken_up(path) for path in call.args[:1])]
        for start, loops in _begun(function).items() if taken_up else ():
            if re.search(_BEGINS, start):
                above = ((loop, [call for call in taken_up if call.lineno < loop.lineno]) for loop in loops)
                yield from ((loop, (calls[0], function)) for loop, calls in above if calls)


def _is_taken_up(path: ast.expr) -> bool:
    return isinstance(path, ast.Attribute) and re.search(_TAKEN_UP, path.attr) is not None


@remembered_in_file
def _begun(function: Scope) -> dict[str, list[Counting]]:
    """The loops of a function by what they begin with."""
    found: dict[str, list[Counting]] = {}
    for loop in walk(function.node):
        if isinstance(loop, Counting):
            for name in _counters(loop, begun=True):
                found.setdefault(name, []).append(loop)
    return found


@remembered_in_file
def _given(function: Scope) -> dict[str, list[ast.Call]]:
    """The calls of a function by what they are given, as it is written."""
    found: dict[str, list[ast.Call]] = {}
    for call in walk(function.node):
        if isinstance(call, ast.Call):
            for value in call.args:
                if isinstance(value, ast.Name | ast.Subscript):
                    found.setdefault(ast.unparse(value), []).append(call)
    return found


def _counters(loop: Counting, *, begun: bool = False) -> set[str]:
    """What a loop counts, as it is written; or from what its count begins."""
    match loop:
        case ast.For(target=target, iter=ast.Call(func=ast.Name(id="range"), args=[start, _, *_])):
            return {ast.unparse(n) for n in walk(start if begun else target) if isinstance(n, ast.Name | ast.Attribute)}
        case ast.While():
            added = (n for n in walk(loop) if isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Add))
            return {ast.unparse(n.target) for n in added if isinstance(n.value, ast.Constant)}
    return set()


def saved_by_number(facts: ModuleFacts, program: Program) -> Iterator[CallSite]:
    """The calls in such a loop that give its count to a function of the project that saves something."""
    for loop, _ in numbered(facts, program):
        counters = _counters(loop)
        for node in walk(loop):
            if isinstance(node, ast.Call) and any(ast.unparse(n) in counters for a in node.args for n in walk(a)):
                scope = facts.scope_of(node)
                if any(isinstance(c, Scope) and _saves(c, program) for c in program.values.callees(node, scope)):
                    yield node, scope


def _saves(function: Scope, program: Program) -> bool:
    sites = function.facts.calls.get("save", ())
    return any(scope.function is function and program.callee(call, scope) in SAVES for call, scope in sites)


def _operands(value: ast.expr) -> set[str]:
    """The names and attributes that a value is made of, as they are written."""
    read = (n for n in walk(value) if isinstance(n, ast.Name | ast.Attribute))
    return {ast.unparse(n) for n in read if re.search(COUNTED, last_name(n))}


def _of_named(path: ast.expr, function: Scope) -> set[str]:
    """The same of what a name that is read was given above."""
    given = (b.value for b in function.bindings_of(path) if b.value is not None)
    return {name for value in given for name in _operands(value)}


def reads_file(call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether a call is of `torch.load`, or of a function of the project in a file that calls it."""
    if program.qualified(call.func, scope) == "torch.load":
        return True
    callees = program.values.callees(call, scope)
    return any(isinstance(callee, Scope) and bool(files_read(callee.facts, program)) for callee in callees)


@remembered
def files_read(facts: ModuleFacts, program: Program) -> dict[Scope, list[ast.Call]]:
    """The calls of `torch.load` by their functions, from top to bottom."""
    found: dict[Scope, list[ast.Call]] = {}
    for call, scope in facts.calls.get("load", ()):
        if program.qualified(call.func, scope) == "torch.load":
            found.setdefault(scope.function, []).append(call)
    return found
