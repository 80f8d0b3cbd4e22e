"""What a finding is recognised by in another version of the code: its rule, its file, and the statement it starts in.

Lines, layout and comments do not count: code that is moved, reformatted or commented keeps its findings. Knows the
text of statements; not what any rule means, nor where earlier findings are kept.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # a run of which everything is known needs no more than the digests
    from hashlib import sha256

    from torchrepro_lint.index import ModuleFacts
    from torchrepro_lint.model import Finding
    from torchrepro_lint.source import SourceFile
else:
    try:  # what `hashlib` has, which imports all of OpenSSL as well
        if sys.version_info >= (3, 12):
            from _sha2 import sha256
        else:
            from _sha256 import sha256
    except ImportError:
        from hashlib import sha256

_LONGEST = 10_000  # characters of a statement that are compared one by one
_SHOWN = 200
_INTRICATE = re.compile("""['"#\\\\]""")  # what may have strings, comments or continued lines
_TRAILING_COMMA = re.compile(r",(?=[)\]}])")
_LENGTH = 16  # hexadecimal digits: a project with a million findings has two alike once in ten million times


class Identity(NamedTuple):
    """What several findings may share: equal statements in one file. `statement` is a digest of rule and text."""

    path: str
    code: str
    statement: str


def identity(finding: Finding) -> Identity:
    """The identity of a finding. Parentheses do not count: formatters put some in and leave some out."""
    family = str(finding.properties.get("family", ""))
    text = _without_parentheses(finding.statement)
    return Identity(finding.location.path, finding.code, _digest(finding.code, family, text))


def statement_at(source: SourceFile, facts: ModuleFacts | None, line: int) -> str:
    """The statement that `line` belongs to, of a compound one its header, as it is compared; of a very long one its
    beginning, and a digest: it may have thousands of findings, each of which is kept with it."""
    first, last = facts.statement_lines(line) if facts is not None else (line, line)
    known: dict[int, str] = facts.statements if facts is not None else {}
    if first not in known:
        last = min(last, len(source.line_starts))
        text = _normalised("\n".join([source.line(number) for number in range(first, last + 1)]))
        if len(text) > _LONGEST:
            plain = _without_parentheses(text)
            text = f"{plain[:_SHOWN]} {_digest(plain)}"
        known[first] = text
    return known[first]


def with_fingerprints(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Sorted findings, each with the digest of its identity and of which among its equals it is."""
    seen: Counter[Identity] = Counter()
    known: dict[tuple[object, ...], Identity] = {}  # of findings in statements that are written alike
    for finding in findings:
        written = finding.location.path, finding.code, str(finding.properties.get("family", "")), finding.statement
        if written not in known:
            known[written] = identity(finding)
        same = known[written]
        seen[same] += 1
        yield finding.numbered(_digest(*same, str(seen[same])))


@cache
def _lexemes() -> re.Pattern[str]:
    """A string; or what a formatter puts in or leaves out: comments, blanks, continued lines, a trailing comma."""
    from torchrepro_lint.source.lexemes import COMMENT, STRING

    return re.compile(rf"(?P<string>{STRING})|{COMMENT}|\\\r?\n|\s+|,(?=(?:\s|{COMMENT})*[)\]}}])")


def _without_parentheses(text: str) -> str:
    return text.replace("(", "").replace(")", "")


def _normalised(text: str) -> str:
    if _INTRICATE.search(text) is None:  # as most statements are: without a search at each character
        return _TRAILING_COMMA.sub("", "".join(text.split()))
    return _lexemes().sub(lambda found: (found["string"] or "").replace("'", '"'), text)


def _digest(*parts: str) -> str:
    return sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:_LENGTH]
