"""The comments that silence rules: `# noqa`, `# torchrepro: ignore` and `# torchrepro: ignore-file`.

Knows where they are; not which statement one belongs to, nor whether its names exist.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from torchrepro_lint.model import Range

SuppressionKind = Literal["noqa", "ignore", "ignore-file"]
_MENTION = re.compile(r"#[^\S\r\n]*(?:noqa|torchrepro[^\S\r\n]*:)[^\r\n]*", re.IGNORECASE)


class Suppression(NamedTuple):
    """One suppressing comment.

    `codes` are our codes (upper case), prefixes and rule names, None for everything; `code_ranges` has one
    place for each. `range` runs from the comment's `#` to its end, or to the next comment on the line.
    `foreign` is true when other tools' codes stand in the same `noqa`.
    """

    line: int
    kind: SuppressionKind
    codes: tuple[str, ...] | None
    range: Range
    code_ranges: tuple[Range, ...]
    foreign: bool = False


def find_suppressions(text: str, line_starts: Callable[[], Sequence[int]]) -> tuple[Suppression, ...]:
    """Every suppression in the comments of `text`, in order; a `noqa` for other tools only is left out."""
    mentions = list(_MENTION.finditer(text))
    if not mentions:
        return ()
    from torchrepro_lint.source.comments import comments_to
    from torchrepro_lint.source.directives import parse

    places = [mention.start() for mention in mentions if any(parse(mention.group(), 1, 0))]
    comments = comments_to(text, line_starts(), places) if places else ()
    return tuple(item for line, column, comment in comments for item in parse(comment, line, column))
