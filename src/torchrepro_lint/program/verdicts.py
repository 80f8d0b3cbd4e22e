"""Which calls of a file run an operation of the catalogue, and how certain that is: what the rules TRP5 report.

Joins the catalogue's rows, the arguments at the call, the tensors that reach it and the context it runs in. One
verdict per call; which of them a rule reports, and in which words, is the rule's business.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from torchrepro_lint import catalogue
from torchrepro_lint.index import Scope
from torchrepro_lint.model import Certainty
from torchrepro_lint.program.calls import Call
from torchrepro_lint.program.conditions import CallSite, Holds, Judged, Witness, judge
from torchrepro_lint.program.context import NOTHING, Context, Flag, context, handles_data, requested
from torchrepro_lint.program.instances import calls_of
from torchrepro_lint.program.operations import (
    METHOD,
    Behaviour,
    Operation,
    mentioned,
    method_calls,
    rows,
    signature,
)
from torchrepro_lint.program.program import Module, Program
from torchrepro_lint.program.tensors import Tensors
from torchrepro_lint.program.uses import Uses
from torchrepro_lint.program.versions import effective


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """`call` runs `operation`, which behaves as `behaviour` says for the PyTorch in question.

    `decided` and `open` are the conditions that hold and those that only the run can settle, in words; `witnesses`
    are places elsewhere that they rest on.
    """

    call: Call
    operation: Operation
    behaviour: Behaviour
    certainty: Certainty
    exact: bool
    decided: tuple[str, ...]
    open: tuple[str, ...]
    witnesses: tuple[Witness, ...]
    flag: Flag | None


@lru_cache(maxsize=1)
def verdicts(module: Module, program: Program) -> tuple[Verdict, ...]:
    """The verdicts of a file, in source order."""
    facts = module.facts
    if "torch" not in facts.source.text:
        return ()
    reader = _Reader(module, program)
    found = [v for call in reader.candidates() if (v := reader.verdict(call)) is not None]
    return tuple(sorted(found, key=lambda v: (v.call.node.lineno, v.call.node.col_offset)))


class _Reader:
    def __init__(self, module: Module, program: Program) -> None:
        self.module = module
        self.program = program
        self.tensors = Tensors(program)
        self.uses = Uses(program)
        self._flag: list[Flag | None] = []

    def candidates(self) -> Iterator[Call]:
        """Calls whose name is in the catalogue; of methods only those that a tensor may have."""
        names = mentioned(self.module.facts)
        if names:
            yield from self.module.calls(names)
        for name, node, scope in method_calls(self.module.facts):
            if self._is_method(node, scope):
                yield Call(node, scope, name, self.program)

    def _is_method(self, call: ast.Call, scope: Scope) -> bool:
        function = call.func
        if not isinstance(function, ast.Attribute) or self.program.resolve(function, scope) is not None:
            return False  # torch.median, np.median, or a method that the project defines
        known = self.tensors.traits(function.value, scope).tensor
        return known is True or (known is None and function.attr in catalogue.table("tensors")["only_tensors"])

    # -- one call ---------------------------------------------------------------------------------------------------
    def verdict(self, call: Call) -> Verdict | None:
        """The row that fits the call best: one that holds for certain before one that may."""
        site = CallSite(call, signature(call.name), self.tensors, lambda: calls_of(call, self.uses))
        found = [f for row in rows(call.name) if row.package == "torch" and (f := self._fits(row, site)) is not None]
        if not found:
            return None
        best = max(found, key=lambda f: f[2].holds)
        row, behaviour, judged, exact = best
        certainty = self._certainty(row, site, judged)
        if certainty is None:
            return None
        witnesses = [w for w in judged.witnesses if not context(w.node, w.scope, self.program).idle]
        if judged.witnesses and not witnesses:
            return None
        words = tuple(w for _, w in judged.open if w)
        decided = tuple(w for name, w in judged.decided if w and call.argument(name, None) is not None)
        return Verdict(call, row, behaviour, certainty, exact, decided, words, tuple(witnesses), self._requested())

    def _fits(self, row: Operation, site: CallSite) -> tuple[Operation, Behaviour, Judged, bool] | None:
        release = effective(self.program.torch_version).release
        judged = judge(row.when, site)
        if judged.holds is Holds.NO:
            return None
        for behaviour in row.behaviour:
            if behaviour.covers(release, "cuda"):
                further = judge(behaviour.when, site)
                if further.holds is not Holds.NO:
                    judged.holds = min(judged.holds, further.holds)
                    judged.open += further.open
                    exact = behaviour.exact or (bool(row.exact) and judge(row.exact, site).holds is Holds.YES)
                    return row, behaviour, judged, exact
        return None

    def _certainty(self, row: Operation, site: CallSite, judged: Judged) -> Certainty | None:
        """None where nothing trains here, or no gradient can reach the operation."""
        call = site.call
        constructed = call.node.func is not None and _is_module(row, call.name)
        where = self._used(site) if constructed else context(call.node, call.scope, self.program)
        if row.direction == "backward" and where.idle:
            return None
        if where.role is not None:
            return None
        gradient = True if constructed else self._gradient(row, site)
        if row.direction == "backward" and gradient is False:
            return None
        if gradient is not True and not constructed and handles_data(call.scope):
            return None
        sure = judged.holds is Holds.YES and not row.runtime and not call.name.startswith(METHOD)
        return Certainty.CERTAIN if sure and (gradient is True or row.direction != "backward") else Certainty.DEPENDS

    def _gradient(self, row: Operation, site: CallSite) -> bool | None:
        if site.signature is None or not site.signature.parameters:
            return None
        known = [site.traits(name) for name in list(site.signature.parameters)[: 3 if row.family == "attention" else 1]]
        found = [traits.gradient for each in known for traits, _ in each]
        integers = [traits.floating for each in known[:1] for traits, _ in each]
        if integers and all(f is False for f in integers):
            return False
        return True if True in found else False if found and all(f is False for f in found) else None

    def _used(self, site: CallSite) -> Context:
        """The context of a constructed module: of its construction, or of all the calls of it."""
        call = site.call
        built = context(call.node, call.scope, self.program)
        if built.role is not None and built.role != "import":
            return built
        used = [context(node, scope, self.program) for node, scope in calls_of(call, self.uses)]
        idle = used and all(u.idle for u in used)
        return used[0] if idle else NOTHING

    def _requested(self) -> Flag | None:
        if not self._flag:
            self._flag.append(requested(self.module, self.program))
        return self._flag[0]


def _is_module(row: Operation, name: str) -> bool:
    return name.rpartition(".")[2][:1].isupper() and not name.startswith(METHOD) and name in row.names
