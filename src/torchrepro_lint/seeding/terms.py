"""What running a function, or the top of a module, can do to the random generators: a small term over the few things
that matter. Built once per function and class of `self`, for all programs that run it.

A term keeps the calls that may seed, draw, import, start processes or end the program, and the branches, loops and
exits that decide whether they run. Everything else is dropped; most functions of a library have the empty term.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import NamedTuple, TypeAlias

from torchrepro_lint.index import FunctionNode, LoopNode, Scope, children, chooses_item
from torchrepro_lint.seeding.run_by import Run


class Invoke(NamedTuple):
    """A call whose effect depends on the state, the arguments or the program."""

    node: ast.Call
    scope: Scope


class Import(NamedTuple):
    """An import statement, and the files of the project that it runs."""

    node: ast.stmt
    scope: Scope
    paths: tuple[str, ...]


class Branch(NamedTuple):
    """One of two terms, by a test whose own calls come before."""

    node: ast.If | ast.IfExp
    scope: Scope
    body: Term
    orelse: Term


class Taken(NamedTuple):
    """The methods of an object of the project that run where items of it are taken, by a loop or by their numbers, or
    where a `with` begins or ends."""

    node: ast.expr
    scope: Scope
    methods: tuple[Run, ...]


class Loop(NamedTuple):
    """A body that is run again and again: `times` where that is written."""

    body: Term
    orelse: Term
    times: ast.expr | None
    scope: Scope


class Attempt(NamedTuple):
    """`try`: the handlers begin where the body began."""

    body: Term
    orelse: Term
    handlers: tuple[Term, ...]
    finalbody: Term


class Select(NamedTuple):
    """`match`: one of several terms, or none."""

    arms: tuple[Term, ...]


class Guard(NamedTuple):
    """`if __name__ == "__main__":`, which only the program's own file runs."""

    body: Term


class Later(NamedTuple):
    """What a generator expression that is kept runs when its items are taken: `noise = (torch.rand(2) for _ in x)`."""

    body: Term


class Exit(Enum):
    """`return` and `raise`: nothing that follows is run."""

    LEAVE = "return"
    FAIL = "raise"


Item: TypeAlias = "Invoke | Taken | Import | Branch | Loop | Attempt | Select | Guard | Later | Exit"
Term: TypeAlias = "tuple[Item, ...]"
NOTHING: Term = ()
MAX_VALUES = 8  # of one `and`, each of which stands within those before it
ENTERS = ("__enter__", "__aenter__")
LEAVES = ("__exit__", "__aexit__")
KEEPS = (ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.Return)  # what they are given need not be used at once
_RUN_IN_PART = (ast.IfExp, ast.BoolOp, ast.GeneratorExp)
_WITHOUT_CALLS = (ast.Name, ast.Constant, ast.Lambda)


class TermBuilder:
    """Builds the term of one function or module. `has_effect` says whether a call matters, and takes note of one that
    does not; `taken` gives what a loop over an object runs, the choice of an item or a `with`; `imported` the files
    that an import runs."""

    def __init__(
        self,
        has_effect: Callable[[ast.Call, Scope], bool],
        taken: Callable[[ast.AST, Scope], tuple[Run, ...]],
        imported: Callable[[ast.Import | ast.ImportFrom, Scope], tuple[str, ...]],
    ) -> None:
        self._has_effect = has_effect
        self._taken_by = taken
        self._imported = imported

    def of(self, function: Scope) -> Term:
        """The term of a function, a lambda or a module."""
        node = function.node
        if isinstance(node, ast.Lambda):
            return tuple(self._expression(node.body, function))
        assert isinstance(node, FunctionNode | ast.Module)
        term = self._block(node.body, function)
        while term and term[-1] is Exit.LEAVE:
            term = term[:-1]
        return term if _acts(term) else NOTHING

    # -- statements ---------------------------------------------------------------------------------------------
    def _block(self, body: Sequence[ast.stmt], scope: Scope) -> Term:
        found: list[Item] = []
        for statement in body:
            found += self._statement(statement, scope)
            if found and isinstance(found[-1], Exit):
                break
        return tuple(found)

    def _statement(self, node: ast.stmt, scope: Scope) -> Sequence[Item]:
        match node:
            case ast.Expr() | ast.Assign():
                return self._expression(node, scope)
            case ast.Import() | ast.ImportFrom():
                paths = self._imported(node, scope)
                return [Import(node, scope, paths)] if paths else ()
            case ast.If():
                return self._if(node, scope)
            case ast.For() | ast.AsyncFor():
                return self._loop(node.iter, node, scope, self._taken(node, scope))
            case ast.While():
                return self._loop(node.test, node, scope, ())
            case ast.Try():
                return self._try(node, scope)
            case ast.With() | ast.AsyncWith():
                return self._with(node, scope)
            case ast.Match():
                arms = tuple(self._block(case.body, scope) for case in node.cases)
                return [*self._expression(node.subject, scope), *([Select(arms)] if any(arms) else ())]
            case ast.Return():
                return [*self._expression(node.value, scope), Exit.LEAVE]
            case ast.Raise():
                return [Exit.FAIL]
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return self._expressions([*node.decorator_list, *node.args.defaults], scope)
            case ast.ClassDef():
                inner = scope.children.get(node)
                return self._block(node.body, inner) if inner is not None else ()
        return self._expression(node, scope)

    def _if(self, node: ast.If, scope: Scope) -> Sequence[Item]:
        body = self._block(node.body, scope)
        if node is scope.facts.guard:
            return [Guard(body)] if body else ()
        if _is_switched_off(node.test):
            body = NOTHING
        orelse = self._block(node.orelse, scope)
        return [*self._expression(node.test, scope), *([Branch(node, scope, body, orelse)] if body or orelse else ())]

    def _loop(self, head: ast.expr, node: LoopNode, scope: Scope, taken: Sequence[Item]) -> Sequence[Item]:
        body, orelse = self._block(node.body, scope), self._block(node.orelse, scope)
        before = [*self._expression(head, scope), *taken]
        return [*before, Loop(body, orelse, _count(head), scope)] if body or orelse else before

    def _with(self, node: ast.With | ast.AsyncWith, scope: Scope) -> Sequence[Item]:
        before: list[Item] = []
        after: list[Item] = []
        for item in node.items:
            methods = self._taken_by(item, scope)
            enters = tuple(run for run in methods if run[0].own_name in ENTERS)
            leaves = tuple(run for run in methods if run not in enters)
            before += self._expression(item.context_expr, scope)
            before += [Taken(item.context_expr, scope, enters)] if enters else []
            after[:0] = [Taken(item.context_expr, scope, leaves)] if leaves else []
        body = self._block(node.body, scope)
        return [*before, *body, *(after if not (body and isinstance(body[-1], Exit)) else ())]

    def _taken(self, node: ast.For | ast.AsyncFor | ast.Subscript, scope: Scope) -> Sequence[Item]:
        methods = self._taken_by(node, scope)
        return [Taken(node if isinstance(node, ast.Subscript) else node.iter, scope, methods)] if methods else ()

    def _try(self, node: ast.Try, scope: Scope) -> Sequence[Item]:
        body, orelse, final = (self._block(part, scope) for part in (node.body, node.orelse, node.finalbody))
        handlers = tuple(self._block(handler.body, scope) for handler in node.handlers)
        return [Attempt(body, orelse, handlers, final)] if body or orelse or final or any(handlers) else ()

    # -- expressions ----------------------------------------------------------------------------------------------
    def _expressions(self, nodes: Iterable[ast.AST], scope: Scope) -> list[Item]:
        return [item for node in nodes for item in self._expression(node, scope)]

    def _expression(self, node: ast.AST | None, scope: Scope) -> list[Item]:
        """The calls in a node, innermost first; comprehensions in their own scopes, lambdas are not entered."""
        found: list[Item] = []
        if node is not None:
            self._collect(node, scope, found)
        return found

    def _collect(self, node: ast.AST, scope: Scope, found: list[Item]) -> None:
        if isinstance(node, _WITHOUT_CALLS):
            return
        if isinstance(node, _RUN_IN_PART) and (part := self._part(node, scope)) is not None:
            found += part
            return
        inner = scope.children.get(node, scope)
        for child in children(node):
            self._collect(child, inner, found)
        if isinstance(node, ast.Call) and self._has_effect(node, scope):
            found.append(Invoke(node, scope))
        elif isinstance(node, ast.Subscript) and chooses_item(node):
            found += self._taken(node, scope)

    def _part(self, node: ast.AST, scope: Scope) -> list[Item] | None:
        """What is run of a choice, and later of a generator expression; None where all is run at once."""
        match node:
            case ast.IfExp() | ast.BoolOp() if len(children(node)) <= MAX_VALUES:
                return self._choice(node, scope)
            case ast.GeneratorExp() if isinstance(scope.facts.parents[node], KEEPS):
                later = tuple(self._expressions(children(node), scope.children.get(node, scope)))
                return [Later(later)] if later else []
        return None

    def _choice(self, node: ast.IfExp | ast.BoolOp, scope: Scope) -> list[Item]:
        """`a and b` is what it is: `b if a else a`."""
        if isinstance(node, ast.IfExp):
            body, orelse = self._expression(node.body, scope), self._expression(node.orelse, scope)
            branch = [Branch(node, scope, tuple(body), tuple(orelse))] if body or orelse else []
            return [*self._expression(node.test, scope), *branch]
        later: list[Item] = []
        for value in reversed(node.values):
            own = self._expression(value, scope)
            if later:
                choice = ast.copy_location(ast.IfExp(value, value, value), value)
                is_and = isinstance(node.op, ast.And)
                own.append(Branch(choice, scope, tuple(later) if is_and else (), () if is_and else tuple(later)))
            later = own
        return later


def _is_switched_off(test: ast.expr) -> bool:
    """`__name__ == "__main2__"`: a guard that is misspelt on purpose."""
    match test:
        case ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value=str(name))]):
            return name != "__main__" and name.startswith("__") and name.endswith("__")
    return False


def _count(head: ast.expr) -> ast.expr | None:
    """How often a loop runs, where an option or an argument may say so."""
    match head:
        case ast.Call(func=ast.Name(id="range"), args=[ast.Name() | ast.Attribute() as count], keywords=[]):
            return count
    return None


def _acts(term: Term) -> bool:
    """Whether anything in a term can have an effect; a function that only branches and leaves has none."""
    return any(isinstance(item, Invoke | Taken | Import) or any(map(_acts, _parts(item))) for item in term)


def _parts(item: Item) -> tuple[Term, ...]:
    match item:
        case Branch(body=body, orelse=orelse) | Loop(body=body, orelse=orelse):
            return body, orelse
        case Attempt(body=body, orelse=orelse, handlers=handlers, finalbody=final):
            return body, orelse, *handlers, final
        case Select(arms=arms):
            return arms
        case Guard(body=body) | Later(body=body):
            return (body,)
    return ()
