"""Read the rule cards in `rules/`: one Markdown page per rule, whose front matter and examples are data.

A card is the rule's documentation, its message templates and its tests. Names and defaults are read from the files
without parsing them; a page is parsed when asked for. Does not know what any rule means or which rules are selected.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchrepro_lint.cards.card import Card, FixKind, parse_card
    from torchrepro_lint.cards.examples import Example, Kind, Mark
    from torchrepro_lint.cards.form import HEADINGS, CardError

__all__ = [
    "HEADINGS",
    "Card",
    "CardError",
    "Example",
    "FixKind",
    "Kind",
    "Mark",
    "codes",
    "load_card",
    "load_cards",
    "off_by_default",
    "page",
    "parse_card",
    "rules_dir",
    "words",
]

_LATER = {
    **dict.fromkeys(("Card", "FixKind", "parse_card"), "torchrepro_lint.cards.card"),
    **dict.fromkeys(("Example", "Kind", "Mark"), "torchrepro_lint.cards.examples"),
    **dict.fromkeys(("HEADINGS", "CardError"), "torchrepro_lint.cards.form"),
}
_OFF = "\ndefault = false\n"
_WORDS = r"(?m)^words\s*=\s*\[([^]]*)\]"


def __getattr__(name: str) -> Any:
    """Imports lazily what only a run with findings needs."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


def rules_dir() -> Path:
    """Where the cards are: inside the installed package, else in the repository it is run from."""
    package = Path(__file__).parents[1]
    inside = package / "_rules"
    return inside if inside.is_dir() else package.parents[1] / "rules"


@cache
def _paths() -> Mapping[str, str]:
    found: dict[str, str] = {}  # no Path for each: this runs on every start
    for group in os.scandir(rules_dir()):
        if not (group.name.startswith("TRP") and group.is_dir()):
            continue
        for name in os.listdir(group.path):  # noqa: PTH208 - runs on every start
            code, is_card = name[:6], name[6:7] == "-" and name.endswith(".md")
            if not is_card or code in found:
                from torchrepro_lint.cards.form import CardError

                problem = f"{code} has another card" if is_card else "the file must be named <CODE>-<name>.md"
                raise CardError(Path(group.path, name), 1, problem)
            found[code] = os.path.join(group.path, name)  # noqa: PTH118
    return dict(sorted(found.items()))


@cache
def codes() -> Mapping[str, str]:
    """Code -> name of every rule, sorted by code, from the file names alone."""
    return MappingProxyType({code: path.rpartition(f"{code}-")[2][:-3] for code, path in _paths().items()})


def page(code: str) -> str:
    """The path of a rule's card below the folder of all cards, with `/`."""
    return "/".join(Path(_paths()[code]).parts[-2:])


@cache
def off_by_default() -> frozenset[str]:
    """The codes of the rules that run only when selected, read from the front matters."""
    return frozenset(code for code, head in _heads().items() if _OFF in f"{head}\n")


@cache
def words() -> Mapping[str, tuple[str, ...]]:
    """Code -> the words of which a file must have one for the rule to have anything to report in it.

    A rule without such words is absent: it looks at every file.
    """
    listed = {code: re.search(_WORDS, head) for code, head in _heads().items()}
    return {code: tuple(re.findall(r'"([^"]+)"', found[1])) for code, found in listed.items() if found}


@cache
def _heads() -> Mapping[str, str]:
    """Code -> front matter as text, not parsed."""
    heads: dict[str, str] = {}
    for code, path in _paths().items():
        with open(path, "rb") as file:  # noqa: PTH123 - runs on every start
            heads[code] = file.read(4096).split(b"\n+++", 1)[0].decode("utf-8", "replace")
    return heads


@cache
def load_card(code: str) -> Card:
    """Parse the card of one rule. Raises KeyError for an unknown code, CardError for a malformed card."""
    from torchrepro_lint.cards.card import parse_card

    return parse_card(Path(_paths()[code]))


@cache
def load_cards() -> Mapping[str, Card]:
    """Every card, sorted by code."""
    return MappingProxyType({code: load_card(code) for code in _paths()})
