"""The user's own module as an experiment: forward and backward from the same parameters, buffers, batch and generators.

Imports and calls what the user has named, and nothing before. Knows no layer.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

import torch

from torchrepro_lint.verify.experiment import Experiment, Unsupported
from torchrepro_lint.verify.given import FOLDER, Given
from torchrepro_lint.verify.probes.inputs import words
from torchrepro_lint.verify.random_state import RandomState

_INPUT = "argument"


def user_module(device: torch.device, arguments: Mapping[str, object]) -> Iterator[Experiment]:
    """One experiment. Raises Unsupported where there is no such module, or no such batch."""
    given = arguments if isinstance(arguments, Given) else Given(arguments)
    _enter(str(given[FOLDER]))
    RandomState.seeded(device)
    module = _called(str(given["module"]))
    if not isinstance(module, torch.nn.Module):
        raise Unsupported(f"{given['module']} gives no torch.nn.Module but a {type(module).__name__}")
    batch = _called(str(given["inputs"]))
    module = module.to(device)
    state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    positional, keywords = _arguments(_moved(batch, device))
    found: list[torch.Tensor] = []
    template = _emptied((positional, keywords), found)

    def operation(*tensors: torch.Tensor) -> object:
        values = iter(tensors[len(state) :])
        args, options = _filled(template, values)
        return _plain(torch.func.functional_call(module, dict(zip(state, tensors, strict=False)), args, options))

    yield Experiment(
        f"{type(module).__name__} with {sum(p.numel() for p in module.parameters())} parameters of "
        + f"{', '.join(words(tensor) for tensor in found) or 'no tensor'}; backward",
        (*(tensor.detach().requires_grad_(tensor.requires_grad) for tensor in state.values()), *found),
        operation,
        backward=any(p.requires_grad for p in module.parameters()),
        prelude=None,
        names=(*state, *(f"{_INPUT} {number}" for number in range(1, len(found) + 1))),
        module=module,
    )


def _enter(folder: str) -> None:
    """Where the user's modules are imported from, as `python -m` does."""
    os.chdir(folder)
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _called(name: str) -> object:
    """`package.module:function`, called; anything else that it names, as it is."""
    path, _, attribute = name.partition(":")
    try:
        found: Any = import_module(path)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise Unsupported(f"{name} cannot be imported: {error}") from error
    return found() if callable(found) and not isinstance(found, torch.nn.Module) else found


def _arguments(batch: object) -> tuple[tuple[object, ...], dict[str, object]]:
    """What the module is called with: the values of a tuple or a list, the keywords of a mapping, or one value."""
    if isinstance(batch, Mapping):
        return (), dict(batch)
    return (tuple(batch) if isinstance(batch, (tuple, list)) else (batch,)), {}


def _mapped(value: object, change: Callable[[object], object]) -> object:
    match value:
        case dict():
            return {name: _mapped(item, change) for name, item in value.items()}
        case list():
            return [_mapped(item, change) for item in value]
        case tuple() if type(value) is tuple:
            return tuple(_mapped(item, change) for item in value)
    return change(value)


def _moved(batch: object, device: torch.device) -> object:
    plain = dict(batch) if isinstance(batch, Mapping) else batch
    return _mapped(plain, lambda item: item.to(device) if hasattr(item, "to") else item)


class _Gap:
    """The place of a tensor."""


def _emptied(value: object, found: list[torch.Tensor]) -> object:
    def emptied(item: object) -> object:
        if not isinstance(item, torch.Tensor):
            return item
        found.append(item)
        return _Gap

    return _mapped(value, emptied)


def _filled(template: object, values: Iterator[torch.Tensor]) -> Any:
    return _mapped(template, lambda item: next(values) if item is _Gap else item)


def _plain(output: object) -> object:
    """What a dataclass holds as a mapping."""
    if dataclasses.is_dataclass(output) and not isinstance(output, (type, Mapping)):
        return {field.name: getattr(output, field.name) for field in dataclasses.fields(output)}
    return output
