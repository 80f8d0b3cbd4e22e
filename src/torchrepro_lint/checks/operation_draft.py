"""The verdicts of a file, for TRP501 to TRP504, and one as the draft of a finding: the values in their messages, the
properties that it takes to run the operation, and what was measured of it.

Imports the analysis of operations only for files that call one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.checks.listed import listed
from torchrepro_lint.dataflow import Module, Program, Site
from torchrepro_lint.elements import Certainty, Property
from torchrepro_lint.evidence import DTYPE
from torchrepro_lint.index import arguments_of
from torchrepro_lint.kernels.triggers import GETTER, any_called

if TYPE_CHECKING:
    from torchrepro_lint.kernels.arguments import OperationCall
    from torchrepro_lint.kernels.verdicts import OperationVerdict

MAX_PLACES = 5  # that a finding rests on: calls of a module, arguments that a function passes on

_IMPLIED: Mapping[str, Mapping[str, Property]] = {
    "torch.nn.UpsamplingBilinear2d": {"align_corners": True},
    "torch.nn.functional.upsample_bilinear": {"align_corners": True},
}  # what these pass on to the operation by themselves

_PASS = {"forward": "its forward pass", "backward": "its backward pass", "both": "each of its passes"}

_METHODS = {"half": "float16", "bfloat16": "bfloat16", "double": "float64", "float": "float32"}
_DTYPES = {f"torch.{name}": name for name in ("float16", "bfloat16", "float32", "float64")} | {"torch.half": "float16"}
_KEEP = ("contiguous", "flatten", "reshape", "view", "transpose", "permute", "detach", "clone", "requires_grad_")


def verdicts_of(module: Module, program: Program, *, own: bool = True) -> Iterator[OperationVerdict]:
    """Those on PyTorch's own operations, or on those of other packages."""
    if any_called(module.facts):
        from torchrepro_lint.kernels.verdicts import verdicts

        yield from (v for v in verdicts(module, program) if (v.operation.package == "torch") is own)


def draft_of(verdict: OperationVerdict, program: Program, message: str | None, *, raises: bool = False) -> Draft:
    """The finding at the call. A measurement on CUDA makes it more certain; one of the user's own that showed nothing
    makes it a note, except for a call that `raises` under the program's flag."""
    from torchrepro_lint.kernels.measured import weighed  # imported late: large

    properties, certainty, depends = dict(_properties(verdict)), verdict.certainty, verdict.depends
    arguments = properties["arguments"]
    assert isinstance(arguments, dict)
    dtype = {DTYPE: properties["dtype"]} if "dtype" in properties else {}
    known = weighed(verdict, {**arguments, **dtype}, program)
    if known is not None:
        properties["evidence"] = {**known.measured.as_json(), "words": known.words}
        if known.settled == "confirmed":
            certainty, depends = (Certainty.LIKELY if depends else Certainty.CERTAIN), ()
        elif known.settled == "refuted" and not raises:
            certainty, depends = Certainty.DEPENDS, ("other data than that of the measurement makes it vary",)
    return Draft(
        verdict.call.node,
        _values(verdict),
        message,
        certainty=certainty,
        depends=depends,
        related=tuple(Place(w.scope.facts, w.node, w.message) for w in verdict.related[:MAX_PLACES]),
        properties=properties,
    )


def _values(verdict: OperationVerdict) -> Mapping[str, str]:
    """The placeholders of the cards' messages."""
    operation = verdict.operation
    given = operation.condition or listed(verdict.decided)
    with_given = given if operation.condition or not given else f"with {given}"
    call = f"`{_written(verdict)}` {with_given}".strip()
    return {
        "call": call,
        "pass": _PASS[operation.direction],
        "verify": "; `torchrepro-lint verify` runs it and compares" if verdict.depends else "",
        "kernel": operation.kernel,
        "effect": operation.effect,
        "alternative": operation.alternative.replace("the flag", "`torch.use_deterministic_algorithms(True)`"),
        "switched": f"`torch.use_deterministic_algorithms(True)` is set{_release(verdict)}",
    }


def _written(verdict: OperationVerdict) -> str:
    """What is called; of `super().__init__`, the class whose constructor that is, and of an operation that is got by
    its name, that name."""
    written = verdict.call.written
    return verdict.call.name.rpartition(".")[2] if written.endswith((".__init__", GETTER)) else written


def _release(verdict: OperationVerdict) -> str:
    """From which release of its package on, for another package's operation."""
    operator, number = verdict.behaviour.package[:2], verdict.behaviour.package[2:]
    return f" ({verdict.operation.package} >= {number})" if operator == ">=" else ""


def _properties(verdict: OperationVerdict) -> Mapping[str, Property]:
    """What it takes to run the operation as it runs at this place."""
    from torchrepro_lint.kernels.literals import literals  # imported late: large

    operation = verdict.operation
    shown = literals(verdict.site, (*operation.when, *operation.exact, *verdict.behaviour.when))
    arguments = {**_IMPLIED.get(verdict.call.name, {}), **shown}
    return {
        "operation": operation.id,
        "package": operation.package,
        "spelling": verdict.call.name,
        "direction": operation.direction,
        "devices": list(operation.devices),
        "arguments": arguments,
        **_not_shown(verdict.site, arguments),
    }


def _not_shown(site: OperationCall, arguments: Mapping[str, Property]) -> dict[str, Property]:
    """The parameters with a default that the call passes and whose values the source does not show, and the dtype that
    it gives its input."""
    passed = {n for n, (_, default) in site.signature.parameters.items() if default is not None and _passes(site, n)}
    unread: list[Property] = [*sorted(passed - arguments.keys())]
    dtype = _input_dtype(site)
    return ({"unread": unread} if unread else {}) | ({"dtype": dtype} if dtype else {})


def _passes(site: OperationCall, name: str) -> bool:
    return not isinstance(site.argument(name), ast.expr)


def _input_dtype(site: OperationCall) -> str | None:
    """`bfloat16`, of the first parameter that is converted in plain sight where it is passed."""
    passed = (site.argument(name) for name in site.signature.parameters)
    found = (_converted(value.node, site) for value in passed if isinstance(value, Site))
    return next((dtype for dtype in found if dtype is not None), None)


def _converted(node: ast.expr, site: OperationCall) -> str | None:
    match node:
        case ast.Call(func=ast.Attribute(attr=name), args=[]) if name in _METHODS:
            return _METHODS[name]
        case ast.Call(func=ast.Attribute(attr="to" | "type")):
            given = arguments_of(node)
            return next((dtype for item in given if (dtype := _named(item, site)) is not None), None)
        case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in _KEEP:
            return _converted(inner, site)
    return None


def _named(node: ast.expr, site: OperationCall) -> str | None:
    return _DTYPES.get(site.call.program.qualified(node, site.call.scope) or "")
