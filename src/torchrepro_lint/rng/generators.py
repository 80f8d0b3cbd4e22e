"""Generator objects: whether one that is made here is given a state later, and what it is a fallback for.

Knows the catalogue's methods that set a state; follows names and `self` attributes, nothing else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import chain

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Call, CallSite, Program, Site, remembered
from torchrepro_lint.dataflow.binding import argument_for, argument_place, parameter_at
from torchrepro_lint.dataflow.conditions import conditions
from torchrepro_lint.dataflow.reaching_definitions import reaching, reads_of_binding
from torchrepro_lint.dataflow.references import reads_of_target, relatives
from torchrepro_lint.index import ModuleFacts, Scope, last_name

MAX_CALLS = 3  # that hand a parameter on
_STATES = frozenset({"seed", "manual_seed", "set_state", "setstate", "get_state", "getstate", "bit_generator",
                     "initial_seed", "spawn", "device"})  # fmt: skip


def is_own(node: ast.expr, scope: Scope, program: Program) -> bool:
    """Whether `node` is a generator object that the program has made, rather than a global one."""
    return program.is_made_by({*catalogue.names("generators", "generators"), "torch.Generator"}, node, scope)


def is_given_a_state(call: Call, program: Program) -> bool:
    """Whether the generator is seeded, or its state set, through what holds it, or that may hold another."""
    table = catalogue.table("generators")["reseeding"]
    parents = call.facts.parents
    holders = [parents.get(call.node), *(parents.get(site.node) for site in _reads(call, program))]
    used = {holder.attr for holder in holders if isinstance(holder, ast.Attribute)}
    if used & {*table["methods"], *table["attributes"]}:
        return True
    return _is_one_of_several(call) or any(call.facts.attribute_sets.get(name) for name in table["attributes"])


def is_drawn_from(site: Site, program: Program, further: int = MAX_CALLS) -> bool:
    """Whether the generator that is read at a place is drawn from: `rng.random()`, `generator=rng`, or by a function of
    the project that it is passed to."""
    parents = site.scope.facts.parents
    parent = parents.get(site.node)
    match parent:
        case ast.Attribute(attr=attr):
            return attr not in _STATES and site.scope.facts.call_of(parent) is not None
        case ast.keyword(arg="generator"):
            return True
        case ast.keyword(arg=str(name)) if isinstance(call := parents.get(parent), ast.Call):
            return _is_drawn_in(call, site.scope, name, None, program, further)
        case ast.Call() as call if site.node is not call.func:
            return _is_drawn_in(call, site.scope, None, argument_place(call, site.node), program, further)
    return False


def _is_drawn_in(
    call: ast.Call, scope: Scope, name: str | None, place: int | None, program: Program, further: int
) -> bool:
    """Whether the function that is called draws from the argument at a place."""
    for callee in program.values.callees(call, scope) if further else ():
        if isinstance(callee, Scope) and callee.kind == "function":
            parameter = parameter_at(callee, name, place)
            if parameter is not None and _draws_from(parameter, callee, further - 1, program):
                return True
    return False


@remembered
def _draws_from(parameter: str, function: Scope, further: int, program: Program) -> bool:
    bound = function.bindings.get(parameter, ())
    reads = reads_of_binding(parameter, function, bound[0].node) if bound else ()
    return any(is_drawn_from(read, program, further) for read in reads)


def is_used(call: Call, program: Program) -> bool:
    """Whether what a call makes is more than assigned to a variable that nothing reads."""
    return not isinstance(_target(call), ast.Name) or bool(_reads(call, program))


def _reads(call: Call, program: Program) -> Sequence[Site]:
    """Where the variable or `self` attribute that the generator is assigned to is read."""
    target, statement = _target(call), call.facts.statement(call.node)
    return reads_of_target(target, statement, call.scope, program) if target is not None else ()


def _target(call: Call) -> ast.expr | None:
    """What the generator, and nothing else, is assigned to."""
    match call.facts.statement(call.node):
        case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=value):
            return target if value is call.node else None
    return None


def _is_one_of_several(call: Call) -> bool:
    """Whether other generators are assigned to the same variable or attribute."""
    match _target(call):
        case ast.Name(id=name):
            owner = call.scope.binding_scope(name)
            bound = owner.bindings[name] if owner is not None else []
            set_on_self = call.scope.attributes.get(name, [])
        case ast.Attribute(attr=name):
            owner = call.scope.method_class
            classes = relatives(owner, call.program) if owner is not None else []
            bound = [binding for one in classes for binding in one.bindings.get(name, ())]
            set_on_self = [pair for one in classes for pair in one.attributes.get(name, ())]
        case _:
            return False
    values = chain((b.value for b in bound), (b.value for b, _ in set_on_self))
    others = (value for value in values if value is not call.node)
    return any(v is None or not (isinstance(v, ast.Constant) and v.value is None) for v in others)


def names_something(call: Call, program: Program) -> bool:
    """Whether all that is drawn from a generator are names: `run_id = random.Random().getrandbits(64)`."""
    at_once = isinstance(call.facts.parents[call.node], ast.Attribute)
    drawn = [Site(call.node, call.scope)] if at_once else _reads(call, program)
    return bool(drawn) and all(_gives_a_name(site.node, site.scope.facts) for site in drawn)


def _gives_a_name(generator: ast.expr, facts: ModuleFacts) -> bool:
    child: ast.AST = generator
    if not isinstance(facts.parents[generator], ast.Attribute):
        return False
    for parent in facts.ancestors(generator):
        match parent:
            case ast.keyword(arg=str(name)):
                return is_label(name)
            case ast.Dict(keys=keys, values=values):
                key = keys[values.index(child)] if child in values else None
                return isinstance(key, ast.Constant) and is_label(str(key.value))
            case ast.Assign(targets=[target]):
                return is_label(last_name(target))
            case ast.stmt():
                return False
        child = parent
    return False


def is_label(name: str) -> bool:
    """Whether what a name holds is a label by its last word: an id, a port, a suffix."""
    words = catalogue.table("generators")["labels"]["words"]
    return name.lower().rstrip("_").rpartition("_")[2] in words


def is_only_drawn_from(call: Call, program: Program) -> bool:
    """Whether the generator is passed as `generator=`, and nothing else is done with it."""
    parents = call.facts.parents
    direct = parents.get(call.node)
    if isinstance(direct, ast.keyword):
        return direct.arg == "generator" and _is_external(parents[direct], call.scope, program)
    found = _reads(call, program)
    return bool(found) and all(_is_passed_as_generator(site, program) for site in found)


def _is_passed_as_generator(site: Site, program: Program) -> bool:
    parents = site.scope.facts.parents
    keyword = parents.get(site.node)
    if not isinstance(keyword, ast.keyword) or keyword.arg != "generator":
        return False
    return _is_external(parents[keyword], site.scope, program)


def _is_external(call: ast.AST, scope: Scope, program: Program) -> bool:
    return isinstance(call, ast.Call) and isinstance(program.callee(call, scope), str)


def leaving_out(call: Call, program: Program) -> list[CallSite] | None:
    """The known calls that do not pass the parameter which `call` stands in for, as in `rng or default_rng()` and
    `if rng is None: ...`; None where it stands in for none."""
    function = call.scope.function
    for name in _tested_names(call):
        bindings = function.bindings.get(name, [])
        if function.kind == "function" and bindings and bindings[0].kind == "parameter":
            return list(_leaving_out(function, name, program, MAX_CALLS))
    return None


def _leaving_out(function: Scope, name: str, program: Program, further: int) -> Iterator[CallSite]:
    """The known calls that do not pass a parameter, or pass on one that their own callers do not pass."""
    for call, scope in program.callers_of(function) or ():
        passed = argument_for(call, function, name)
        match passed:
            case None | ast.Constant(value=None):
                yield call, scope
            case ast.Name(id=handed) if further and handed in scope.function.bindings:
                bindings = scope.function.bindings[handed]
                if [b.kind for b in reaching(bindings, passed, scope.function, scope)] == ["parameter"]:
                    yield from _leaving_out(scope.function, handed, program, further - 1)


def _tested_names(call: Call) -> list[str]:
    """The names whose being None or not decides whether `call` is reached."""
    found = (_subject(condition.test) for condition in conditions(call.node, call.scope))
    return [node.id for node in found if isinstance(node, ast.Name)]


def _subject(test: ast.expr) -> ast.expr:
    match test:
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return left
    return test
