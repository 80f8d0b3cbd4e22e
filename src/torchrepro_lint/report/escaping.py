"""Names, source and settings of a project as text that nothing obeys: no terminal, no CI system, no reader of JSON.

All that comes from outside goes through here before it is printed. Knows characters, and what of them is a command to
whom; nothing of findings.
"""

from __future__ import annotations

import re
from typing import Any

_BIDIRECTIONAL = "\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069"
_HIDDEN = f"\x7f-\x9f{_BIDIRECTIONAL}\u2028\u2029"
_ODD = f"[\x00-\x1f{_HIDDEN}\ufeff]"
_CI_COMMAND = r"##(?=\w*\[)"  # `##[error]`, `##vso[...]`, `##teamcity[...]`: anywhere in a line of a log


def visible(text: str) -> str:
    """`text` on one line, with nothing in it that a terminal or a CI system would obey instead of showing."""
    if "##" in text:
        text = re.sub(_CI_COMMAND, "#\ufffd", text)
    return text if text.isascii() and text.isprintable() else re.sub(_ODD, _symbol, text)


def github_message(text: str) -> str:
    """The message of a workflow command; of control characters only its newlines stay."""
    return "%0A".join(visible(line).replace("%", "%25") for line in text.split("\n"))


def github_property(text: str) -> str:
    """The value of a property, which is mostly a path: GitHub must read the very same."""
    newlines = {"\n": "%0A", "\r": "%0D"}
    parts = re.split(r"([\r\n])", text)
    written = "".join(newlines.get(part) or visible(part).replace("%", "%25") for part in parts)
    return written.replace(":", "%3A").replace(",", "%2C").replace(";", "%3B")


def as_json(value: Any, indent: int | None = 2) -> str:
    """JSON that reads the same everywhere: what is not to be seen, or is a command to a CI system, as `\\u202e`."""
    import json

    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return re.sub(_CI_COMMAND, r"#\\u0023", re.sub(f"[{_HIDDEN}]", lambda odd: f"\\u{ord(odd[0]):04x}", text))


def as_entities(markup: str) -> str:
    """The same for markup that is escaped already, as `&#x202e;`."""
    return re.sub(_CI_COMMAND, "#&#35;", re.sub(f"[{_HIDDEN}]", lambda odd: f"&#x{ord(odd[0]):x};", markup))


def _symbol(odd: re.Match[str]) -> str:
    character = odd[0]
    if character in "\t\n\r\f":
        return " "
    return chr(0x2400 + ord(character)) if character < " " else "\ufffd"
