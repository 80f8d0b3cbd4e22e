"""TRP112: an environment of reinforcement learning is never given a seed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from torchrepro_lint.checks.argument_edit import first_argument
from torchrepro_lint.checks.draft import Draft, Fix, Place
from torchrepro_lint.checks.generator_doubts import is_seed_unclear
from torchrepro_lint.checks.seeded_learner import seeded_learner
from torchrepro_lint.dataflow import Call, Module, Program, remembered
from torchrepro_lint.dataflow.conditions import are_exclusive
from torchrepro_lint.dataflow.execution_count import runs_often, runs_once
from torchrepro_lint.dataflow.reaching_definitions import reads_of_binding
from torchrepro_lint.elements import Certainty, Level
from torchrepro_lint.index import ModuleFacts, Scope, walk
from torchrepro_lint.loading.same_order import is_made_side_by_side
from torchrepro_lint.project.contents import is_test
from torchrepro_lint.rng import environments
from torchrepro_lint.rng.own_seed import generator_seed, numbered
from torchrepro_lint.rng.ranks import has_ranks
from torchrepro_lint.seeding.training import only_evaluates, trains_nothing
from torchrepro_lint.syntax import insert_below_alternatives


class _Made(NamedTuple):
    """An environment, what draws from it, and how many others the same function makes above."""

    call: Call
    found: environments.Unseeded
    beside: int


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Report each environment where it is made; of two branches of which one runs, in the first."""
    if is_test(module.facts):
        return
    for call, samples in environments.learning(module):
        if environments.may_be_the_projects_own(call, program):
            continue
        fix = seeded_learner(call, program)
        certainty = Certainty.CERTAIN if environments.surely_draws(call) else Certainty.LIKELY
        yield Draft(call.node, {"call": call.written}, "sampled" if samples else None,
                    certainty=certainty, edits=fix.edits, unsafe=fix.unsafe)  # fmt: skip
    for made in _by_draw(module, program):
        call, found, _ = made[0]
        draws = [site for site in (found.reset, found.sampled) if site is not None]
        is_used = only_evaluates(call.facts, program) or trains_nothing(call.facts, program)
        fix = _together([_seeded(*one, program) for one in made])
        yield Draft(
            call.node,
            {"call": call.written},
            None if found.sampled is None else "sampled" if found.reset is not None else "space",
            level=Level.NOTE if is_used else None,
            certainty=Certainty.CERTAIN if found.reset is None or environments.surely_draws(call) else Certainty.LIKELY,
            related=tuple(Place(site.scope.facts, site.node, "drawn here") for site in draws),
            edits=fix.edits,
            unsafe=fix.unsafe or is_used,
        )


@remembered
def left_unseeded(facts: ModuleFacts, program: Program) -> Mapping[ast.Call, bool]:
    """The calls of a file that make environments of a library, and whether they leave these without a seed, for all
    that can be seen, and no safe fix gives them one."""
    module = Module(facts, program)
    found = [(made, _together([_seeded(*one, program) for one in made])) for made in _by_draw(module, program)]
    fixed = {one.call.node for made, fix in found if fix.edits and not fix.unsafe for one in made}
    made = (call for call in environments.made(module) if not environments.may_be_the_projects_own(call, program))
    return {call.node: call.node not in fixed for call in made}


def _by_draw(module: Module, program: Program) -> Iterable[list[_Made]]:
    """The environments that are never given a seed: those together that branches make of which one runs, and that are
    first drawn from at the same place."""
    found: list[list[_Made]] = []
    at: dict[ast.AST, list[list[_Made]]] = {}  # by where they are first drawn from
    above: dict[Scope, set[str]] = {}  # the environments that the same function makes above
    for call in environments.made(module):
        name, named = _name(call), above.setdefault(call.scope, set())
        beside = len(named - {name})
        named.add(name)
        drawn = environments.unseeded(call, program)
        if drawn is None or (drawn.reset is not None and environments.may_be_the_projects_own(call, program)):
            continue
        first = drawn.reset or drawn.sampled
        assert first is not None
        groups = at.setdefault(first.node, [])
        group = next((g for g in groups if all(_are_exclusive(call, other) for other, _, _ in g)), None)
        if group is None:
            group = []
            groups.append(group)
            found.append(group)
        group.append(_Made(call, drawn, group[0].beside if group else beside))
    return found


def _together(fixes: list[Fix]) -> Fix:
    """One fix that makes all of them, or none."""
    if len(fixes) == 1:
        return fixes[0]
    edits = [fix.edits for fix in fixes if isinstance(fix.edits, tuple) and fix.edits]
    return Fix(tuple(chain(*edits)) if len(edits) == len(fixes) else (), any(fix.unsafe for fix in fixes))


def _are_exclusive(call: Call, other: Call) -> bool:
    return are_exclusive((call.node, call.scope), (other.node, other.scope))


def _name(call: Call) -> str:
    """What tells an environment from others: in a notebook its name, since one that takes the name of another in a
    later cell takes its place."""
    match call.facts.parents[call.node]:
        case ast.Assign(targets=[target]) if call.facts.source.cells:
            return ast.unparse(target)
    return f"line {call.node.lineno}, column {call.node.col_offset}"


def _seeded(call: Call, found: environments.Unseeded, beside: int, program: Program) -> Fix:
    """Give a seed to it below where it is made, or to what learns in it, and whether a person should look at that."""
    learner = environments.learner(found.reset, program) or environments.learner(found.sampled, program)
    if learner is not None:
        return seeded_learner(learner, program)
    statement = call.facts.parents[call.node]
    match statement:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]):
            name = call.facts.text(target)
        case _:
            return Fix()
    if _is_passed_on(call.scope.function) or runs_often(program, call.node, call.scope) or is_made_side_by_side(call):
        return Fix()  # each would go through the same states
    given = _given_below(call, statement, name, found)
    if given is not None:
        statement, seed = given
    else:
        seed = numbered(generator_seed(call.scope, call.node, program), beside)
    way, is_known = _way(call, found)
    takes_seed = found.reset is not None and way.startswith("reset")
    below = _reset_right_below(call.facts, statement, name) if takes_seed else None
    edits = (first_argument(call.facts, below, f"seed={seed}"),) if below is not None else ()
    seeds = [f"{name}.{way.format(seed)}"] if found.reset is not None and below is None else []
    if found.sampled is not None:
        assert isinstance(found.sampled.node, ast.Attribute)
        seeds.append(f"{name}.{found.sampled.node.attr}.seed({seed})")
    is_clear = is_known and runs_once(program, call.node, call.scope) and not has_ranks(call.facts, program)
    is_clear = is_clear and not _is_left_unseeded(call, name)
    unsafe = not is_clear or (given is None and is_seed_unclear(call, seed, program))
    return Fix((*edits, *((insert_below_alternatives(call.facts, statement, name, *seeds),) if seeds else ())), unsafe)


def _reset_right_below(facts: ModuleFacts, made: ast.stmt, name: str) -> ast.Call | None:
    """The first `env.reset()`, where it stands right below what makes the environment."""
    block: list[ast.stmt] = getattr(facts.parents[made], "body", [])
    match block[block.index(made) + 1 :][:1] if made in block else []:
        case [ast.Expr(value=value) | ast.Assign(value=value)]:
            value = value.value if isinstance(value, ast.Subscript) else value
        case _:
            return None
    match value:
        case ast.Call(func=ast.Attribute(value=reset, attr="reset"), args=[], keywords=[]) if facts.text(reset) == name:
            return value
    return None


def _is_passed_on(function: Scope) -> bool:
    """Whether a function is given to others to call: `make` of `Environments([make] * 4)`, `return make`."""
    if function.parent is None or function.parent.kind == "class":
        return False
    parents = function.facts.parents
    uses = (
        (site.node, parents[site.node]) for site in reads_of_binding(function.own_name, function.parent, function.node)
    )
    return any(not isinstance(parent, ast.Call) or parent.func is not node for node, parent in uses)


def _is_left_unseeded(call: Call, name: str) -> bool:
    """Whether an environment takes the place of one that was made above, as to show what was learned; or its author has
    turned the seeding of one off, in a comment."""
    here = (call.node, call.scope)
    bindings = call.scope.bindings.get(name, ()) if not call.facts.source.cells else ()
    above = (b.node for b in bindings if isinstance(b.value, ast.Call) and b.value.lineno < call.node.lineno)
    is_second = any(not are_exclusive((node, call.scope), here) for node in above)
    return is_second or re.search(rf"#[^\n]*\b{re.escape(name)}\.seed\(", call.facts.source.whole) is not None


def _given_below(call: Call, made: ast.stmt, name: str, found: environments.Unseeded) -> tuple[ast.stmt, str] | None:
    """The statement `env.seed(seed)` below where the environment is made, and its seed, for the space as well; of the
    environment only attributes are read in between."""
    facts = call.facts
    block: list[ast.stmt] = getattr(facts.parents[made], "body", [])
    below = block[block.index(made) + 1 :] if made in block else []
    named = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)")
    first = next((s for s in below if named.search(facts.text(s)) and not _only_reads(s, name, facts)), None)
    match first:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="seed"), args=[seed], keywords=[]) as node):
            is_plain = not any(isinstance(n, ast.Call | ast.NamedExpr | ast.Starred) for n in walk(seed))
            is_it = any(site.node is node for site in found.seeds)
            return (first, facts.text(seed)) if is_it and is_plain else None
    return None


def _only_reads(statement: ast.stmt, name: str, facts: ModuleFacts) -> bool:
    """Whether a statement reads attributes of what is called so: `env.action_space.high[0]`."""
    found = [n for n in walk(statement) if isinstance(n, ast.Name) and n.id == name]
    for node in found:
        part: ast.AST | None = facts.parents.get(node)
        top: ast.AST = node
        while isinstance(part, ast.Attribute | ast.Subscript) and isinstance(part.ctx, ast.Load):
            top, part = part, facts.parents.get(part)
        if top is node or (isinstance(part, ast.Call) and part.func is top) or isinstance(part, ast.Attribute):
            return False
    return bool(found)


def _way(call: Call, found: environments.Unseeded) -> tuple[str, bool]:
    """How an environment is seeded, and whether that is known: before gym 0.26, by a method of its own."""
    reset = found.reset
    if call.name.startswith("gymnasium.") or reset is None or environments.returns_info(reset):
        return "reset(seed={})", True
    parts = {environments.unpacked(step) for step in found.steps}
    if environments.returns_more(reset):
        return "reset(seed={})", 5 in parts
    return "seed({})", 4 in parts
