"""Where strings and comments are, by regular expression: many times faster than Python's own tokenizer.

Right for all code but replacement fields of f-strings that reuse their quotes (Python 3.12), where a mistake
lasts to the end of the line at most.
"""

from __future__ import annotations

COMMENT = r"#[^\r\n]*"


def _triple(quote: str) -> str:
    inside = rf"[^{quote}\\]*"
    return rf"{quote * 3}{inside}(?:(?:\\[\s\S]|{quote}(?!{quote * 2})){inside})*(?:{quote * 3})?"


def _single(quote: str) -> str:
    inside = rf"[^{quote}\\\r\n]*"
    return rf"{quote}{inside}(?:\\(?:\r\n|[\s\S]){inside})*{quote}?"


STRING = "|".join((_triple('"'), _triple("'"), _single('"'), _single("'")))
