"""The two machines of the proofs, switched on once for all programs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .machines import Machine, two_machines


@pytest.fixture(scope="session")
def machines() -> Iterator[list[Machine]]:
    pytest.importorskip("torch", reason="the programs train with PyTorch")
    with two_machines() as both:
        yield both
