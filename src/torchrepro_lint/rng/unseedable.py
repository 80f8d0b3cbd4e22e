"""Random numbers that the operating system makes, and what a program decides with them.

Such a value picks, orders or is compared, maybe after arithmetic and conversions. A value that names something, waits
or becomes a seed decides nothing here; what cannot be followed neither.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Module, Program, Site, start_of
from torchrepro_lint.dataflow.edges import Edges
from torchrepro_lint.dataflow.follow import Follow, Policy
from torchrepro_lint.dataflow.use import STOP, Sink, Steps, Use
from torchrepro_lint.index import Scope, last_name
from torchrepro_lint.rng.generators import is_label

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
_NO_DATA = "that a value is a name, a pause or a seed"
_ELSEWHERE_NAMES = re.compile(
    r"seed|sleep|wait|delay|jitter|backoff|retry|timeout|Random$|Generator$|_rng$", re.IGNORECASE
)


class Decision(NamedTuple):
    """A call whose value the operating system makes, and in words what it does; `site` is where it does it."""

    call: ast.Call
    scope: Scope
    effect: str
    site: ast.AST


def decisions(module: Module, program: Program) -> list[Decision]:
    """The decisions of a file, in source order."""
    found = [d for site in _sources(module, program) if (d := _decision(site, program)) is not None]
    return sorted(found, key=lambda decision: start_of(decision.call))


def _sources(module: Module, program: Program) -> Iterator[Site]:
    rows = catalogue.names("generators", "entropy")
    names = {n for n, row in rows.items() if row["what"] == rows[_SYSTEM]["what"]} - {_SYSTEM}
    for call in module.calls(names):
        yield Site(call.node, call.scope)
    for method in ("shuffle", *sorted(_PICKS | _NUMBERS)):
        for node, scope in module.facts.calls.get(method, ()):
            if isinstance(node.func, ast.Attribute) and _SYSTEM in program.makers(node.func.value, scope):
                yield Site(node, scope)


def _decision(site: Site, program: Program) -> Decision | None:
    call = site.node
    assert isinstance(call, ast.Call)
    method = last_name(call.func)
    if method == "shuffle":
        return Decision(call, site.scope, "shuffles", call)
    effect = ""
    if method in _PICKS:
        if not call.args or _TEXT.search(ast.unparse(call.args[0])) or isinstance(call.args[0], ast.Constant):
            return None
        effect = "picks"
    elif method in _NUMBERS and program.callee(call, site.scope) is None:
        effect = "draws"
    is_id = method.startswith("uuid")
    found = list(Follow(_POLICY, program).found([Use(call, site.scope, is_id)]))
    decided = next((d for d in found if d is not _ELSEWHERE), None)
    if decided is not None:
        return Decision(call, site.scope, decided.effect, decided.node)
    return Decision(call, site.scope, effect, call) if effect and not found else None


class _Decided(NamedTuple):
    """What the value does at a place; `_ELSEWHERE` where it becomes a name, a pause or a seed."""

    effect: str
    node: ast.AST


_ELSEWHERE = _Decided("", ast.Pass())
_OUT_OF_SIGHT = (Sink(_ELSEWHERE),)


def _judge(use: Use[bool], edges: Edges) -> Steps | None:
    """Its state says whether the value still is the id that it was made as: a key, too large for a place in a list."""
    parent = use.parent
    match parent:
        case ast.Subscript(slice=index) if index is use.node:
            return STOP if use.state or _TEXT.search(ast.unparse(parent.value)) else (Sink(_Decided("picks", parent)),)
        case ast.Compare(ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()]):
            return (Sink(_Decided("decides", parent)),)
        case ast.Lambda() if _is_sort_key(parent, use.scope):
            return (Sink(_Decided("orders", parent)),)
        case ast.FormattedValue() | ast.JoinedStr() | ast.BinOp(left=ast.Constant(value=str())):
            return _OUT_OF_SIGHT
        case ast.BinOp() | ast.Subscript():
            return (use.at(parent).become(False),)
        case ast.UnaryOp() | ast.IfExp() | ast.Starred() | ast.Tuple() | ast.Attribute(attr="int" | "hex" | "bytes"):
            return (use.at(parent),)
        case ast.Call() | ast.keyword():
            return _passed(use, edges.program)
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
            name = last_name(target)
            is_no_data = edges.program.by_name(_is_no_data(name), _NO_DATA, use.scope, name)
            return _OUT_OF_SIGHT if is_no_data else None
        case ast.For(target=target):
            return _OUT_OF_SIGHT if is_label(getattr(target, "id", "")) else STOP
        case ast.Return():
            return None
    return STOP


def _passed(use: Use[bool], program: Program) -> Steps | None:
    call = use.call
    if call is None:
        return STOP
    name = last_name(call.func)
    keyword = getattr(use.parent, "arg", None) or ""
    says = _ELSEWHERE_NAMES.search(name) is not None or _is_no_data(keyword)
    if name in ("join", "str", "format") or program.by_name(says, _NO_DATA, use.scope, keyword or name):
        return _OUT_OF_SIGHT
    if program.callee(call, use.scope) in _BUFFERS:
        return (Sink(_Decided("draws", call)),)
    return (use.at(call),) if name in _CONVERSIONS else None


_POLICY: Policy[bool, _Decided] = Policy("uses of the operating system's random numbers", _judge, bound=60)


def _is_sort_key(function: ast.Lambda, scope: Scope) -> bool:
    keyword = scope.facts.parents.get(function)
    outer = scope.facts.parents.get(keyword) if isinstance(keyword, ast.keyword) else None
    name = last_name(outer.func) if isinstance(outer, ast.Call) else ""
    return name in ("sorted", "sort", "min", "max")


def _is_no_data(name: str) -> bool:
    return is_label(name) or _ELSEWHERE_NAMES.search(name) is not None
