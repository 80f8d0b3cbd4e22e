"""What holds of every run, whatever the input: it ends, soon, without a crash, and says the same again; and of a fix."""

from __future__ import annotations

import ast
import difflib
import io
import re
import signal
import time
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from torchrepro_lint import cards
from torchrepro_lint.checks.switch_edit import PRAISE
from torchrepro_lint.engine import Request, Result, check
from torchrepro_lint.repair import fix
from torchrepro_lint.report import Context, renderer
from torchrepro_lint.settings import SettingsError, SettingsResolver

HANG = 60  # seconds of CPU after which a run is ended
SLOW = 1.0, 200e-6  # seconds of CPU that a run may take, and as many more for each character
_NEWLINE = re.compile(r"\r\n|\r|\n")  # of Python: a form feed and the like end no line
_SUPPRESSION = re.compile(r"#\s*(noqa|torchrepro)", re.IGNORECASE)


class HangError(BaseException):
    """A run does not end. Not an Exception: nothing that is linted may catch it."""


@contextmanager
def limited(seconds: float = HANG) -> Iterator[None]:
    """Raise HangError, where the run then is, after so much CPU time."""

    def ended(number: int, frame: FrameType | None) -> None:
        raise HangError

    before = signal.signal(signal.SIGVTALRM, ended)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def of_check(folder: Path, size: int, *, isolated: bool = True, again: bool = True) -> Iterator[str]:
    """What is wrong with a run over a folder that has `size` characters, and with another one where it is done again."""
    start = time.process_time()
    try:
        one = _reported(folder, isolated)
    except SettingsError as error:
        if isolated or len(str(error)) > 6000:
            yield f"settings: {error}"
        return
    taken = time.process_time() - start
    if taken > SLOW[0] + size * SLOW[1]:
        yield f"slow: {taken:.1f} s of CPU for {size} characters"
    yield from (line for line in one.partition("\f")[0].splitlines() if ": TRP003 " in line)
    if again and _reported(folder, isolated) != one:
        yield "another output on the second run"


def _reported(folder: Path, isolated: bool) -> str:
    result = check(_request(folder, isolated))
    context = Context(False, 100, folder, False)
    texts = ["".join(renderer(form)(result, context)) for form in ("concise", "full", "json", "github")]
    return "\f".join(texts).encode("utf-8", "backslashreplace").decode()


def of_fix(folder: Path) -> Iterator[str]:
    """What is wrong with all fixes in a folder, which are made. Suppressions stay: they are comments."""
    before = _texts(folder)
    made = _fixed(folder)
    after = _texts(folder)
    if before.keys() != after.keys():
        yield f"files came or went: {before.keys() ^ after.keys()}"
    for name, text in after.items():
        if text != before.get(name, text):
            yield from (f"{name}: {problem}" for problem in _of_change(before[name], text))
    if _fixed(folder).fixed and made.fixed < 200 and _fixed(folder).fixed:
        yield "a third run still fixes"
    yield from (f"after the fix: {f.message}" for f in made.findings if f.code == "TRP003")


def _of_change(old: str, new: str) -> Iterator[str]:
    old, new = old.removeprefix("\ufeff"), new.removeprefix("\ufeff")
    tree = ast.parse(old)
    try:
        changed = ast.parse(new)
    except SyntaxError as error:
        yield f"no Python any more: {error}"
        return
    lost = _comments(old) - _comments(new)
    if lost:
        yield f"lost the comments {sorted(lost)}"
    missing = _missing(_untouched(tree, old, new), _statements(changed))
    if missing:
        yield f"changed a statement beside its edit: {missing}"


def _comments(text: str) -> Counter[str]:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text, newline="").readline))
    except (tokenize.TokenError, SyntaxError):
        return Counter()
    comments = (t.string for t in tokens if t.type == tokenize.COMMENT)
    return Counter(text for text in comments if not (_SUPPRESSION.match(text) or PRAISE.match(text)))


def _statements(tree: ast.Module) -> list[tuple[str, int, int]]:
    """Simple statements in order, without their places, and their first and last line."""
    simple = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and not hasattr(node, "body")]
    simple.sort(key=lambda node: (node.lineno, node.col_offset))
    return [(ast.dump(node), node.lineno, node.end_lineno or node.lineno) for node in simple]


def _untouched(tree: ast.Module, old: str, new: str) -> list[str]:
    """The statements on lines that are the same in the new text."""
    matcher = difflib.SequenceMatcher(None, _NEWLINE.split(old), _NEWLINE.split(new), autojunk=False)
    block_of = {
        line: number
        for number, (start, _, size) in enumerate(matcher.get_matching_blocks())
        for line in range(start + 1, start + size + 1)
    }

    def is_whole(first: int, last: int) -> bool:
        """Whether the lines stand together in the new text too."""
        return {block_of.get(line, -first) for line in range(first, last + 1)} == {block_of.get(first)}

    return [told for told, first, last in _statements(tree) if is_whole(first, last)]


def _missing(wanted: list[str], there: list[tuple[str, int, int]]) -> str | None:
    left = iter(told for told, _, _ in there)
    return next((told[:200] for told in wanted if told not in left), None)


def _texts(folder: Path) -> dict[str, str]:
    return {p.name: p.read_bytes().decode("utf-8", "surrogateescape") for p in sorted(folder.glob("*.py"))}


def _fixed(folder: Path) -> Result:
    return fix(_request(folder, True, ignore=["TRP002"]), unsafe=True, write=True)


def _request(folder: Path, isolated: bool, **overrides: object) -> Request:
    return Request((folder,), SettingsResolver(cards.codes(), isolated=isolated, overrides=overrides))


Oracle = Callable[[Path], Iterator[str]]
