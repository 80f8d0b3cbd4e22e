"""Messages taken apart into prose and code, which stands between backticks. Knows no format."""

from __future__ import annotations

from collections.abc import Iterator


def spans(text: str) -> Iterator[tuple[str, bool]]:
    """Each part of a message and whether it is code; all of it is prose where the backticks do not pair up."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        parts = [text]
    for number, part in enumerate(parts):
        if part:
            yield part, number % 2 == 1
