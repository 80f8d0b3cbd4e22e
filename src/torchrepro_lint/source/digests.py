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

_APART = rf"({STRING}|{COMMENT})"  # begins with one of three characters: the others are skipped fast
# Behind a backslash an empty line ends the statement, and a blank is an error.
_BEHIND_BACKSLASH = r"\\(?:[ \t\f]+|\n[ \t\f]*)(?:\n|\Z)"
_F_STRING = rf"(?i)(?<!\w)(?:[ft]r?|r[ft])({STRING})"
_REUSES_QUOTES = sys.version_info >= (3, 12)


def code_digest(text: str) -> str | None:
    """A name for what is left of a file without comments, empty lines and blanks at the ends of lines; None where that
    cannot be told."""
    if "\r" in text or not _is_plain(text):
        return None
    parts = re.split(_APART, text)
    apart = parts[1::2]
    parts[1::2] = ["" if part[0] == "#" else '"' for part in apart]
    code = "".join(parts)
    if "\\" not in code or re.search(_BEHIND_BACKSLASH, code) is None:
        code = "\n".join(filter(None, map(_without_end, code.split("\n"))))
    strings = [part for part in apart if part[0] != "#"]
    return digest("\0".join([code, *strings]).encode(errors="surrogatepass"))


def _without_end(line: str) -> str:
    return line.rstrip(" \t\f")


def _is_plain(text: str) -> bool:
    """Whether no replacement field of an f-string has quotes like those around it: the string would seem to end there,
    within braces."""
    if not _REUSES_QUOTES:
        return True
    inner = (match[1].replace("{{", "").replace("}}", "") for match in re.finditer(_F_STRING, text))
    return all(string.count("{") == string.count("}") for string in inner)
