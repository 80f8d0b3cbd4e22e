"""Several things in a row, as a sentence names them."""

from __future__ import annotations

import pytest

from torchrepro_lint.checks.listed import listed


@pytest.mark.parametrize(
    ("words", "sentence"),
    [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")],
)
def test_listed(words: list[str], sentence: str) -> None:
    assert listed(words) == sentence
