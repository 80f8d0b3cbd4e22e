"""Random numbers that the operating system makes, and what a program decides with them.

Follows a value through arithmetic, conversions, variables and results of functions to what it picks, orders or
compares. A value that names something, waits or becomes a seed decides nothing here; what cannot be followed neither.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.abstract_values import Result
from torchrepro_lint.dataflow.calls import Module
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.sites import Site
from torchrepro_lint.dataflow.uses import Uses
from torchrepro_lint.index import Scope

MAX_DEPTH = 5
_SYSTEM = "random.SystemRandom"
_PICKS = frozenset({"choice", "choices", "sample"})
_NUMBERS = frozenset({"random", "uniform", "randint", "randrange", "gauss", "normalvariate", "triangular",
                      "betavariate", "expovariate"})  # fmt: skip
_CONVERSIONS = frozenset({"int", "float", "abs", "round", "from_bytes", "hex", "bool", "divmod", "list", "tuple"})
_BUFFERS = frozenset({"numpy.frombuffer", "torch.frombuffer", "numpy.fromstring"})
_TEXT = re.compile(
    r"^string\.|letter|digit|alphabet|chars?\b|charset|word|name|emoji|\burls?\b|host|port|server|proxy|agent|peer",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(r"seed|sleep|wait|delay|jitter|backoff|retry|timeout|Random$|Generator$|_rng$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """A call whose value the operating system makes, and in words what it does; `site` is where it does it."""

    call: ast.Call
    scope: Scope
    effect: str
    site: ast.AST


def decisions(module: Module, program: Program) -> list[Decision]:
    """The decisions of a file, in source order."""
    found = [d for site in _sources(module, program) if (d := _decision(site, program)) is not None]
    return sorted(found, key=lambda d: (d.call.lineno, d.call.col_offset))


def _sources(module: Module, program: Program) -> Iterator[Site]:
    rows = catalogue.names("generators", "entropy")
    names = {n for n, row in rows.items() if row["what"] == rows[_SYSTEM]["what"]} - {_SYSTEM}
    for call in module.calls(names):
        yield Site(call.node, call.scope)
    for method in ("shuffle", *sorted(_PICKS | _NUMBERS)):
        for node, scope in module.facts.calls.get(method, ()):
            if isinstance(node.func, ast.Attribute) and _is_system(node.func.value, scope, program):
                yield Site(node, scope)


def _is_system(holder: ast.expr, scope: Scope, program: Program) -> bool:
    return any(isinstance(o, Result) and o.callee == _SYSTEM for o in program.origins(holder, scope))


def _decision(site: Site, program: Program) -> Decision | None:
    call = site.node
    assert isinstance(call, ast.Call)
    method = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if method == "shuffle":
        return Decision(call, site.scope, "shuffles", call)
    effect = ""
    if method in _PICKS:
        if not call.args or _TEXT.search(ast.unparse(call.args[0])) or isinstance(call.args[0], ast.Constant):
            return None
        effect = "picks"
    elif method in _NUMBERS and program.callee(call, site.scope) is None:
        effect = "draws"
    follow = _Follow(program)
    decided = follow.decided(site, 0)
    if decided is not None:
        return Decision(call, site.scope, *decided)
    return Decision(call, site.scope, effect, call) if effect and not follow.elsewhere else None


class _Follow:
    """Where one value goes; `elsewhere` when that is a name, a pause or a seed."""

    def __init__(self, program: Program) -> None:
        self._uses = Uses(program)
        self._program = program
        self._seen: set[ast.AST] = set()
        self.elsewhere = False

    def decided(self, site: Site, depth: int) -> tuple[str, ast.AST] | None:
        """What the value decides, and where."""
        if depth > MAX_DEPTH or site.node in self._seen:
            return None
        self._seen.add(site.node)
        facts, child = site.scope.facts, site.node
        parent = facts.parents.get(child)
        match parent:
            case ast.Subscript(slice=index) if index is child:
                if not _TEXT.search(ast.unparse(parent.value)):
                    return "picks", parent
            case ast.Compare(ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()]):
                return "decides", parent
            case ast.Lambda() if self._is_sort_key(parent, site.scope):
                return "orders", parent
            case ast.FormattedValue() | ast.JoinedStr():
                self.elsewhere = True
            case ast.BinOp(left=ast.Constant(value=str())):
                self.elsewhere = True
            case ast.BinOp() | ast.UnaryOp() | ast.IfExp() | ast.Starred() | ast.Tuple() | ast.Subscript():
                return self.decided(Site(parent, site.scope), depth)
            case ast.Attribute(attr="int" | "hex" | "bytes"):
                return self.decided(Site(parent, site.scope), depth)
            case ast.Call() | ast.keyword():
                return self._passed(parent, site, depth)
            case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
                return self._assigned(target, parent, site, depth)
            case ast.For(target=target):
                self.elsewhere |= _is_label(getattr(target, "id", ""))
            case ast.Return():
                return self._each(self._uses.results(site.scope.function), depth)
        return None

    def _passed(self, parent: ast.Call | ast.keyword, site: Site, depth: int) -> tuple[str, ast.AST] | None:
        outer = site.scope.facts.parents[parent] if isinstance(parent, ast.keyword) else parent
        if not isinstance(outer, ast.Call):
            return None
        name = getattr(outer.func, "attr", getattr(outer.func, "id", ""))
        named = parent.arg or "" if isinstance(parent, ast.keyword) else ""
        if _ELSEWHERE.search(name) or _ELSEWHERE.search(named) or _is_label(named) or name in ("join", "str", "format"):
            self.elsewhere = True
            return None
        if self._program.callee(outer, site.scope) in _BUFFERS:
            return "draws", outer
        return self.decided(Site(outer, site.scope), depth) if name in _CONVERSIONS else None

    def _assigned(self, target: ast.expr, statement: ast.AST, site: Site, depth: int) -> tuple[str, ast.AST] | None:
        name = getattr(target, "attr", getattr(target, "id", ""))
        if _is_label(name) or _ELSEWHERE.search(name):
            self.elsewhere = True
            return None
        return self._each(self._uses.of_target(target, statement, site.scope), depth)

    def _each(self, sites: list[Site], depth: int) -> tuple[str, ast.AST] | None:
        found = (self.decided(site, depth + 1) for site in sites)
        return next((d for d in found if d is not None), None)

    @staticmethod
    def _is_sort_key(function: ast.Lambda, scope: Scope) -> bool:
        keyword = scope.facts.parents.get(function)
        outer = scope.facts.parents.get(keyword) if isinstance(keyword, ast.keyword) else None
        name = getattr(outer.func, "attr", getattr(outer.func, "id", "")) if isinstance(outer, ast.Call) else ""
        return name in ("sorted", "sort", "min", "max")


def _is_label(name: str) -> bool:
    words = catalogue.table("generators")["labels"]["words"]
    return name.lower().rstrip("_").rpartition("_")[2] in words
