"""Which rules are run on a file: those that the settings enable there, and that can have anything to report in its
text. Knows their codes, and the words that their cards name, and nothing of what they look for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path

from torchrepro_lint import cards
from torchrepro_lint.settings import Settings


def enabled(settings: Settings, path: Path) -> frozenset[str]:
    """The rules that are switched on for a file."""
    ignored = settings.ignored_in(path, cards.codes())
    return _enabled(settings) - ignored if ignored else _enabled(settings)


@lru_cache(maxsize=64)
def _enabled(settings: Settings) -> frozenset[str]:
    every = frozenset(cards.codes())
    return settings.enabled(every - cards.off_by_default(), cards.codes())


def worth_a_look(codes: Iterable[str], text: str) -> frozenset[str]:
    """Those of the rules of which the text has one of the words that their cards name."""
    words, found = cards.words(), _words_in(text)
    return frozenset(code for code in codes if code not in words or not found.isdisjoint(words[code]))


def _words_in(text: str) -> set[str]:
    """The cards' words that a text has; where `seed` is not, `set_seed` is not looked for."""
    found: set[str] = set()
    for word, parts in _parts_of_words().items():
        if found.issuperset(parts) and word in text:
            found.add(word)
    return found


@cache
def _parts_of_words() -> Mapping[str, tuple[str, ...]]:
    """Each word, the shortest first, and the others that are part of it."""
    words = sorted({word for of_card in cards.words().values() for word in of_card}, key=lambda word: (len(word), word))
    return {word: tuple(other for other in words if other in word and other != word) for word in words}
