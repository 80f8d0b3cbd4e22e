"""What TRP501 to TRP504 say about an operation: the values in their messages, and the properties of their findings."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

from torchrepro_lint.checks.draft import Place
from torchrepro_lint.checks.listed import listed
from torchrepro_lint.kernels.triggers import GETTER

if TYPE_CHECKING:
    from torchrepro_lint.elements import Property
    from torchrepro_lint.kernels.arguments import OperationCall
    from torchrepro_lint.kernels.verdicts import OperationVerdict

MAX_PLACES = 5

_IMPLIED: Mapping[str, Mapping[str, Property]] = {
    "torch.nn.UpsamplingBilinear2d": {"align_corners": True},
    "torch.nn.functional.upsample_bilinear": {"align_corners": True},
}  # what these pass on to the operation by themselves

_PASS = {
    "forward": "its forward pass",
    "backward": "its backward pass",
    "both": "each of its passes",
}


def values_of(verdict: OperationVerdict) -> Mapping[str, str]:
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


def properties_of(verdict: OperationVerdict) -> Mapping[str, Property]:
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
    from torchrepro_lint.checks.input_dtype import input_dtype

    passed = {n for n, (_, default) in site.signature.parameters.items() if default is not None and _passes(site, n)}
    unread: list[Property] = [*sorted(passed - arguments.keys())]
    dtype = input_dtype(site)
    return ({"unread": unread} if unread else {}) | ({"dtype": dtype} if dtype else {})


def _passes(site: OperationCall, name: str) -> bool:
    return not isinstance(site.argument(name), ast.expr)


def places_of(verdict: OperationVerdict) -> tuple[Place, ...]:
    """The places that a verdict rests on: calls of a module, arguments that a function passes on."""
    return tuple(Place(w.scope.facts, w.node, w.message) for w in verdict.related[:MAX_PLACES])
