"""What the catalogue says of PyTorch's constructors, held against the PyTorch that is installed: those that draw change
the state of the global generator, those that only draw when their object is used do not."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from torchrepro_lint import catalogue

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

_MADE_WITH: tuple[tuple[Any, ...], ...] = ((), (4,), (4, 2), (4, 2, 2), (2, 2, 3), (3, 5), (2, (0.5, 0.5)), (4, 4, [2]))
_DATA = ([1.0, 2.0],), ([1.0, 2.0], 2), ([0, 1],)
_LAZY = ("Lazy",)  # their weights are made at the first call


def _states() -> tuple[bytes, Any, Any]:
    return bytes(torch.get_rng_state().numpy()), random.getstate(), numpy.random.get_state()[1].tobytes()


def _rows() -> Iterator[tuple[str, Mapping[str, Any]]]:
    rows = catalogue.names("rng", "draws")
    for name, row in rows.items():
        package, _, last = name.rpartition(".")
        if package in ("torch.nn", "torch.utils.data") and last[:1].isupper():
            yield name, row


def _made(name: str) -> Any:
    owner = torch.nn if name.startswith("torch.nn.") else torch.utils.data
    kind = getattr(owner, name.rpartition(".")[2])
    for arguments in (*_DATA, *_MADE_WITH) if owner is torch.utils.data else _MADE_WITH:
        before = _states()
        try:
            made = kind(*arguments)
        except (TypeError, ValueError, AssertionError, RuntimeError, IndexError):
            continue
        return made, before != _states()
    raise AssertionError(f"no arguments are known that {name} can be made with")


ROWS = dict(_rows())


@pytest.mark.parametrize("name", [n for n in ROWS if not n.rpartition(".")[2].startswith(_LAZY)])
def test_a_constructor_draws_as_the_catalogue_says(name: str) -> None:
    torch.manual_seed(0)
    _, drew = _made(name)
    assert drew is not bool(ROWS[name].get("deferred"))


def test_a_loader_draws_when_it_is_iterated_and_not_before() -> None:
    torch.manual_seed(0)
    before = _states()
    loader = torch.utils.data.DataLoader(list(range(8)), shuffle=True)
    assert _states() == before
    list(loader)
    assert _states() != before
