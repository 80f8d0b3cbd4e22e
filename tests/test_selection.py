"""Which rules look at a file."""

from __future__ import annotations

from pathlib import Path

from torchrepro_lint import cards
from torchrepro_lint.selection import enabled, worth_a_look
from torchrepro_lint.settings import Settings


def by_card(text: str) -> set[str]:
    """What the cards say, word by word."""
    words = cards.words()
    return {code for code in cards.codes() if code not in words or any(word in text for word in words[code])}


def test_rules_go_by_the_words_of_their_cards() -> None:
    every = [word for of_card in cards.words().values() for word in of_card]
    for text in ("", "import torch", *every, *(f"x{word}y" for word in every), "Set_Seed", "seed all rng"):
        assert worth_a_look(cards.codes(), text) == by_card(text), text


def test_a_rule_that_is_off_is_not_run(tmp_path: Path) -> None:
    settings = Settings(tmp_path, ignore=("TRP2",), per_file_ignores=(("tests/*", ("TRP101",)),))
    here, in_tests = enabled(settings, tmp_path / "a.py"), enabled(settings, tmp_path / "tests" / "a.py")
    assert "TRP201" not in here and "TRP101" in here
    assert here - in_tests == {"TRP101"}
    assert not here & cards.off_by_default()
