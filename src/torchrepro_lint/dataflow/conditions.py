"""Under which tests a place in a program runs, and how each of them came out.

A test is known at a place through the blocks around it (`if`, `while`, `case`), through what left earlier (`if not x:
return`, `assert x`), and through the expressions it is part of (`x and f()`, `f() if x else y`, `[f() for ... if x]`).
Reads the syntax of one function, and asks its callers where `everywhere` says so. What a test means is for the
predicates that are passed in. Except in what tests say of a value, it is not looked at whether a name is bound anew
between a test and the place.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple, TypeAlias, TypeVar

from torchrepro_lint.dataflow.binding import value_for
from torchrepro_lint.dataflow.enclosing import BLOCKS, ancestors
from torchrepro_lint.dataflow.exits import breaks, is_exhaustive, is_irrefutable, leaves
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.reaching_definitions import reaching
from torchrepro_lint.dataflow.sites import CallSite, NodeSite
from torchrepro_lint.index import Binding, LoopNode, ModuleFacts, Scope
from torchrepro_lint.project.unknown import UNKNOWN

MAX_CALLERS = 2  # how far up the calls a test is looked for
MAX_BEFORE = 64  # statements of one block that may have left, the nearest: nobody writes more tests one after the other
_OPPOSITES = {ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in"}
_TESTING = (ast.If, ast.While, ast.IfExp, ast.BoolOp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
            ast.comprehension, ast.match_case, ast.Try)  # fmt: skip
_IN_BLOCKS = (ast.stmt, ast.ExceptHandler, ast.match_case)
_UNBROKEN = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant, ast.UnaryOp)  # need no parentheses


Node = TypeVar("Node", bound=ast.AST)


class PathCondition(NamedTuple):
    """`test` came out as `holds`. It is all or a part of what `owner` tests, which itself came out as `taken`."""

    test: ast.expr
    holds: bool
    owner: ast.AST
    taken: bool


Predicate: TypeAlias = "Callable[[ast.expr], bool | None]"
"""What a test being true says of one matter: yes, no, or nothing."""


def conditions(node: ast.AST, scope: Scope) -> tuple[PathCondition, ...]:
    """The tests that are known where `node` runs in its function, innermost first, split into parts that each came out
    for certain."""
    known: dict[ast.AST, tuple[PathCondition, ...]] = scope.facts.conditions
    if node not in known:
        known[node] = tuple(_conditions(node, scope))
    return known[node]


def known(says: Predicate, node: ast.AST, scope: Scope) -> bool | None:
    """What the tests around a place say of one matter: the innermost that says anything."""
    said = ((says(condition.test), condition.holds) for condition in conditions(node, scope))
    return next((answer is holds for answer, holds in said if answer is not None), None)


def everywhere(
    holds: Callable[[PathCondition], bool], node: ast.AST, scope: Scope, program: Program, depth: int = 0
) -> bool:
    """Whether some condition of a place is as wanted, or one at every call of its function, if all calls are known."""
    if any(map(holds, conditions(node, scope))):
        return True
    function = scope.function
    if function.kind != "function":
        return False
    if depth >= MAX_CALLERS:
        program.store.cut("conditions of callers", (function.facts.source.rel, function.name))
        return False
    calls = program.callers_of(function)
    return bool(calls) and all(everywhere(holds, *call, program, depth + 1) for call in calls or ())


def is_ruled_out(node: ast.AST, scope: Scope, call: CallSite, program: Program, *around: CallSite) -> bool:
    """Whether a place in a function is not reached with the constants that one call gives it: `return names` under
    `if names_only`, where that is left out. The call may hand on what those `around` it give its own function."""
    function = scope.function

    def value(expr: ast.expr) -> object:
        if isinstance(expr, ast.Name) and expr.id in function.bindings:
            return _argument(expr.id, (call, *around), function, program)
        return program.literal(expr, function)

    return any(comes_out(c.test, value) is (not c.holds) for c in conditions(node, scope))


def comes_out(test: ast.expr, value: Callable[[ast.expr], object]) -> bool | None:
    """How a test comes out, where `value` knows constants and says UNKNOWN of all else: `mode == "train"`; None if that
    is not known."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            known = comes_out(inner, value)
            return None if known is None else not known
        case ast.BoolOp(op=joint, values=parts):
            outcomes = {comes_out(part, value) for part in parts}
            decides = isinstance(joint, ast.Or)
            return decides if decides in outcomes else None if None in outcomes else not decides
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[other]):
            from torchrepro_lint.dataflow.outcomes import COMPARE  # few tests compare a parameter

            values = [value(left), value(other)]
            return None if UNKNOWN in values else COMPARE[type(op)](*values)
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(value=None)]):
            found = value(left)
            return None if found is UNKNOWN else (found is None) is isinstance(op, ast.Is)
        case ast.Compare(
            left=left, ops=[ast.In() | ast.NotIn() as op], comparators=[ast.List(elts=elts) | ast.Tuple(elts=elts)]
        ):
            values = [value(left), *map(value, elts)]
            return None if UNKNOWN in values else (values[0] in values[1:]) is isinstance(op, ast.In)
        case ast.Name() | ast.Attribute():
            found = value(test)
            return None if found is UNKNOWN else bool(found)
    return None


def _argument(name: str, calls: Sequence[CallSite], function: Scope, program: Program) -> object:
    """The constant that a parameter has in the first of the calls, if that is all that it is ever bound to."""
    match function.bindings.get(name):
        case [Binding(kind="parameter") as parameter]:
            given = value_for(*calls[0], function, parameter)
            if given is not None and isinstance(given.node, ast.Name) and calls[1:]:
                return _argument(given.node.id, calls[1:], given.scope, program)
            return program.literal(*given) if given is not None else UNKNOWN
    return UNKNOWN


def are_exclusive(first: NodeSite, second: NodeSite) -> bool:
    """Whether one run of a function reaches only one of the two: they lie in different arms of one test."""
    taken = {condition.owner: condition.taken for condition in conditions(*first)}
    return any(taken.get(c.owner, c.taken) is not c.taken for c in conditions(*second))


def is_dead(node: ast.AST, scope: Scope) -> bool:
    """Whether a constant test keeps a place, or its function, from ever running: in the `else` of `if True:`."""
    if any(isinstance(c.test, ast.Constant) and bool(c.test.value) is not c.holds for c in conditions(node, scope)):
        return True
    function = scope.function
    return function.parent is not None and is_dead(function.node, function.parent)


def written(condition: PathCondition, facts: ModuleFacts) -> str:
    """How the program would write what is known: `not args.fast`."""
    test, holds = condition.test, condition.holds
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and not holds:
        test, holds = test.operand, True

    def text_of(node: ast.expr) -> str:
        return facts.text(node) if facts.parents.get(node) is not None else ast.unparse(node)  # a pattern is no test

    text = text_of(test)
    if holds:
        return text
    match test:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPPOSITES:
            if isinstance(left, _UNBROKEN) and isinstance(right, _UNBROKEN):
                return f"{text_of(left)} {_OPPOSITES[type(op)]} {text_of(right)}"
    return f"not {text}" if isinstance(test, ast.Name | ast.Attribute | ast.Call) else f"not ({text})"


# -- what tests say of a value ------------------------------------------------------------------------------------
def equal_to(node: ast.expr, place: ast.AST, scope: Scope) -> object | None:
    """The constant that `node` is known to equal at `place`."""
    for test, holds in _comparisons(node, place, scope):
        is_equal = isinstance(test.ops[0], ast.Eq | ast.Is if holds else ast.NotEq | ast.IsNot)
        if is_equal and isinstance(right := test.comparators[0], ast.Constant):
            return right.value
    return None


def unequal_to(node: ast.expr, place: ast.AST, scope: Scope) -> list[object]:
    """The constants that `node` is known not to equal at `place`."""
    found: list[object] = []
    for test, holds in _comparisons(node, place, scope):
        if isinstance(test.ops[0], ast.NotEq | ast.NotIn | ast.IsNot if holds else ast.Eq | ast.In | ast.Is):
            right = test.comparators[0]
            listed = right.elts if isinstance(right, ast.Tuple | ast.List | ast.Set) else [right]
            found += [item.value for item in listed if isinstance(item, ast.Constant)]
    return found


def _comparisons(node: ast.expr, place: ast.AST, scope: Scope) -> Iterator[tuple[ast.Compare, bool]]:
    """The tests that compare what `node` still is at `place`."""
    text = ast.dump(node)
    for condition in conditions(place, scope):
        match condition.test:
            case ast.Compare(left=left, ops=[_]) as test if ast.dump(left) == text and _is_kept(left, node, scope):
                yield test, condition.holds


def _is_kept(before: ast.expr, after: ast.expr, scope: Scope) -> bool:
    """Whether nothing gives the name or attribute another value between two reads of it."""
    first, last = before.lineno, after.lineno
    while isinstance(before, ast.Attribute | ast.Subscript) and isinstance(after, ast.Attribute | ast.Subscript):
        sets = scope.facts.attribute_sets.get(after.attr, ()) if isinstance(after, ast.Attribute) else ()
        if any(s.scope.function is scope.function and first <= s.statement.lineno < last for s in sets):
            return False
        before, after = before.value, after.value
    return _bindings(before, scope) == _bindings(after, scope)


def _bindings(read: ast.expr, scope: Scope) -> list[Binding]:
    """The bindings whose value a read of a name may see."""
    owner = scope.binding_scope(read.id) if isinstance(read, ast.Name) else None
    if owner is None:
        return []
    found = reaching(scope.bindings_of(read), read, owner, scope)
    return [b for b in found if not are_exclusive((b.node, owner), (read, scope))]


def contradict(first: NodeSite, second: NodeSite) -> bool:
    """Whether two places run under opposite values of an attribute of their class, in the arms of `if self.causal:`, or
    of names that their function binds once."""
    one, two = first[1], second[1]
    is_settled = _is_settled if one.function is two.function else _is_of_self
    if is_settled is _is_of_self and (one.method_class is None or one.method_class is not two.method_class):
        return False
    settled = ([c for c in conditions(*site) if is_settled(c.test, site[1])] for site in (first, second))
    here, there = ({_turned(c.test, c.holds) for c in found} for found in settled)
    return any((test, not holds) in there for test, holds in here)


def _turned(test: ast.expr, holds: bool) -> tuple[str, bool]:
    """A test in words that its opposite shares: `x is not None` came out as `x is None` did not."""
    match test:
        case ast.Compare(left=left, ops=[ast.IsNot() | ast.NotEq() as op], comparators=[right]):
            positive = ast.Is() if isinstance(op, ast.IsNot) else ast.Eq()
            return ast.dump(ast.Compare(left, [positive], [right])), not holds
    return ast.dump(test), holds


def _is_settled(test: ast.expr, scope: Scope) -> bool:
    """Whether a test comes out alike wherever it stands in a run of its function."""
    match test:
        case ast.Name(id=name):
            owner = scope.binding_scope(name)
            return owner is scope.function and _is_bound_once(owner.bindings[name], scope)
        case ast.Compare(left=ast.Name() as left, comparators=[ast.Constant()]):
            return _is_settled(left, scope)
    return _is_of_self(test, scope)


def _is_bound_once(bindings: Sequence[Binding], scope: Scope) -> bool:
    around = [a for b in bindings for a in (b.node, *ancestors(b.node, scope))]
    return len(bindings) == 1 and not any(isinstance(a, LoopNode) for a in around)


def _is_of_self(test: ast.expr, scope: Scope) -> bool:
    return isinstance(test, ast.Attribute) and scope.is_self(test.value)


# -- around a place -----------------------------------------------------------------------------------------------
def _conditions(node: ast.AST, scope: Scope) -> Iterator[PathCondition]:
    function, child = scope.function.node, node
    for holder in ancestors(node, scope):
        if isinstance(holder, _TESTING):
            yield from _split(_of_arm(holder, child, scope))
        if isinstance(child, _IN_BLOCKS) and (before := _of_block(holder, child, scope.facts)[1]):
            yield from _split(before)
        if isinstance(holder, ast.stmt) and holder is not function:
            yield from conditions(holder, scope)  # many places share these
            return
        child = holder


def _of_arm(holder: ast.AST, child: ast.AST, scope: Scope) -> Iterator[PathCondition]:
    """The tests of `holder` that decide whether its part `child` runs."""
    match holder:
        case ast.If(test=test) | ast.While(test=test) if child is not test and holder is not scope.facts.guard:
            yield _came_out(holder, test, _of_block(holder, child, scope.facts)[0] == "body")
        case ast.IfExp(test=test) if child is not test:
            yield _came_out(holder, test, child is holder.body)
        case ast.BoolOp(op=op, values=values):
            yield from (_came_out(holder, v, isinstance(op, ast.And)) for v in _before(values, child))
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            yield from (_came_out(g, test, True) for g in _before(holder.generators, child) for test in g.ifs)
        case ast.comprehension(ifs=tests) if child in tests:
            yield from (_came_out(holder, test, True) for test in _before(tests, child))
        case ast.match_case():
            cases = scope.facts.parents[holder]
            assert isinstance(cases, ast.Match)
            yield from _of_case(cases, holder, inside_guard=child is holder.guard)
        case ast.Try() if child in holder.orelse:
            yield from _after_block(holder.body)


def _of_case(cases: ast.Match, chosen: ast.match_case, *, inside_guard: bool) -> Iterator[PathCondition]:
    """The pattern matches and its guard holds, and no earlier case was taken."""
    if not inside_guard:
        yield from _tested(cases.subject, chosen, True)
    elif (pattern := _pattern(cases.subject, chosen.pattern)) is not None:
        yield _came_out(chosen, pattern, True)
    for case in _before(cases.cases, chosen):
        yield from _tested(cases.subject, case, False)


def _of_block(holder: ast.AST, child: ast.AST, facts: ModuleFacts) -> tuple[str | None, tuple[PathCondition, ...]]:
    """The arm of `holder` that `child` stands in, and what is known because the statements before it did not leave."""
    known: dict[ast.AST, dict[ast.AST, tuple[str, tuple[PathCondition, ...]]]] = facts.blocks
    if holder not in known:
        known[holder] = dict(_blocks_of(holder))
    return known[holder].get(child, (None, ()))


def _blocks_of(holder: ast.AST) -> Iterator[tuple[ast.AST, tuple[str, tuple[PathCondition, ...]]]]:
    for name in BLOCKS:
        block = getattr(holder, name, None)
        before: tuple[PathCondition, ...] = ()
        for statement in block if isinstance(block, list) else ():
            yield statement, (name, before)
            if isinstance(statement, ast.stmt):
                before = (*_after(statement, False), *before)[:MAX_BEFORE]


def _before(items: Iterable[Node], child: ast.AST) -> list[Node]:
    return list(takewhile(lambda item: item is not child, items))


def _came_out(owner: ast.AST, test: ast.expr, taken: bool) -> PathCondition:
    return PathCondition(test, taken, owner, taken)


def _split(found: Iterable[PathCondition]) -> Iterator[PathCondition]:
    """The parts of each test that came out for certain when the whole did."""
    for condition in found:
        match condition:
            case PathCondition(ast.UnaryOp(op=ast.Not(), operand=inner), holds):
                yield from _split([condition._replace(test=inner, holds=not holds)])
            case PathCondition(ast.BoolOp(op=op, values=values), holds) if isinstance(op, ast.And) is holds:
                yield from _split(condition._replace(test=value) for value in values)
            case _:
                yield condition


# -- after a statement that may leave -----------------------------------------------------------------------------
def _after_block(block: Sequence[ast.stmt], caught: bool = False) -> Iterator[PathCondition]:
    """What is known when all of these statements have run to their end, the last of them first. `caught` when
    something around them may go on after an exception."""
    for statement in reversed(block):
        yield from _after(statement, caught)


def _after(statement: ast.stmt, caught: bool) -> Iterator[PathCondition]:
    match statement:
        case ast.Assert(test=test) if not caught:
            yield _came_out(statement, test, True)
        case ast.If(test=test, body=body, orelse=orelse):
            yield from _after_choice(statement, test, body, orelse, caught)
        case ast.While(test=test, body=body) if not breaks(body):
            yield _came_out(statement, test, False)
        case ast.With(body=body) | ast.AsyncWith(body=body):
            yield from _after_block(body, caught=True)
        case ast.Try(handlers=handlers) if all(leaves(h.body, caught) for h in handlers):
            yield from _after_block([*statement.body, *statement.orelse, *statement.finalbody], caught)
        case ast.Match(subject=subject, cases=cases):
            yield from _after_cases(subject, cases, caught)


def _after_choice(
    owner: ast.AST, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt], caught: bool
) -> Iterator[PathCondition]:
    if leaves(body, caught):
        yield _came_out(owner, test, False)
        yield from _after_block(orelse, caught)
    elif leaves(orelse, caught):
        yield _came_out(owner, test, True)
        yield from _after_block(body, caught)


def _after_cases(subject: ast.expr, cases: Sequence[ast.match_case], caught: bool) -> Iterator[PathCondition]:
    """The first cases leave, or all but the first that does not."""
    for number, case in enumerate(cases):
        if not leaves(case.body, caught):
            if is_exhaustive(cases) and all(leaves(other.body, caught) for other in cases[number + 1 :]):
                yield from _tested(subject, case, True)
            return
        yield from _tested(subject, case, False)


# -- match --------------------------------------------------------------------------------------------------------
def _tested(subject: ast.expr, case: ast.match_case, taken: bool) -> Iterator[PathCondition]:
    """Whether a case is taken, as a test of its pattern and its guard."""
    tests = [test for test in (_pattern(subject, case.pattern), case.guard) if test is not None]
    if tests:
        both = tests[0] if len(tests) == 1 else ast.copy_location(ast.BoolOp(ast.And(), tests), tests[0])
        yield _came_out(case, both, taken)


def _pattern(subject: ast.expr, pattern: ast.pattern) -> ast.expr | None:
    """The expression that is true where a pattern matches; None where every value does."""
    if is_irrefutable(pattern):
        return None
    test: ast.expr
    match pattern:
        case ast.MatchAs(pattern=ast.pattern() as inner):
            return _pattern(subject, inner)
        case ast.MatchValue(value=value):
            test = ast.Compare(subject, [ast.Eq()], [value])
        case ast.MatchSingleton(value=value):
            test = ast.Compare(subject, [ast.Is()], [ast.copy_location(ast.Constant(value), pattern)])
        case ast.MatchOr(patterns=patterns):
            test = ast.BoolOp(ast.Or(), [t for p in patterns if (t := _pattern(subject, p)) is not None])
        case _:  # what nobody can tell the outcome of
            test = ast.Call(ast.copy_location(ast.Name("match", ast.Load()), pattern), [subject], [])
    return ast.copy_location(test, pattern)
