"""Where loaders and samplers that are each given a generator with one constant seed would draw in step: one made for
each epoch, for each rank, or beside another; or one of which other processes have copies.

Two data sets of one size would be gone through in the same order, so that their samples meet as the same pairs in
every epoch. Knows nothing of rules.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from operator import itemgetter

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Call, Module, Program, Site, remembered, start_of
from torchrepro_lint.dataflow.binding import argument_for
from torchrepro_lint.dataflow.conditions import PathCondition, are_exclusive, conditions
from torchrepro_lint.dataflow.edges import Edges
from torchrepro_lint.dataflow.execution_count import is_called_for_each_epoch, runs_in_each_pass
from torchrepro_lint.dataflow.follow import Follow, Policy
from torchrepro_lint.dataflow.use import Sink, Steps, Use
from torchrepro_lint.index import ModuleFacts, Scope, last_name
from torchrepro_lint.loading.loaders import argument, loader_calls, loaders, samplers, shuffling
from torchrepro_lint.loading.looked_at import is_for_evaluation, is_only_looked_at, may_have_for_evaluation, replaced
from torchrepro_lint.rng.ranks import has_ranks, is_chosen_by_ranks, is_seeded_by_rank

_SPLIT = "torch.utils.data.random_split"  # draws once, when it is called
_LIGHTNING_HOOK = "train_dataloader"
_RELOADS = re.compile(rb"\breload_dataloaders_every_n?_?epochs?\s*=\s*(?!0|False)")


def is_made_for_each_epoch(call: Call) -> bool:
    """Whether each epoch makes the loader anew, and would begin with the same order."""
    function = call.scope.function
    if runs_in_each_pass(function, call.program) or is_called_for_each_epoch(function, call.program):
        return True
    is_hook = function.own_name == _LIGHTNING_HOOK
    return is_hook and call.program.project.text.any_match(_RELOADS) is not False


def differs_by_rank(call: Call) -> bool:
    """Whether each rank may draw an order of its own from all samples: with one generator all would draw the same.

    Ranks that share the samples out have a sampler for it, and what is made without ranks stands under a test of them.
    Where the program gives each rank a seed of its own, what their workers draw would be alike as well.
    """
    if call.name == _SPLIT or not has_ranks(call.facts, call.program) or is_chosen_by_ranks(call.node, call.scope):
        return False
    shuffle = _shuffle(call)
    always = shuffle is None or isinstance(shuffle.node, ast.Constant)
    return always or is_seeded_by_rank(call.program)


def number_beside(call: Call) -> int:
    """How many loaders and samplers the same function makes before that draw as well; those for an evaluation, or to be
    looked at, which may be left as they are, come last."""
    if call.name == _SPLIT:
        return 0
    beside = _drawing(call.facts, call.program).get(call.scope.function)
    if beside is None:
        return 0
    start = start_of(call.node)
    place = beside.of.get(start, (False, start))
    first = beside.first.get(place, place)
    tests = conditions(call.node, call.scope)
    instead = {other for test in tests for other in beside.under.get((test.owner, not test.taken), ()) if other < first}
    return bisect_left(beside.places, first) - len(instead) - (_apart(beside, place, instead) if beside.asked else 0)


def _apart(beside: _Drawing, place: _Place, known: set[_Place]) -> int:
    """How many are made before only where a parameter has another value, but for those that are `known` to be."""
    asked, first = beside.asked.get(place), beside.first.get(place, place)
    if asked is None:
        return 0
    others = [beside.asked.get(other, asked) for other in known]
    of_name, of_value = (bisect_left(beside.by_value[key], first) for key in (asked[0], asked))
    return of_name - of_value - sum(name == asked[0] and value != asked[1] for name, value in others)


def is_split_beside(call: Call) -> bool:
    """Whether this splits a data set in a function that makes loaders or samplers that draw."""
    return call.name == _SPLIT and call.scope.function in _drawing(call.facts, call.program)


def held_in(call: Call) -> str:
    """The name that the result of a call gets: `loader`, of `self.loader` too."""
    match call.facts.parents[call.node]:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]):
            return last_name(target)
    return ""


def named_above(call: Call) -> list[Call]:
    """The loaders and samplers that the same function makes above and that get the same name, or none as well."""
    alike = _by_name(call.facts, call.program).get((call.scope.function, held_in(call)), [])
    return alike[: bisect_left(alike, start_of(call.node), key=lambda other: start_of(other.node))]


@remembered
def _by_name(facts: ModuleFacts, program: Program) -> dict[tuple[Scope, str], list[Call]]:
    """The loaders and samplers that draw, by the name that a function gives them."""
    found: dict[tuple[Scope, str], list[Call]] = {}
    for call in _all_drawing(facts, program):
        found.setdefault((call.scope.function, held_in(call)), []).append(call)
    return found


@remembered
def _all_drawing(facts: ModuleFacts, program: Program) -> list[Call]:
    """The loaders and samplers of a file that draw, from the top."""
    drawing = [c for c in loader_calls(facts, program) if shuffling(c) is not None]
    drawing += [c for c in Module(facts, program).calls(samplers().keys()) if c.name != _SPLIT]
    left_out = replaced(facts, program)
    return sorted((c for c in drawing if c.node not in left_out), key=lambda call: start_of(call.node))


@dataclass(frozen=True)
class _Drawing:
    """Where one function makes loaders and samplers that draw, in order; and which of these run only under a test that
    comes out in one way. `asked` has the parameter that must have one value for it, `if name == "cifar":`, and
    `by_value` those of each parameter and of each of its values. In a notebook, one that takes the name of another in a
    later cell takes its place: `first` says where the name was given before. `of` has the place of each by where it
    begins."""

    places: list[_Place] = field(default_factory=list)
    under: dict[tuple[ast.AST, bool], list[_Place]] = field(default_factory=dict)
    asked: dict[_Place, tuple[str, object]] = field(default_factory=dict)
    by_value: dict[str | tuple[str, object], list[_Place]] = field(default_factory=dict)
    first: dict[_Place, _Place] = field(default_factory=dict)
    of: dict[tuple[int, int], _Place] = field(default_factory=dict)


_Place = tuple[bool, tuple[int, int]]  # whether it is for an evaluation, and where it is


@remembered
def _drawing(facts: ModuleFacts, program: Program) -> dict[Scope, _Drawing]:
    """The loaders and samplers of a file that draw, by the function that makes them."""
    found: dict[Scope, _Drawing] = {}
    named: dict[tuple[Scope, str], _Place] = {}
    may_evaluate = may_have_for_evaluation(facts)

    def comes_last(call: Call) -> bool:
        return (may_evaluate and is_for_evaluation(call)) or (call.name in loaders() and is_only_looked_at(call))

    placed = [((comes_last(call), start_of(call.node)), call) for call in _all_drawing(facts, program)]
    for place, call in sorted(placed, key=itemgetter(0)):
        function, name = call.scope.function, _name(call)
        made, before = found.setdefault(function, _Drawing()), named.setdefault((function, name), place)
        made.of[place[1]] = place
        if name and facts.source.cells and _cell(before, facts) < _cell(place, facts):
            made.first[place] = before
            continue
        made.first[place] = place
        made.places.append(place)
        if known := conditions(call.node, call.scope):
            for test in {(c.owner, c.taken) for c in known}:
                made.under.setdefault(test, []).append(place)
            for asked in _asked(known, function):
                made.asked[place] = asked
                for key in (asked[0], asked):
                    made.by_value.setdefault(key, []).append(place)
    return found


def _asked(known: Sequence[PathCondition], function: Scope) -> list[tuple[str, object]]:
    """The parameter of a function that must have one value where these conditions hold, and the value, if any: the
    innermost."""
    for condition in known:
        match condition.test:
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Eq()], comparators=[ast.Constant(value=value)]):
                made = function.bindings.get(name, ())
                if condition.holds and [b.kind for b in made] == ["parameter"]:
                    return [(name, value)]
    return []


def _name(call: Call) -> str:
    """The name that a loader or sampler is given, if any."""
    match call.facts.parents[call.node]:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return ""


def _cell(place: _Place, facts: ModuleFacts) -> int:
    """The number of a notebook's cell; 0 in any other file."""
    return bisect_right([first for first, _ in facts.source.cells], place[1][0])


def is_made_side_by_side(call: Call) -> bool:
    """Whether one function calls the one that makes the loader twice, and both are to shuffle."""
    function = call.scope.function
    if call.name == _SPLIT or function.kind != "function":
        return False
    sites = [s for s in call.program.callers_of(function) or () if not _leaves_order(s[0], call)]
    pairs = ((one, other) for other, one in combinations(sites, 2) if one[1].function is other[1].function)
    return any(not are_exclusive(one, other) for one, other in pairs)  # no test lets only one of them be made


def is_copied(call: Call) -> bool:
    """Whether the loader is handed to other processes: each would begin with a copy of its generator, which only
    PyTorch 2.4 can make."""
    if not _starts_processes(call.program):
        return False
    policy: Policy[None, bool] = Policy("processes that a loader is handed to", _to_process, _to_process, bound=60)
    return next(Follow(policy, call.program).found([Use(call.node, call.scope, None)]), False)


def _to_process(use: Use[None], edges: Edges) -> Steps | None:
    if use.call is None:
        return None
    function, program = use.call.func, edges.program
    made = program.makers(function.value, use.scope) if isinstance(function, ast.Attribute) else set()
    starts = {program.callee(use.call, use.scope), *made}
    return (Sink(True),) if not starts.isdisjoint(_starting()) else None


@cache
def _starting() -> frozenset[str]:
    """What is called with something for other processes."""
    names = (*catalogue.names("order", "pools"), *catalogue.names("order", "runners"))
    return frozenset(name for name in names if "Thread" not in name and ".dummy." not in name)


@remembered
def _starts_processes(program: Program) -> bool:
    """Whether any file has such a name: few projects do, and to follow each loader takes long."""
    found = map(program.project.text.mentioning, sorted(catalogue.last_parts(_starting())))
    return any(files is None or bool(files) for files in found)


def _shuffle(call: Call) -> Site | None:
    passed = argument(call, "shuffle") if call.name in loaders() else None
    return passed if isinstance(passed, Site) else None


def _leaves_order(site: ast.Call, call: Call) -> bool:
    """Whether the function that makes the loader is told at `site` not to shuffle."""
    shuffle = _shuffle(call)
    if shuffle is None or not isinstance(shuffle.node, ast.Name):
        return False
    passed = argument_for(site, call.scope.function, shuffle.node.id)
    if passed is None:
        passed = next((b.value for b in call.scope.function.bindings.get(shuffle.node.id, ())), None)
    return isinstance(passed, ast.Constant) and not passed.value
