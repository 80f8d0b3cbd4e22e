"""One card: the typed form of its front matter, and the reading of it from its file.

Rejects a card that does not have this form; does not know what any rule means or how a card is shown.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeGuard, cast

from torchrepro_lint.cards.examples import Example, examples
from torchrepro_lint.cards.form import HEADINGS, CardError, headings
from torchrepro_lint.elements import Certainty, Level

FixKind = Literal["safe", "unsafe", "none"]

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{[a-z_]+\}")


@dataclass(frozen=True, slots=True)
class Card:
    """One rule's page. `body` is the Markdown after the front matter, `body_line` the line it starts on.

    `help` says what to do by hand, `help_for` says it for some of the `messages`. A file that contains none of `words`
    is not looked at by the rule; without any, it looks at every file.
    """

    code: str
    name: str
    summary: str
    level: Level
    certainty: Certainty
    fix: FixKind
    since: str
    message: str
    help: str
    default: bool = True
    tags: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    messages: Mapping[str, str] = field(default_factory=dict)
    help_for: Mapping[str, str] = field(default_factory=dict)
    fix_title: str = ""
    references: tuple[str, ...] = ()
    body: str = ""
    body_line: int = 1
    path: Path = Path()

    def examples(self) -> tuple[Example, ...]:
        """The programs in the card, in order."""
        return tuple(examples(self.path, self.body_line, self.body))

    def sections(self) -> Mapping[str, str]:
        """Heading -> the Markdown below it."""
        starts = headings(self.body.split("\n"))
        lines = self.body.split("\n")
        ends = [index for index, _ in starts[1:]] + [len(lines)]
        return {
            title: "\n".join(lines[index + 1 : end]).strip("\n")
            for (index, title), end in zip(starts, ends, strict=True)
        }


def parse_card(path: Path) -> Card:
    """Read the card at `path`; its place must agree with its code and name."""
    lines = path.read_text(encoding="utf-8").split("\n")
    if lines[0] != "+++":
        raise CardError(path, 1, "a card starts with a line +++")
    try:
        close = lines.index("+++", 1)
    except ValueError:
        raise CardError(path, 1, "the front matter is not closed by a line +++") from None
    reader = _FrontMatter(path, lines[1:close])
    body = "\n".join(lines[close + 1 :])
    card = reader.card(body, close + 2)
    _check_body(card)
    return card


class _FrontMatter:
    """The TOML table at the head of a card, read key by key so that an error can name its line."""

    def __init__(self, path: Path, lines: Sequence[str]) -> None:
        self.path = path
        self.lines = lines
        self.table = self._parse()

    def _parse(self) -> dict[str, Any]:
        if sys.version_info >= (3, 11):
            import tomllib
        else:
            import tomli as tomllib
        try:
            return tomllib.loads("\n".join(self.lines))
        except tomllib.TOMLDecodeError as error:
            place = re.search(r"line (\d+)", str(error))
            line = int(place[1]) + 1 if place else 1
            raise CardError(self.path, line, f"front matter: {error}") from error

    def card(self, body: str, body_line: int) -> Card:
        valid = set(Card.__dataclass_fields__) - {"body", "body_line", "path"}
        for key in self.table:
            if key not in valid:
                raise self.error(key, f"unknown key; valid: {', '.join(sorted(valid))}")
        fix = self.choice("fix", ("safe", "unsafe", "none"))
        if (fix == "none") == bool(self.table.get("fix_title")):
            raise self.error("fix_title", "must be given exactly when the rule has a fix")
        return Card(
            code=self.named("code", self.path.name[:6]),
            name=self.named("name", self.path.stem[7:]),
            summary=self.string("summary"),
            level=Level(self.choice("level", [level.value for level in Level])),
            certainty=Certainty(self.choice("certainty", [certainty.value for certainty in Certainty])),
            fix=cast(FixKind, fix),
            since=self.string("since"),
            message=self.template("message", self.string("message")),
            help=self.template("help", self.string("help")),
            default=self.boolean("default"),
            tags=self.strings("tags"),
            words=self.strings("words"),
            messages=self.templates("messages"),
            help_for=self.help_for(),
            fix_title=self.string("fix_title") if "fix_title" in self.table else "",
            references=self.strings("references"),
            body=body,
            body_line=body_line,
            path=self.path,
        )

    def error(self, key: str, problem: str) -> CardError:
        pattern = re.compile(rf"\[?{re.escape(key)}\b")
        line = next((number for number, text in enumerate(self.lines, 2) if pattern.match(text)), 1)
        return CardError(self.path, line, f"{key}: {problem}")

    def string(self, key: str) -> str:
        value = self.table.get(key)
        if not isinstance(value, str) or not value.strip():
            raise self.error(key, "must be a text" if key in self.table else "is missing")
        return value

    def named(self, key: str, expected: str) -> str:
        value = self.string(key)
        if value != expected:
            raise self.error(key, f"{value!r} is not what the file is named after: {expected!r}")
        if key == "code" and not self.path.parent.name.startswith(value[:4] + "-"):
            raise self.error(key, f"{value!r} does not belong in {self.path.parent.name}/")
        return value

    def choice(self, key: str, valid: Sequence[str]) -> str:
        value = self.string(key)
        if value not in valid:
            raise self.error(key, f"{value!r} is none of {', '.join(valid)}")
        return value

    def boolean(self, key: str) -> bool:
        value = self.table.get(key, True)
        if not isinstance(value, bool):
            raise self.error(key, "must be true or false")
        return value

    def strings(self, key: str) -> tuple[str, ...]:
        value = self.table.get(key, [])
        if not _is_strings(value):
            raise self.error(key, "must be a list of texts")
        return tuple(value)

    def template(self, key: str, value: str) -> str:
        if re.search(r"[{}]", _PLACEHOLDER.sub("", value)):
            raise self.error(key, "a placeholder is {lower_case}; a brace itself is doubled")
        return value

    def templates(self, name: str) -> Mapping[str, str]:
        table = self.table.get(name, {})
        if not isinstance(table, dict) or not _is_strings(list(table.values())):
            raise self.error(name, "must be a table of texts")
        return MappingProxyType({key: self.template(key, value) for key, value in table.items()})

    def help_for(self) -> Mapping[str, str]:
        found = self.templates("help_for")
        if unknown := sorted(found.keys() - self.templates("messages").keys()):
            raise self.error("help_for", f"no message is called {unknown[0]}")
        return found


def _is_strings(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _check_body(card: Card) -> None:
    card.examples()  # first, because an open fence hides headings
    lines = card.body.split("\n")
    found = headings(lines)
    for position, title in enumerate(HEADINGS):
        if position >= len(found):
            raise CardError(card.path, card.body_line + len(lines), f"heading missing: ## {title}")
        if found[position][1] != title:
            problem = f"expected ## {title}, found ## {found[position][1]}"
            raise CardError(card.path, card.body_line + found[position][0], problem)
    if len(found) > len(HEADINGS):
        index, title = found[len(HEADINGS)]
        raise CardError(card.path, card.body_line + index, f"unknown heading: ## {title}")
    if any(line.strip() for line in lines[: found[0][0]]):
        raise CardError(card.path, card.body_line, f"text before ## {HEADINGS[0]}")
    for (index, _), (title, text) in zip(found, card.sections().items(), strict=True):
        if not text.strip() and title != "References":
            raise CardError(card.path, card.body_line + index, f"nothing under ## {title}")
