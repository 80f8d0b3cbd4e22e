"""The comments that silence rules: `# noqa`, `# torchrepro: ignore` and `# torchrepro: ignore-file`.

Knows where they are; not which statement one belongs to, nor whether its names exist.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from torchrepro_lint.elements import Suppression

_MENTION = re.compile(r"#[^\S\r\n]*(?:noqa|torchrepro[^\S\r\n]*:)[^\r\n]*", re.IGNORECASE)


def find_suppressions(
    text: str, line_starts: Callable[[], Sequence[int]], *, plain: bool = False
) -> tuple[Suppression, ...]:
    """Every suppression in the comments of `text`, in order; a `noqa` for other tools only is left out. `plain` text
    is not Python: a comment of YAML or TOML is what a blank and `#` begin."""
    mentions = list(_MENTION.finditer(text))
    if not mentions:
        return ()
    from torchrepro_lint.source.comments import comments_to, plain_comments_to
    from torchrepro_lint.source.directives import moved, parse

    parsed = {comment: tuple(parse(comment)) for comment in {mention.group() for mention in mentions}}
    places = [mention.start() for mention in mentions if parsed[mention.group()]]
    found = plain_comments_to if plain else comments_to
    items: list[Suppression] = []
    for line, column, comment in found(text, line_starts(), places) if places else ():
        if comment not in parsed:
            parsed[comment] = tuple(parse(comment))
        items += [moved(item, line, column) for item in parsed[comment]]
    return tuple(items)
