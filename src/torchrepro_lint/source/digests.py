"""What tells whether the code of a file is still the same.

Two texts with the same code differ in comments and empty lines alone, so that their syntax trees are the same but for
the numbers of the lines, which keep their order. Where strings cannot be told from comments for certain, all of the
text is its code.
"""

from __future__ import annotations

import re
import sys

from torchrepro_lint.reading import digest
from torchrepro_lint.source.lexemes import COMMENT, STRING

# An empty line behind a backslash ends the statement, and stays.
_BEHIND = r"(?:(?<=\n)(?<!\\\n)|\A)"
_LAYOUT = rf"({STRING})|{_BEHIND}[ \t\f]*(?:{COMMENT})?\n|[ \t\f]*{COMMENT}"
_F_STRING = rf"(?i)(?<!\w)(?:[ft]r?|r[ft])({STRING})"
_REUSES_QUOTES = sys.version_info >= (3, 12)


def code_digest(text: str) -> str | None:
    """A name for what is left of a file without comments and empty lines; None where that cannot be told."""
    if "\r" in text or not _is_plain(text):
        return None
    return digest(re.sub(_LAYOUT, r"\1", text).encode(errors="surrogatepass"))


def _is_plain(text: str) -> bool:
    """Whether no replacement field of an f-string has quotes like those around it: the string would seem to end there,
    within braces."""
    if not _REUSES_QUOTES:
        return True
    inner = (match[1].replace("{{", "").replace("}}", "") for match in re.finditer(_F_STRING, text))
    return all(string.count("{") == string.count("}") for string in inner)
