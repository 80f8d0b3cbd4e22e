"""Which submodule is the first that makes different results of equal inputs, forward or backward.

Hooks take digests: of what each submodule is called with and gives back, and of the gradients that each node of the
graph gets and passes on. They change nothing that is computed; a node belongs to the innermost submodule that made it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from torchrepro_lint.verify.bits import digest
from torchrepro_lint.verify.results import Place
from torchrepro_lint.verify.trial import Trial, tensors

_RUNS = 20


@dataclass(frozen=True)
class _Step:
    """What a submodule, or a node of the graph, made of what."""

    place: Place
    given: str
    made: str


def locate(trial: Trial, module: torch.nn.Module, before: Callable[[], None]) -> Place | None:
    """The first place whose inputs agree in two runs and whose results do not; None where hooks see no difference."""
    first = _steps(trial, module, before)
    for _ in range(_RUNS - 1):
        place = _parted(first, _steps(trial, module, before))
        if place is not None:
            return place
    return None


def _parted(one: Sequence[_Step], other: Sequence[_Step]) -> Place | None:
    for a, b in zip(one, other, strict=False):
        if a.place != b.place:
            return a.place  # another way through the program
        if a.given == b.given and a.made != b.made:
            return a.place
    return None


def _steps(trial: Trial, module: torch.nn.Module, before: Callable[[], None]) -> list[_Step]:
    steps: list[_Step] = []
    before()
    with _watched(module, steps):
        trial.run()
    return steps


@contextmanager
def _watched(module: torch.nn.Module, steps: list[_Step]) -> Iterator[None]:
    owners: set[Any] = set()  # nodes that have an owner; held, so that no other gets the id of one
    given: list[tuple[str, set[Any]]] = []

    def enter(_: torch.nn.Module, args: Any, kwargs: Any) -> None:
        found = list(tensors((args, kwargs)))
        given.append((_digest(found), {t.grad_fn for t in found if t.grad_fn is not None}))

    def leave(name: str, kind: str) -> Callable[..., None]:
        def hook(_: torch.nn.Module, args: Any, kwargs: Any, output: Any) -> None:  # noqa: ARG001 (as it is called)
            taken, roots = given.pop()
            made = list(tensors(output))
            steps.append(_Step(Place(name, kind, "forward"), taken, _digest(made)))
            for node in _nodes(made, owners | roots):
                owners.add(node)
                node.register_hook(_backward(Place(name, kind, "backward", node.name()), steps))

        return hook

    with ExitStack() as stack:
        for name, submodule in module.named_modules():
            hooks = (
                submodule.register_forward_pre_hook(enter, with_kwargs=True),
                submodule.register_forward_hook(leave(name, type(submodule).__name__), with_kwargs=True),
            )
            for handle in hooks:
                stack.callback(handle.remove)
        yield


def _backward(place: Place, steps: list[_Step]) -> Callable[..., None]:
    def hook(passed_on: Sequence[Any], got: Sequence[Any]) -> None:
        steps.append(_Step(place, _digest(list(tensors(got))), _digest(list(tensors(passed_on)))))

    return hook


def _nodes(outputs: Sequence[torch.Tensor], known: set[Any]) -> Iterator[Any]:
    """The nodes that outputs rest on, as far as nobody owns them, in the order in which gradients pass."""
    waiting: list[Any] = [t.grad_fn for t in outputs]
    seen = set(known)
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if node.name() != "torch::autograd::AccumulateGrad":
            yield node
            waiting += [nearer for nearer, _ in node.next_functions]


def _digest(found: Sequence[torch.Tensor]) -> str:
    return digest({str(number): tensor for number, tensor in enumerate(found)})
