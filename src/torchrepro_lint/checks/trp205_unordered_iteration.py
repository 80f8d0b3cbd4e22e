"""TRP205: something depends on the order of a set of strings, which differs from run to run."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.checks.order_doubts import is_drawn, is_of_results, is_within_a_set
from torchrepro_lint.checks.said_on_purpose import is_on_purpose
from torchrepro_lint.dataflow import Module, Program, Site
from torchrepro_lint.dataflow.references import reads_of_target
from torchrepro_lint.index import ModuleFacts, Scope, last_name
from torchrepro_lint.loading.decisions import INDEXED, SAVED, WRITTEN
from torchrepro_lint.loading.looked_at import EVALUATION
from torchrepro_lint.loading.sets import TextSet, holds_only_text, may_hold_others, taken_from, text_sets
from torchrepro_lint.model import Edit
from torchrepro_lint.project.contents import is_test
from torchrepro_lint.rng.texts import Evidence
from torchrepro_lint.seeding.training import is_called_otherwise

MAX_TAKEN = 64  # that one fix changes: more is no small change any more
_KEEPING = frozenset({"dump", "dumps", "save"})
_ORDERLESS = frozenset({"sorted", "set", "frozenset", "len"})


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Report each place where the order of a set of strings matters."""
    found = list(text_sets(module, program))
    return _judged(found, module, program) if found else iter(())


def _judged(found: Iterable[TextSet], module: Module, program: Program) -> Iterator[Draft]:
    from torchrepro_lint.loading.order import decided_by

    reported: set[int] = set()
    for held in found:
        sites = [s for s in taken_from(held.made, program) if s.scope.facts is module.facts]
        decisions = {id(s.node): decided_by(s.node, s.scope, program) for s in sites if id(s.node) not in reported}
        edits: dict[Scope, tuple[Edit, ...]] = {}  # by function: two loops over one set must continue to agree
        for site in sites:
            decision = decisions.get(id(site.node))
            if decision is None or id(site.node) in reported or _is_kept_as_set(site, decision.node):
                continue
            reported.add(id(site.node))
            function = site.scope.function
            if function not in edits:
                beside = [s for s in sites if s.scope.function is function]
                taken = [s.node for s in beside if decisions.get(id(s.node)) or _is_loop(s)]
                edits[function] = _sorted(held.made, taken, module.facts, program)
            yield Draft(
                site.node,
                {"set": module.facts.text(site.node), "why": decision.why},
                related=(Place(decision.facts, decision.node, f"the order {decision.why} here"),),
                edits=edits[function],
                unsafe=held.evidence is not Evidence.SURE
                or not holds_only_text(held.made, program)
                or may_hold_others(site, program)
                or is_test(module.facts)
                or is_on_purpose(module.facts, site.node)
                or is_of_results(site.scope, program)
                or is_within_a_set(site.node, site.scope, program)
                or (decision.why in (INDEXED, SAVED, WRITTEN) and _is_evaluated(site, program))
                or (held.made.scope.facts is module.facts and is_drawn(held.made.node, module.facts, program)),
            )


def _is_evaluated(site: Site, program: Program) -> bool:
    """Whether samples are those of an evaluation, or what is saved is, by the name of what is made of them, of the
    function or of the file: their order is as good as any."""
    if is_called_otherwise(site.scope.facts, program):
        return True
    targets = getattr(site.scope.facts.statement(site.node), "targets", ())
    names = (site.scope.function.own_name, *map(last_name, targets))
    found = next(filter(EVALUATION.search, names), "")
    return program.by_name(bool(found), "that samples are evaluated", site.scope, found)


def _is_kept_as_set(site: Site, decided: ast.AST) -> bool:
    """`pickle.dump(names, file)`: what is read again is a set, which has no order."""
    parent = site.scope.facts.parents[site.node]
    return parent is decided and isinstance(parent, ast.Call) and last_name(parent.func) in _KEEPING


def _sorted(made: Site, taken: Sequence[ast.expr], facts: ModuleFacts, program: Program) -> tuple[Edit, ...]:
    """Sort the set where it is made, or else wherever its items are taken in one function."""
    return _at_binding(made, taken, program) or (_edits(facts, taken) if len(taken) <= MAX_TAKEN else ())


def _is_loop(site: Site) -> bool:
    """Whether the items are iterated over, so that the order may have to agree with that of another loop."""
    node, parents = site.node, site.scope.facts.parents
    match parents[node]:
        case ast.Call(func=ast.Name(id="enumerate" | "list" | "tuple" | "zip")) as call:
            return node in call.args and not _is_order_lost(parents[call])
        case ast.For(iter=items) | ast.comprehension(iter=items):
            return items is node
    return False


def _is_order_lost(holder: ast.AST) -> bool:
    """`sorted(list(names))`"""
    return isinstance(holder, ast.Call) and last_name(holder.func) in _ORDERLESS


def _becomes_list(node: ast.expr, facts: ModuleFacts) -> bool:
    """Whether a list can replace the set here. What is pickled or returned should stay a set."""
    match facts.parents[node]:
        case ast.Call(func=function):
            return last_name(function) not in _KEEPING
        case ast.For() | ast.AsyncFor() | ast.comprehension() | ast.Starred() | ast.YieldFrom():
            return True
    return False


def _at_binding(made: Site, taken: Sequence[ast.expr], program: Program) -> tuple[Edit, ...]:
    """Sort the set where it gets its name, if it is taken at several places and nothing but its items is asked for."""
    from torchrepro_lint.checks.sorting import sorted_items

    facts = made.scope.facts
    match facts.parents[made.node]:
        case ast.Assign(targets=[ast.Name(id=name) as target]) as statement if len(taken) > 1:
            owner = made.scope.binding_scope(name)
            read = reads_of_target(target, statement, made.scope, program)
            nodes = {id(site.node) for site in read}
            if owner is not None and len(owner.bindings[name]) == 1 and all(id(n) in nodes for n in taken):
                return sorted_items(facts, made.node) if all(map(_asks_for_items, read)) else ()
    return ()


def _asks_for_items(site: Site) -> bool:
    """Whether a list can replace the set here: it is iterated over, counted, or searched."""
    match site.scope.facts.parents[site.node]:
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[found]):
            return found is site.node
        case ast.Call(func=ast.Name(id="len" | "sorted")):
            return True
    return _is_loop(site)


def _edits(facts: ModuleFacts, nodes: Sequence[ast.expr]) -> tuple[Edit, ...]:
    """Sort all of them."""
    from torchrepro_lint.checks.sorting import sorted_items  # imported late: large, and few files need it

    if not all(_becomes_list(node, facts) for node in nodes):
        return ()
    return tuple(edit for node in nodes for edit in sorted_items(facts, node))
