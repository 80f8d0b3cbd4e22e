"""What mutants are made from: the examples on the cards, one statement of each kind that Python has from 3.10 to 3.14, and
the saved corpus, which holds what once broke something."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from torchrepro_lint import cards

CORPUS = Path(__file__).parent / "corpus"

SYNTAX = """\
async def gather(*args: *tuple[int], a, b=1, **kw) -> None:
    async with open(a) as f, b as (c, *d): ...
    async for x in f: yield x
    return [y async for y in f if await y]
def positional(a, /, b: int = 2, *, c): global G; G = a; del b
class Meta(Base, metaclass=type, **kw):
    x: int = 3; y: "str"
    @property
    def z(self): nonlocal_ = lambda *a, k=1, **q: (yield); return super().z
def outer():
    n = 1
    def inner():
        nonlocal n
        n += 1; n **= 2; n //= 3; n @= m; n <<= 1; n |= 2
    return inner
match command.split():
    case ["go", ("north" | "south") as d, *rest] if rest: pass
    case {"k": 1, **more} | Point(x=0, y=[_, -1 + 2j]): pass
    case None | True | "a" "b": pass
    case a.b.c: pass
    case _: pass
try: risky()
except (A, B) as e: raise C from e
except D: pass
else: ok()
finally: done()
try: risky()
except* ValueError as group: pass
with (open(a) as f, open(b) as g,): pass
while (n := n - 1) > 0:
    if n == 5: continue
    elif n == 3: break
    else: pass
else: assert n, "m"
for i, (j, *k) in enumerate(z): print(i, j, *k, sep="", **{**q})
else: pass
x = a if b else c; x = not a or b and c; x = a < b <= c != d is not e not in f
x = {**a, 1: 2}; x = {1, *b}; x = [*a]; x = (yield); x = ~-+a; x = a[1:2:3, ..., ::]; x = 1_0j + 0xF + 1e3
x = {k: v for k, v in a for b in c if d}; x = {e for e in f}; x = (g for g in h)
x = f"{a!r:>{width}} {b=} {{}} {c:%Y-%m}" f'{d["k"]}' rb"\\x00" b"y"
from . import a; from ..b import (c as d, e); import f.g as h, i; from j import *
type Alias[T: int, *Ts, **P] = dict[T, P]
def generic[T](x: T) -> T: return x
class Box[T = int]: pass
x = t"{a} {b!s}"
print(*a, **b); x: list[int]; (y): int = 1; a.b: str = "c"; a[0] = b = c
@decorate(1)
async def coroutine(): await asyncio.gather(*map(run, a))
lambda: (yield from a)
x = f"{f"{f"{1}"}"}"
"""


@cache
def sources() -> tuple[str, ...]:
    """Programs that parse or nearly do, shortest first."""
    examples = (
        text
        for card in cards.load_cards().values()
        for example in card.examples()
        for name, text in example.sources()
        if name.endswith(".py")
    )
    saved = (path.read_text(encoding="utf-8", errors="surrogateescape") for path in sorted(CORPUS.glob("*.py")))
    return tuple(
        sorted({*examples, SYNTAX, *SYNTAX.splitlines(keepends=True), *saved}, key=lambda text: (len(text), text))
    )


@cache
def statements() -> tuple[str, ...]:
    """Statements at the top of these, as they are written."""
    found: dict[str, None] = {}
    for text in sources():
        for node in _parsed(text):
            found.setdefault(ast.get_source_segment(text, node) or "pass")
    return tuple(found)


@cache
def expressions() -> tuple[str, ...]:
    """Expressions in them."""
    found: dict[str, None] = {}
    for text in sources():
        for top in _parsed(text):
            for node in ast.walk(top):
                if isinstance(node, ast.expr) and not isinstance(node, ast.Starred | ast.Slice):
                    found.setdefault(ast.unparse(node))
    return tuple(expression for expression in found if len(expression) < 200)


def _parsed(text: str) -> list[ast.stmt]:
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError):
        return []
