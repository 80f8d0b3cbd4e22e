"""A change to a file as a patch that git can apply."""

from __future__ import annotations

import re


def unified_diff(rel: str, before: str, after: str) -> str:
    """The change as a patch that `git apply` takes, empty when there is none; lines end at line feeds."""
    from difflib import unified_diff as diff_lines

    lines = diff_lines(_lines(before), _lines(after), _diff_name("a/" + rel), _diff_name("b/" + rel))
    whole = (line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    return "".join(whole)


def renamed(diff: str, rel: str) -> str:
    """The same change of a file that is called otherwise."""
    changes = diff.split("\n", 2)[2]
    return f"--- {_diff_name('a/' + rel)}\n+++ {_diff_name('b/' + rel)}\n{changes}"


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _diff_name(name: str) -> str:
    """As git writes it: a tab ends a name with blanks in it; odd characters are quoted."""
    if re.search(r'["\\\x00-\x1f\x7f]', name):
        quoted = re.sub(r'["\\]', r"\\\g<0>", name)
        return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda odd: f"\\{ord(odd.group()):03o}", quoted) + '"'
    return f"{name}\t" if " " in name else name
