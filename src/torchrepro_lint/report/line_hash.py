"""The hash by which GitHub recognises a line of code in another version of its file (`primaryLocationLineHash`).

As github/codeql-action computes it: over the first hundred characters from the beginning of the line, blanks and
tabs left out; lines with equal hashes are numbered. Given in a report, it must be the same, or GitHub warns.
"""

from __future__ import annotations

from collections import Counter

_LENGTH = 100
_FACTOR = 37
_MASK = (1 << 64) - 1
_END = 65535  # stands after the last character, and nulls after it
_FIRST_FACTOR = pow(_FACTOR, _LENGTH, 1 << 64)


def line_hashes(text: str) -> list[str]:
    """The hash of each line; a final newline starts one more, empty, line."""
    codes, starts = _codes(text.replace("\r\n", "\n").replace("\r", "\n"))
    wanted = set(starts)
    hashes: dict[int, int] = {}
    value = 0
    for at, code in enumerate(codes):  # the window ends with this code
        value = value * _FACTOR + code
        if at >= _LENGTH:
            value -= _FIRST_FACTOR * codes[at - _LENGTH]
        value &= _MASK
        if (first := at - _LENGTH + 1) in wanted:
            hashes[first] = value
    seen: Counter[int] = Counter()
    found: list[str] = []
    for start in starts:
        seen[hashes[start]] += 1
        found.append(f"{hashes[start]:x}:{seen[hashes[start]]}")
    return found


def _codes(text: str) -> tuple[list[int], list[int]]:
    """The UTF-16 units that count, and where in them each line begins."""
    codes: list[int] = []
    starts: list[int] = []
    for line in text.split("\n"):
        starts.append(len(codes))
        kept = line.replace(" ", "").replace("\t", "")[:_LENGTH]  # no window reaches further into a line
        units = kept.encode("utf-16-le", "surrogatepass")
        codes += [units[at] | units[at + 1] << 8 for at in range(0, len(units), 2)]
        codes.append(ord("\n"))
    codes[-1] = _END
    return codes + [0] * _LENGTH, starts
