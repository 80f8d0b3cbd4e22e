"""Whether a program saves and resumes its training, and whether the states of its random generators go along.

Reads the files that the program runs. Checkpoints that a framework writes are the framework's business.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import CallSite, NodeSite, Program, calls_like, remembered, remembered_in_file
from torchrepro_lint.dataflow.abstract_values import Constant, Display, Origin, Result, Unknown
from torchrepro_lint.dataflow.binding import argument_for
from torchrepro_lint.dataflow.enclosing import loops_around
from torchrepro_lint.dataflow.references import relatives
from torchrepro_lint.index import ITEM, ModuleFacts, Scope, arguments_of, descendants, last_name, walk
from torchrepro_lint.rng import FAMILIES
from torchrepro_lint.rng.draws import PUT, TAKEN
from torchrepro_lint.rng.updates import is_of_optim
from torchrepro_lint.seeding.numbered import COUNTED, SAVES, files_read, numbered, reads_file, saved_by_number

if TYPE_CHECKING:
    from torchrepro_lint.seeding.seeding import Seeding

_PROGRESS = r"(?i)optim|epoch|step|iter|sched|scaler|^it$"
_OPTIMIZER = r"(?i)optim|scaler|sched"
_SHORT = r"(?i)(?:^|[._])opt(?:_[a-z]+)?$"  # `opt.lr` is an option, `self.opt` an optimizer
_RNG_STATE = r"(?i)rng_?state|[gs]et_?state\(|[\"']\w*random_state[\"']"
_TAKES = r"(?i)(?:get|save)_\w*rng_?state|\bget_?state\("
_PUTS = r"(?i)(?:set|load|restore)_\w*rng_?state|\bset_?state\("
_STATE_METHODS = ("get_state", "set_state", "getstate", "setstate")
_OWN = {"numpy.random.RandomState": "numpy", "random.Random": "python"}
_RESUMERS = ("load_optim", "load_optimizer", "set_optimizer_state_dict", "set_optim_state_dict",
             "restart_from_checkpoint", "_load_optimizer_and_scheduler")  # fmt: skip
_SETS_ALL = ("torch.distributed.checkpoint.state_dict.set_state_dict",)
_LOADERS = ("load", "load_checkpoint")
_SAVERS = ("save", "save_on_master", "save_checkpoint", "save_model")


class Resuming(NamedTuple):
    """Where a program saves its progress, and where it takes it up again; `families` are the generators whose states
    do not go along."""

    save: CallSite
    load: NodeSite
    families: tuple[str, ...]


def resuming(families: Sequence[str], seeding: Seeding, program: Program) -> Resuming | None:
    """The save and the resume that a program runs; None when it lacks one, or keeps the states of these families."""
    files = seeding.visited
    left = _not_kept(families, files, program)
    if not left:
        return None
    saves = [site for facts in files for site in _saves(facts, program) if seeding.runs(*site)]
    if not saves:
        return None
    again = {node for save in saves for node in _in_loop_of(*save)}
    resumes = (site for facts in files for site in _resumes(facts, program) if site[0] not in again)
    loads = [site for site in resumes if seeding.runs(*site)]
    if not loads:
        return None

    def is_by_name(site: NodeSite) -> bool:
        """Whether it may run only for the name of its function: one that is entered for certain is told of first."""
        function = site[1].function
        return function.kind != "module" and function not in seeding.entered

    return Resuming(min(saves, key=is_by_name), min(loads, key=is_by_name), left)


def _in_loop_of(save: ast.Call, scope: Scope) -> Sequence[ast.AST]:
    """What runs in the loop that saves: a state that is put back there is one of this run, the best so far."""
    loop = next(loops_around(scope.facts, save), None)
    return walk(loop) if loop is not None else ()


def _not_kept(families: Sequence[str], files: Sequence[ModuleFacts], program: Program) -> tuple[str, ...]:
    """All, where nothing speaks of states; else those whose state is taken and never put back, or the other way."""
    if not _keeps_states([line for facts in files for line in _lines_on_states(facts, program).values()]):
        return tuple(families)
    own = [_of_own(facts, program).get(n) for facts in files for n in _lines_on_states(facts, program)]
    if all(own):  # none speaks of the generators that all share
        return tuple(family for family in families if family not in own)
    taken, put_back = (_moved(*half, files, program) for half in ((_TAKES, TAKEN), (_PUTS, PUT)))
    return tuple(family for family in families if (family in taken) is not (family in put_back))


def _moved(sign: str, functions: Mapping[str, str], files: Sequence[ModuleFacts], program: Program) -> frozenset[str]:
    """The families of generators whose states are taken, or put back; all, where a line of it is no plain call."""
    for facts in files:
        called = {call.lineno for call, _ in calls_like(functions, facts)}
        lines = _lines_on_states(facts, program)
        if any(number not in called and re.search(sign, line) for number, line in lines.items()):
            return frozenset(FAMILIES)
    names = (program.callee(*site) for facts in files for site in calls_like(functions, facts))
    return frozenset(functions[str(name)] for name in names if name in functions)


@remembered
def _of_own(facts: ModuleFacts, program: Program) -> Mapping[int, str]:
    """The lines that take or set the state of a generator that the program made, each with its family: that speaks of
    no other generator."""
    found: dict[int, str] = {}
    for call, scope in (site for name in _STATE_METHODS for site in facts.calls.get(name, ())):
        if isinstance(call.func, ast.Attribute):
            for maker in program.makers(call.func.value, scope):
                if maker in _OWN:
                    found[call.lineno] = _OWN[str(maker)]
    return found


def _keeps_states(lines: Sequence[str]) -> bool:
    """Whether RNG states are both taken and put back; lines that speak of them otherwise are believed to do both."""
    takes, puts = (any(re.search(sign, line) for line in lines) for sign in (_TAKES, _PUTS))
    return bool(lines) and takes == puts


@remembered
def _lines_on_states(facts: ModuleFacts, _: Program) -> Mapping[int, str]:
    """The lines of a file's code that speak of RNG states, but for functions that take one, draw, and put it back."""
    if not facts.source.matches(_RNG_STATE):
        return {}
    code = [line.partition("#")[0] for line in facts.source.whole.split("\n")]  # a comment changes no answer
    lines = {n: line for n, line in enumerate(code, 1) if re.search(_RNG_STATE, line)}
    functions = (s.node for s in facts.scope.descend() if s.kind == "function")
    numbers = list(lines)
    speaking = [f for f in functions if _is_one_inside(numbers, f)]
    for number in {line for function in speaking for line in _set_aside(function)}:
        lines.pop(number, None)
    return lines


def _is_one_inside(numbers: Sequence[int], function: ast.AST) -> bool:
    """Whether one of these lines, which are in order, is one of the function's."""
    at = bisect_left(numbers, function.lineno)  # type: ignore[attr-defined]
    return at < len(numbers) and numbers[at] <= (function.end_lineno or 0)  # type: ignore[attr-defined]


def _set_aside(function: ast.AST) -> Iterator[int]:
    """The lines of `state = np.random.get_state()` and `np.random.set_state(state)`, where nothing else reads it."""
    taken: dict[str, int] = {}
    reads: Counter[str] = Counter()
    for node in walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=getter)):
                if re.search(_RNG_STATE, f"{ast.unparse(getter)}("):
                    taken[name] = node.lineno
            case ast.Name(id=name, ctx=ast.Load()):
                reads[name] += 1
    for node in walk(function):
        match node:
            case ast.Call(func=setter, args=[ast.Name(id=name)]) if name in taken and reads[name] == 1:
                if re.search(_RNG_STATE, f"{ast.unparse(setter)}("):
                    yield from (taken[name], node.lineno)


@remembered
def _saves(facts: ModuleFacts, program: Program) -> tuple[CallSite, ...]:
    """Calls that save a dict or a list with an optimizer, an epoch or a step in it, or weights by their number."""
    sites = [site for name in _SAVERS for site in facts.calls.get(name, ())]
    by_number = {node for loop, _ in numbered(facts, program) for node in walk(loop)} if sites else set()
    found: list[CallSite] = []
    counted: list[CallSite] = []  # told of where nothing saves more
    for call, scope in sites:
        if _saves_progress(call, scope, program) or _keeps_everything(call, scope, program):
            found.append((call, scope))
        elif call in by_number and program.callee(call, scope) in SAVES:
            counted.append((call, scope))
        elif program.callee(call, scope) in SAVES and call.args:
            found += _handed(call.args[0], scope, program) or ()
    return (*found, *counted, *saved_by_number(facts, program))


def _saves_progress(call: ast.Call, scope: Scope, program: Program) -> bool:
    if last_name(call.func) != "save" or _writes_file(call, scope, program):
        values = arguments_of(call)
        if any(_has_progress(value, scope, program) for value in values):
            return True
    told = [k.arg for k in call.keywords if k.arg and re.search(_PROGRESS, k.arg)]
    return bool(told) and any(
        isinstance(callee, Scope) and _saves_keywords(callee, program) and not callee.bindings.keys() >= set(told)
        for callee in program.values.callees(call, scope)
    )


def _saves_keywords(function: Scope, program: Program) -> bool:
    """Whether a function saves something, and reads the `**keywords` that it takes besides its parameters."""
    extra = function.node.args.kwarg if isinstance(function.node, ast.FunctionDef) else None
    if extra is None or not function.facts.reads(function.node).of_name(extra.arg):
        return False
    sites = function.facts.calls.get("save", ())
    return any(scope.function is function and program.callee(call, scope) in SAVES for call, scope in sites)


def _writes_file(call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether a `save` is PyTorch's, or that of accelerate, which calls it."""
    if program.callee(call, scope) in SAVES:
        return True
    held = call.func.value if isinstance(call.func, ast.Attribute) else None
    makers = program.makers(held, scope) if held is not None else ()
    known = catalogue.names("frameworks", "accelerators")
    return any(maker in known for maker in makers) or bool(_checkpointing(call, "saves", scope, program))


def _keeps_everything(call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether a framework saves all that it trains, optimizers too."""
    return any(row["everything"] for row in _checkpointing(call, "saves", scope, program))


def _checkpointing(call: ast.Call, way: str, scope: Scope, program: Program) -> list[Mapping[str, Any]]:
    """The rows of the frameworks by whose method a call saves, or loads: `fabric.save(path, state)`."""
    rows = catalogue.names("frameworks", "checkpointing")
    if not isinstance(call.func, ast.Attribute) or not any(call.func.attr in row[way] for row in rows.values()):
        return []
    made: list[str | Scope | None] = []
    for origin in program.origins(call.func.value, scope):
        match origin:
            case Result(callee=callee):
                made.append(callee)
            case Unknown(node=ast.Call() as tuple_of, scope=Scope() as where):  # `engine, *_ = initialize(...)`
                made.append(program.callee(tuple_of, where))
    found = [rows[callee] for callee in made if isinstance(callee, str) and callee in rows]
    return [row for row in found if call.func.attr in row[way]]


def _has_progress(expr: ast.expr, scope: Scope, program: Program, depth: int = 0) -> bool:
    """Whether a saved value is a dict, list or object with a field for the progress of training."""
    for origin in program.origins(expr, scope):
        match origin:
            case Display(node=ast.Dict(keys=keys, values=values) as state, scope=made):
                if _has_optimizer(state, made, program) or any(_is_with_optimizer(v, made, program) for v in values):
                    return True
                names = [k.value for k in keys if isinstance(k, ast.Constant) and isinstance(k.value, str)]
                names += _set_in(expr, scope)
            case Display(node=ast.DictComp(generators=[ast.comprehension(iter=items)]), scope=made):
                names = [str(o.value) for o in _items(items, made, program) if isinstance(o, Constant)]
            case Display(node=ast.List(elts=items) | ast.Tuple(elts=items)):
                names = [name for item in items for name in _state_of(item)]
            case Result(node=call, scope=made):
                names = [k.arg for k in call.keywords if k.arg]
                if not names and depth < 2 and any(_has_progress(a, made, program, depth + 1) for a in call.args):
                    return True
                if any(_is_with_optimizer(k.value, made, program) for k in call.keywords):
                    return True
            case _:
                names = []
        told = next((name for name in names if re.search(_PROGRESS, name)), "")
        if program.by_name(bool(told), "that what is saved is a training's state", scope, told):
            return True
    if isinstance(expr, ast.Call) and _is_of_optimizer(expr, scope, program):
        return True
    return depth < 2 and any(
        _is_filled(value, maker, program, depth + 1) for value, maker in _returned(expr, scope, program)
    )


def _has_optimizer(state: ast.Dict, scope: Scope, program: Program) -> bool:
    """Whether a dict has the state of what torch.optim made."""
    return any(isinstance(v, ast.Call) and _is_made_in_optim(v, scope, program) for v in state.values)


def _is_with_optimizer(value: ast.expr, scope: Scope, program: Program) -> bool:
    """Whether a dict that is part of what is saved has it: `{"model": model.get_state(), ...}`."""
    origins = program.origins(value, scope) if isinstance(value, ast.Name | ast.Call) else ()
    return any(isinstance(o, Display) and isinstance(o.node, ast.Dict) and _has_optimizer(o.node, o.scope, program)
               for o in origins)  # fmt: skip


def _returned(expr: ast.expr, scope: Scope, program: Program) -> Iterator[tuple[ast.Name, Scope]]:
    """The names that a function of the project returns, where a value is what a call of it gives: `self.state()`."""
    bindings = scope.bindings_of(expr) if isinstance(expr, ast.Name) else ()
    call = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else expr
    for callee in program.values.callees(call, scope) if isinstance(call, ast.Call) else ():
        if isinstance(callee, Scope) and callee.kind == "function":
            yield from ((value, callee) for value in callee.returns if isinstance(value, ast.Name))


def _is_filled(held: ast.Name, scope: Scope, program: Program, depth: int) -> bool:
    """Whether a function sets a field for the progress of training of a dict, or puts one with such a field into it."""
    told = next((key for key in _set_in(held, scope) if re.search(_PROGRESS, key)), "")
    if program.by_name(bool(told), "that what is saved is a training's state", scope, told):
        return True
    return any(
        inner.function is scope.function
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == held.id
        and any(_has_progress(value, inner, program, depth) for value in call.args)
        for call, inner in scope.facts.calls.get("update", ())
    )


def _set_in(held: ast.expr, scope: Scope) -> Iterator[str]:
    """The keys that the function sets of a dict: `state["optimizer"] = optimizer.state_dict()`."""
    if not isinstance(held, ast.Name):
        return
    for key, sets in scope.facts.subscript_sets.items():
        of_function = (item.target.value for item in sets if item.scope.function is scope.function and key != ITEM)
        if any(isinstance(of, ast.Name) and of.id == held.id for of in of_function):
            yield key


def _items(items: ast.expr, scope: Scope, program: Program) -> Iterator[Origin]:
    """Where the items of a list may come from."""
    for origin in program.origins(items, scope):
        match origin:
            case Display(node=ast.List(elts=elements) | ast.Tuple(elts=elements), scope=made):
                for element in elements:
                    yield from program.origins(element, made)


def _state_of(item: ast.expr) -> Iterator[str]:
    """What an item of a saved list is the state of: `optimizer.state_dict()`, `epoch`, `self.step`."""
    match item:
        case ast.Call(func=ast.Attribute(value=owner, attr="state_dict"), args=[]):
            yield from _state_of(owner)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield name


def _is_of_optimizer(call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether a call is of an optimizer's, scheduler's or scaler's method, or has its state as argument."""
    if _handed(call, scope, program) is not None:
        return False  # the calls that hand it over are told of
    if _is_made_in_optim(call, scope, program) or _is_of_own_attributes(call, scope, program):
        return True
    receiver = scope.facts.text(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    says = re.search(_OPTIMIZER, scope.facts.text(call)) or re.search(_SHORT, receiver)
    return program.by_name(says is not None, "that something is an optimizer", scope, receiver)


def _handed(call: ast.expr, scope: Scope, program: Program) -> tuple[CallSite, ...] | None:
    """The calls that hand an optimizer to a function that saves or puts back the state of what it is given:
    `save(adam, "adam.pt")`; None where no parameter is what `call` is of, and where its name says what it is."""
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="state_dict" | "load_state_dict")):
            owner = scope.binding_scope(name)
            is_given = owner is not None and any(b.kind == "parameter" for b in owner.bindings[name])
            callers = program.callers_of(owner) if owner is not None and is_given else ()
            if owner is None or not callers or re.search(_OPTIMIZER, name) or re.search(_SHORT, name):
                return None
            given = [(site, argument_for(site[0], owner, name)) for site in callers]
            return tuple(s for s, v in given if isinstance(v, ast.expr) and _is_optimizer(v, s[1], program))
    return None


def _is_optimizer(value: ast.expr, scope: Scope, program: Program) -> bool:
    if any(map(is_of_optim, program.makers(value, scope))):
        return True
    text = scope.facts.text(value)
    says = re.search(_OPTIMIZER, text) or re.search(_SHORT, text)
    return program.by_name(says is not None, "that something is an optimizer", scope, text)


def _is_made_in_optim(call: ast.Call, scope: Scope, program: Program) -> bool:
    """`optG.state_dict()` of something that torch.optim made."""
    if not isinstance(call.func, ast.Attribute) or not call.func.attr.endswith("state_dict"):
        return False
    makers = program.makers(call.func.value, scope)
    return any(_is_optimizer_class(m, program) if isinstance(m, Scope) else is_of_optim(m) for m in makers if m)


def _is_optimizer_class(owner: Scope, program: Program) -> bool:
    """Whether a class of the project derives from one of torch.optim."""
    return owner.kind == "class" and any(map(is_of_optim, program.external_bases(owner)))


def _is_of_wrapper(scope: Scope, program: Program) -> bool:
    """Whether an optimizer's own `load_state_dict` hands the state on: who calls it with a state resumes."""
    function, owner = scope.function, scope.method_class
    return function.own_name == "load_state_dict" and owner is not None and _is_optimizer_class(owner, program)


def _is_of_own_attributes(call: ast.Call, scope: Scope, program: Program) -> bool:
    """`value.state_dict()` of each attribute of an object that has an optimizer: `for key, value in
    self.__dict__.items():`."""
    owner = scope.method_class
    if owner is None or not isinstance(call.func, ast.Attribute) or not isinstance(call.func.value, ast.Name):
        return False
    held = call.func.value.id
    for loop in loops_around(scope.facts, call):
        match loop:
            case ast.For(
                target=ast.Tuple(elts=[_, ast.Name(id=name)]),
                iter=ast.Call(
                    func=ast.Attribute(
                        value=ast.Attribute(value=holder, attr="__dict__")
                        | ast.Call(func=ast.Name(id="vars"), args=[holder]),
                        attr="items",
                    )
                ),
            ) if name == held and scope.is_self(holder):
                owners = relatives(owner, program)
                return any(re.search(_OPTIMIZER, attribute) for one in owners for attribute in one.attributes)
    return False


@remembered
def _resumes(facts: ModuleFacts, program: Program) -> tuple[NodeSite, ...]:
    """Where an optimizer's, scheduler's or scaler's state is put back (the load of the file, if it is in sight), or
    a file is read and the training goes on from the epoch or step in it, or in its name."""
    return (*_put_back(facts, program), *(load for _, load in numbered(facts, program)))


def _put_back(facts: ModuleFacts, program: Program) -> Iterator[NodeSite]:
    for name in ("load_state_dict", *_RESUMERS):
        for call, scope in facts.calls.get(name, ()):
            if _is_of_wrapper(scope, program):
                continue
            if name in _RESUMERS or _is_of_optimizer(call, scope, program):
                yield _file_read_before(call, scope, program) or call, scope
            yield from _handed(call, scope, program) or ()
    for call, scope in facts.calls.get("set_state_dict", ()):
        if program.callee(call, scope) in _SETS_ALL:
            yield call, scope
    for call, scope in (site for name in _LOADERS for site in facts.calls.get(name, ())):
        rows = _checkpointing(call, "loads", scope, program)
        if any(row["everything"] or any(_has_progress(a, scope, program) for a in call.args) for row in rows):
            yield call, scope
        if reads_file(call, scope, program):
            counted = {name.id for name in _counted(scope.function)}
            gone_on_from = _become_attributes(scope.function) | counted
            targets = getattr(facts.statement(call), "targets", ())
            gone_on_from |= _handed_on(scope.function, program)
            if not gone_on_from.isdisjoint({call, *(t.id for t in targets if isinstance(t, ast.Name))}):
                yield call, scope
    yield from _counts_read(facts, program)
    for scope in facts.scope.descend():
        if scope.kind == "function":
            yield from _read_by_another(scope, program)


def _counts_read(facts: ModuleFacts, program: Program) -> Iterator[NodeSite]:
    """The counts of a JSON file that the program writes, which are gone on from beside weights: `step =
    json.load(file)["step"]`."""
    weights = {scope.function for _, scope in facts.calls.get("load_state_dict", ())}
    reads = [site for site in facts.calls.get("load", ()) if site[1].function in weights]
    reads = [(call, scope) for call, scope in reads if program.qualified(call.func, scope) == "json.load"]
    dumps = [site for site in facts.calls.get("dump", ()) if reads and site[0].args]
    kept = {
        key
        for call, scope in dumps
        if program.qualified(call.func, scope) == "json.dump"
        for key in _keys(call.args[0], scope, program)
    }
    for call, scope in reads:
        targets = {t.id for t in getattr(facts.statement(call), "targets", ()) if isinstance(t, ast.Name)}
        counted = [name for name in _counted(scope.function) if name.id in targets]
        if not kept.isdisjoint(_entry(name, facts) for name in counted):
            yield _file_read_before(call, scope, program) or call, scope


def _entry(name: ast.Name, facts: ModuleFacts) -> str:
    """The key by which an item of a dict is read: `state["step"]`, `state.get("step")`."""
    read = facts.parents[name]
    match facts.parents[read] if isinstance(read, ast.Attribute) else read:
        case ast.Subscript(slice=ast.Constant(value=key)) | ast.Call(args=[ast.Constant(value=key), *_]):
            return str(key)
    return ""


def _keys(expr: ast.expr, scope: Scope, program: Program) -> Iterator[str]:
    """The keys of a dict that speak of the progress of training."""
    for origin in program.origins(expr, scope):
        match origin:
            case Display(node=ast.Dict(keys=keys)):
                yield from (
                    str(k.value) for k in keys if isinstance(k, ast.Constant) and re.search(COUNTED, str(k.value))
                )
    yield from (key for key in _set_in(expr, scope) if re.search(COUNTED, key))


@remembered
def _handed_on(function: Scope, program: Program) -> frozenset[str]:
    """The names of which a function gives an optimizer's state to one of the project: `put(agent, file["optims"])`."""
    given = ((name, site) for site in function.calls for value in site[0].args if (name := _of_optimizer(value)))
    return frozenset(name for name, at in given if any(isinstance(c, Scope) for c in program.values.callees(*at)))


def _of_optimizer(value: ast.expr) -> str:
    """The name of a dict of which an optimizer's state is taken."""
    match value:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))) if re.search(_OPTIMIZER, key):
            return name
    return ""


def _read_by_another(function: Scope, program: Program) -> Iterator[NodeSite]:
    """The file that another function reads, and that this one goes on from: `model, state = create_model()`."""
    for name in _counted(function):
        for read in program.results(name, function):
            if read.scope.function is not function and program.qualified(read.node.func, read.scope) == "torch.load":
                yield read.node, read.scope


@remembered_in_file
def _counted(function: Scope) -> tuple[ast.Name, ...]:
    """What training goes on from: `checkpoint` of `start_epoch = checkpoint["epoch"]`, or where a loop begins there:
    `range(start, epochs)`."""
    begun: set[str] = set()
    assigned: list[tuple[str, ast.expr]] = []
    for node in walk(function.node):
        match node:
            case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=[ast.Name(id=name), _, *_])):
                begun.add(name)
            case ast.Assign(targets=[first, *_], value=value):
                assigned.append((ast.unparse(first), value))
    counted = (value for name, value in assigned if name in begun or re.search(COUNTED, name))
    return tuple(name for value in counted for name in _counting(value))


@remembered_in_file
def _become_attributes(function: Scope) -> frozenset[object]:
    """The calls, and the names, of what becomes attributes: `for name, value in torch.load(path).items():
    self.__dict__[name] = value`."""
    loops = (n for n in descendants(function.node) if isinstance(n, ast.For) and _sets_attributes(n))
    read = (n for loop in loops for n in walk(loop.iter))
    return frozenset(n.id if isinstance(n, ast.Name) else n for n in read if isinstance(n, ast.Name | ast.Call))


def _sets_attributes(loop: ast.For) -> bool:
    for node in walk(loop):
        match node:
            case ast.Call(func=ast.Name(id="setattr")):
                return True
            case ast.Subscript(value=ast.Attribute(attr="__dict__"), ctx=ast.Store()):
                return True
    return False


def _counting(value: ast.expr) -> Iterator[ast.Name]:
    """The names in a value whose entry counts: `checkpoint["epoch"]`, `checkpoint.get("epoch", 0)`."""
    for node in walk(value):
        match node:
            case (
                ast.Subscript(value=ast.Name() as name, slice=ast.Constant(value=key))
                | ast.Call(func=ast.Attribute(value=ast.Name() as name, attr="get"), args=[ast.Constant(value=key), *_])
            ):
                if re.search(COUNTED, str(key)):
                    yield name


def _file_read_before(call: ast.Call, scope: Scope, program: Program) -> ast.Call | None:
    """The last `torch.load` above the call in its function."""
    reads = files_read(scope.facts, program).get(scope.function, ())
    above = bisect_right(reads, call.lineno, key=lambda read: read.lineno)
    return reads[above - 1] if above else None
