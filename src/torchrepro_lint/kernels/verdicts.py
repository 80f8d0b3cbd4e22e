"""Which calls of a file run an operation of the catalogue, and how certain that is.

Joins the catalogue's rows, the arguments at the call, the tensors that reach it and the context it runs in. One
verdict per call; which of them a rule reports, and in which words, is the rule's business.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Call, Module, Program, Site, remembered_in_file, remembered_last, start_of
from torchrepro_lint.dataflow.abstract_values import Parameter
from torchrepro_lint.dataflow.options import is_never_reached
from torchrepro_lint.elements import Certainty
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.kernels.arguments import OperationCall, Related
from torchrepro_lint.kernels.conditions import Holds, Judged, in_doubt, judge
from torchrepro_lint.kernels.context import NAMED_AS_DATA, NOTHING, Context, context, is_part_of_forward, runs_backward
from torchrepro_lint.kernels.layers import freezes_itself, has_parameters
from torchrepro_lint.kernels.module_calls import calls_of, is_outermost, module_calls
from torchrepro_lint.kernels.operations import Behaviour, Operation, rows, signature
from torchrepro_lint.kernels.programs import goes_to_gpu, is_never_trained, stays_on_cpu
from torchrepro_lint.kernels.signatures import listed
from torchrepro_lint.kernels.tensors import Tensors
from torchrepro_lint.kernels.triggers import (
    METHOD,
    calls_of_values,
    derives,
    function_calls,
    mentioned,
    method_calls,
    operator_calls,
    triggers,
)
from torchrepro_lint.project import roles
from torchrepro_lint.project.versions import effective

if TYPE_CHECKING:
    from torchrepro_lint.kernels.determinism import Flag


NEWEST = (99,)  # newer than every release that a row speaks of
OLDEST = (1, 7)  # the first with a flag; the kernels of those before it are no better
_STATIC = frozenset({"generate_square_subsequent_mask"})  # methods of modules that run nothing of them


@dataclass(frozen=True, slots=True, eq=False)
class OperationVerdict:
    """The call at `site` runs `operation`, which behaves as `behaviour` says for the PyTorch in question.

    `exact` says that its result does not vary all the same. `decided` are the conditions that hold, in words, `depends`
    is what only the run decides, as clauses; `related` are places elsewhere that they rest on.
    """

    site: OperationCall
    operation: Operation
    behaviour: Behaviour
    certainty: Certainty
    exact: bool
    decided: tuple[str, ...]
    depends: tuple[str, ...]
    related: tuple[Related, ...]
    flag: Flag | None

    @property
    def call(self) -> Call:
        """The call, or the construction of the module."""
        return self.site.call


class _Fit(NamedTuple):
    """A row whose conditions a call may meet."""

    operation: Operation
    behaviour: Behaviour
    judged: Judged
    exact: bool
    depends: tuple[str, ...]


@remembered_last
def verdicts(module: Module, program: Program) -> tuple[OperationVerdict, ...]:
    """The verdicts of a file, in source order."""
    reader = _Reader(module, program)
    found = [v for call in reader.candidates() if (v := reader.verdict(call)) is not None]
    named = {v.call.node for v in found}
    values = (site for site in calls_of_values(module.facts, program) if site[0] not in named)
    found += [v for site in values if (v := reader.chosen(*site)) is not None]
    reached = (v for v in found if not is_never_reached(v.call.node, v.call.scope, program))
    return tuple(sorted(reached, key=lambda v: start_of(v.call.node)))


class _Reader:
    def __init__(self, module: Module, program: Program) -> None:
        self.module = module
        self.program = program
        self.tensors = Tensors(program)

    @cached_property
    def release(self) -> tuple[int, ...]:
        """The release of PyTorch that the program is judged by."""
        setting = self.program.project.torch_version
        return max(effective(setting).release, OLDEST) if setting else NEWEST

    @cached_property
    def flag(self) -> Flag | None:
        """What the project asks of its operations."""
        from torchrepro_lint.kernels.determinism import requested  # only findings ask

        return requested(self.module.facts, self.program)

    @cached_property
    def on_gpu(self) -> bool:
        """Whether the programs that run the file go to a GPU where there is one."""
        return goes_to_gpu(self.module.facts, self.program)

    @cached_property
    def on_cpu(self) -> bool:
        """Whether they leave everything on the CPU."""
        return not self.on_gpu and stays_on_cpu(self.module.facts, self.program)

    def candidates(self) -> Iterator[Call]:
        """Calls whose name is in the catalogue; of methods only those that a tensor may have."""
        facts = self.module.facts
        if derives(facts):  # subclasses of the catalogue's modules: rare, and much to look through
            yield from self.module.calls(mentioned(facts))
        else:
            yield from self._functions()
        for name, node, scope in operator_calls(facts):
            yield Call(node, scope, name, self.program)
        for name, node, scope in method_calls(facts):
            if self._may_be_method(node, scope):
                yield Call(node, scope, name, self.program)

    def _functions(self) -> Iterator[Call]:
        for names, node, scope in function_calls(self.module.facts):
            if isinstance(node.func, ast.Attribute):
                name = self.tensors.layers.resolve(node.func, scope)
                name = self.program.qualified(node.func, scope) if isinstance(name, Scope) else name
                if name is None and not scope.is_self(node.func.value):
                    name = _of_objects(names, self.module.facts)
            else:
                name = self.program.callee(node, scope)
            if isinstance(name, str) and name in names:
                yield Call(node, scope, name, self.program)

    def _may_be_method(self, call: ast.Call, scope: Scope) -> bool:
        function = call.func
        if not isinstance(function, ast.Attribute) or self.tensors.layers.resolve(function, scope) is not None:
            return False  # torch.median, np.median, or a method that the project defines
        if scope.is_self(function.value):
            return False
        known = self.tensors.traits(function.value, scope).tensor
        return known is True or (known is None and function.attr in catalogue.table("tensors")["only_tensors"])

    def chosen(self, node: ast.Call, scope: Scope) -> OperationVerdict | None:
        """Of the call of a value that may be an operation of the catalogue, the first that varies."""
        if self.program.resolve(node.func, scope) is not None and not isinstance(node.func, ast.Name):
            return None
        callees = self.program.values.callees(node, scope)
        known = [name for name in callees if isinstance(name, str) and name in triggers()]
        found = [v for name in known if (v := self.verdict(Call(node, scope, name, self.program))) is not None]
        if not found or len(found) == len(callees):  # whichever it is, it varies
            return found[0] if found else None
        clause = f"`{found[0].call.written}` is `{found[0].call.name}`"
        return replace(found[0], certainty=Certainty.DEPENDS, depends=(clause, *found[0].depends))

    # -- one call -----------------------------------------------------------------------------------------------
    def verdict(self, call: Call) -> OperationVerdict | None:
        """By the row that fits the call best: one that holds for certain before one that may."""
        site = OperationCall(call, signature(call.name), self.tensors, partial(calls_of, call, self.program))
        fits = [f for row in rows(call.name) if (f := self._fit(row, site)) is not None]
        if not fits or self.on_cpu or _is_let_go(call):
            return None
        fit = max(fits, key=lambda f: f.judged.holds)
        gradient = self._gradient_if_it_trains(fit, site)
        related = [_shown(w) for w in fit.judged.related if not context(w.node, w.scope, self.program).idle]
        if gradient is None or (fit.judged.related and not related):
            return None
        depends = self._depends(fit)
        depends = (*depends, *self._of_inputs(gradient, site, is_open=bool(depends)))
        raises = fit.behaviour.flag == "raises" and self.flag == "strict"
        sure = raises and gradient == "sure" and not (fit.operation.runtime or fit.operation.usual)
        if call.name.startswith(METHOD):
            sure = False  # the receiver only looks like a tensor
        certainty = Certainty.DEPENDS if depends else Certainty.CERTAIN if sure else Certainty.LIKELY
        return OperationVerdict(
            site, fit.operation, fit.behaviour, certainty, fit.exact,
            tuple(fit.judged.decided), depends, tuple(related), self.flag,
        )  # fmt: skip

    def _of_inputs(self, gradient: str, site: OperationCall, *, is_open: bool) -> tuple[str, ...]:
        """In the function that runs the backward pass, a tensor may be a batch as well as what a model made of it; what
        a module without gradients of its own is called with, anything, where nobody can be seen to call it."""
        if gradient == "sure" or _is_module(site.call):
            return ()
        scope = site.call.scope
        may_be_data = runs_backward(scope.function) or self._is_fixed_measure(scope)
        if not may_be_data and (is_open or not self._is_given(site)):
            return ()
        return (f"`{next(iter(site.signature.parameters), 'input')}` requires a gradient",)

    def _is_given(self, site: OperationCall) -> bool:
        """Whether an operation runs on what its function is given, as it is, and nobody can be seen to give what a
        model has made: in a function of a library, or in a model that is no part of another."""
        passed = site.argument(next(iter(site.signature.parameters), ""))
        if not isinstance(passed, Site):
            return False
        found = self.program.origins(_viewed(passed.node), passed.scope)
        return bool(found) and all(isinstance(o, Parameter) and self._is_from_outside(o.scope) for o in found)

    def _is_from_outside(self, function: Scope) -> bool:
        """Whether what a function is given, by nobody that is known, is no part of what a model computes."""
        owner = function.function.parent
        is_forward = function.function.own_name == "forward" and self.tensors.layers.is_module(owner)
        return not is_forward or owner is None or is_outermost(owner, self.program)

    def _is_fixed_measure(self, scope: Scope) -> bool:
        """Whether code lies in a module class that freezes itself, and of whose objects no call is seen."""
        owner = scope.function.parent
        if owner is None or owner.kind != "class" or not freezes_itself(owner, self.program):
            return False
        return not module_calls(owner, self.program)

    def _depends(self, fit: _Fit) -> tuple[str, ...]:
        """What only the run decides. Under the program's flag an operation raises whether or not it would vary."""
        device = () if self.on_gpu else ("the program runs on CUDA",)
        raises = fit.behaviour.flag == "raises" and self.flag == "strict"
        varies = () if raises else (fit.operation.runtime or fit.depends)
        return (*device, *fit.judged.open, *varies)

    def _fit(self, row: Operation, site: OperationCall) -> _Fit | None:
        if _mentions(row.unless_mentioned, site.call.facts):
            return None
        judged = judge(row.when, site)
        if judged.holds is Holds.NO:
            return None
        for behaviour in (b for b in row.behaviour if b.covers(self.release, "cuda")):
            further = judge(behaviour.when, site)
            if further.holds is not Holds.NO:
                exact = judge(row.exact, site).holds if row.exact else Holds.NO
                depends = tuple(in_doubt(row.exact, site)) if exact is Holds.MAYBE else ()
                judged.holds = min(judged.holds, further.holds, Holds.MAYBE if depends else Holds.YES)
                judged.open += further.open
                return _Fit(row, behaviour, judged, behaviour.exact or exact is Holds.YES, depends)
        return None

    def _gradient_if_it_trains(self, fit: _Fit, site: OperationCall) -> Literal["sure", "likely"] | None:
        """Whether the pass that varies is surely run; None where nothing trains, or no gradient can reach it."""
        call, row = site.call, fit.operation
        gradient: bool | None
        is_module = _is_module(call)
        if is_module:
            where, gradient = self._used(site), self._reaches_back(site)
        else:
            where = context(call.node, call.scope, self.program)
            gradient = self._gradient(row, site)
            if self._on_host(site):
                return None
            if where == NAMED_AS_DATA and (gradient or self._is_computed(row, call)):
                where = NOTHING  # a gradient that is seen says more than a name
        if where.role is not None or (row.direction == "backward" and (where.idle or gradient is False)):
            return None
        if (is_module or gradient is not True) and self._handles_data(call):
            return None
        if row.direction == "backward" and is_never_trained(call.facts.source.path, self.program):
            return None
        return "sure" if gradient or row.direction == "forward" else "likely"

    def _is_computed(self, row: Operation, call: Call) -> bool:
        """Whether what varies is the forward pass, as a part of what a module computes."""
        return row.direction != "backward" and is_part_of_forward(call.scope, self.program)

    def _on_host(self, site: OperationCall) -> bool:
        """Whether it runs on the CPU: on tensors made there, as a constructor makes its constants."""
        if site.call.scope.function.own_name == "__init__":
            return True
        names = list(site.signature.parameters)[:1]
        known = [traits.host for name in names for traits, _ in site.traits(name)]
        return bool(known) and all(known)

    def _handles_data(self, call: Call) -> bool:
        owner = call.scope.method_class
        in_module = owner is not None and self.tensors.layers.is_module(owner) and has_parameters(owner, self.program)
        found = roles.handles_data(call.facts.source.rel, in_module=in_module)
        if found:
            self.program.store.decided_by_name("that a file prepares data", call.facts.source.rel)
        return found

    def _gradient(self, row: Operation, site: OperationCall) -> bool | None:
        """Whether a gradient flows into one of the tensors that the operation differentiates."""
        names = list(site.signature.parameters)[: 3 if row.family == "attention" else 1]
        known = [traits for name in names for traits, _ in site.traits(name)]
        if any(t.gradient for t in known):
            return True
        whole = bool(known) and known[0].floating is False
        return False if whole or (known and all(t.gradient is False for t in known)) else None

    def _reaches_back(self, site: OperationCall) -> bool:
        """Whether a gradient flows through a constructed module: into its parameters, or into what it is called with,
        wherever that cannot be seen to have none."""
        if site.call.name not in listed("modules", "without_parameters"):
            return True
        given = [self.tensors.traits(use.args[0], scope).gradient for use, scope in site.uses() if use.args]
        return not given or any(gradient is not False for gradient in given)

    def _used(self, site: OperationCall) -> Context:
        """The context of a constructed module: of its construction, or of all the calls of it."""
        built = context(site.call.node, site.call.scope, self.program)
        if built.role not in (None, "import", "loading"):
            return built
        used = {context(node, scope, self.program) for node, scope in site.uses()}
        return min(used, key=str) if used and all(u.idle for u in used) else NOTHING


def _of_objects(names: Collection[str], facts: ModuleFacts) -> str | None:
    """The method of objects of a library that a file imports, by its last part: `graph.update_all(...)`."""
    methods = (name for name in names if name.split(".")[-2][:1].isupper())
    return next((name for name in methods if name.partition(".")[0] in facts.packages), None)


def _viewed(expr: ast.expr) -> ast.expr:
    """The tensor that `x.reshape(1, -1).float()` has the values of."""
    kept = listed("methods", "keeps_whole")
    while isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr in kept:
        expr = expr.func.value
    return expr


def _is_let_go(call: Call) -> bool:
    """Whether a module is made for a static method alone: `nn.Transformer().generate_square_subsequent_mask(9)`."""
    asked = call.facts.parents[call.node]
    return isinstance(asked, ast.Attribute) and asked.attr in _STATIC


def _is_module(call: Call) -> bool:
    """Whether the call makes a module, which runs the operation whenever it is called."""
    return call.name.rpartition(".")[2][:1].isupper()


def _shown(place: Related) -> Related:
    """An argument is shown with the call that passes it."""
    parents = place.scope.facts.parents
    holder = parents.get(place.node)
    holder = parents[holder] if isinstance(holder, ast.keyword) else holder
    return place._replace(node=holder) if isinstance(holder, ast.Call) else place


@remembered_in_file
def _mentions(words: Sequence[str], facts: ModuleFacts) -> bool:
    """Whether a file has one of the words, in more than an import and what only evaluation runs."""
    if not any(facts.source.matches(re.escape(word)) for word in words):
        return False
    functions = [s for s in facts.scope.descend() if s.kind == "function"]
    idle = [s.node for s in functions if roles.of_function(s.own_name, ()) == "evaluation"]
    return any(
        any(word in line for word in words)
        and not line.startswith(("import ", "from "))
        and not any(f.lineno <= number <= (f.end_lineno or 0) for f in idle)  # type: ignore[attr-defined]
        for number, line in enumerate(facts.source.text.split("\n"), 1)
    )
