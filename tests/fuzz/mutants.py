"""Real syntax, changed: tokens, statements, expressions and nesting; a third of the mutants still parse, or more."""

from __future__ import annotations

import ast
import re
from random import Random

from .seeds import expressions, sources, statements

_TOKEN = re.compile(r"[\w.]+|\s+|\"[^\"\n]*\"|'[^'\n]*'|\S")
_AROUND = (
    "def f{n}(a=1, *b, **c):\n{body}\n    return a\nf{n}(f{n})\n",
    "class C{n}(C{m}, torch.nn.Module):\n    def forward(self, x):\n    {body}\n        return self.forward(x)\n",
    "for i{n} in set(x):\n{body}\n",
    "while x:\n{body}\nelse:\n{body}\n",
    "if __name__ == '__main__':\n{body}\n",
    "try:\n{body}\nexcept Exception:\n{body}\nfinally:\n{body}\n",
    "with x as y:\n{body}\n",
    "async def g{n}():\n{body}\n    await g{m}()\n",
    "match x:\n    case {{'a': y}}:\n    {body}\n",
    "x = [y for y in [lambda z: (\n{line}\n)]]\n",
)
_ODD = (
    "\t",
    "\f",
    "\\\n",
    ";",
    "\r\n",
    "\r",
    "\u2028",
    "\x85",
    "é",
    "\ufeff",
    "\x00",
    "\x1a",
    "  # noqa",
    "  # noqa: TRP",
)
_ODD += ("  # torchrepro: ignore[", "'''", '"', "(", "]", "{", "#", "lambda", "async ", "@", ":=", "*", "\ud800")


def mutant(random: Random) -> str:
    """One text; the same for the same state of `random`."""
    text = random.choice(sources())
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        text = random.choice(_CHANGES)(text, random)
    return text[:20_000]


def _token(text: str, random: Random) -> str:
    tokens = _TOKEN.findall(text) or [""]
    at = random.randrange(len(tokens))
    other = _TOKEN.findall(random.choice(sources())) or [""]
    match random.randrange(5):
        case 0:
            del tokens[at]
        case 1:
            tokens.insert(at, random.choice(other))
        case 2:
            tokens[at] = random.choice(other)
        case 3:
            to = random.randrange(len(tokens))
            tokens[at], tokens[to] = tokens[to], tokens[at]
        case _:
            tokens.insert(at, random.choice(_ODD))
    return "".join(tokens)


def _line(text: str, random: Random) -> str:
    lines = text.splitlines(keepends=True) or [""]
    at, to = random.randrange(len(lines)), random.randrange(len(lines))
    match random.randrange(4):
        case 0:
            lines[at:to] = []
        case 1:
            lines.insert(to, lines[at])
        case 2:
            lines[at], lines[to] = lines[to], lines[at]
        case _:
            lines[at] = " " * random.randrange(9) + lines[at].lstrip()
    return "".join(lines)


def _statement(text: str, random: Random) -> str:
    parts = text.split("\n")
    at = random.randrange(len(parts) + 1)
    margin = re.match(r"[ \t]*", parts[min(at, len(parts) - 1)])
    added = random.choice(statements()).split("\n")
    return "\n".join([*parts[:at], *((margin.group() if margin else "") + line for line in added), *parts[at:]])


def _nesting(text: str, random: Random) -> str:
    form = random.choice(_AROUND)
    body = "\n".join("    " + line for line in text.split("\n"))
    numbers = {"n": random.randrange(3), "m": random.randrange(3)}
    return form.format(body=body, line=text.replace("\n", " "), **numbers)


def _joined(text: str, random: Random) -> str:
    return text + "\n" + random.choice(sources())


class _Swap(ast.NodeTransformer):
    """Puts other expressions in the place of a few."""

    def __init__(self, random: Random, share: float) -> None:
        self.random = random
        self.share = share

    def generic_visit(self, node: ast.AST) -> ast.AST:
        node = super().generic_visit(node)
        loads = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        if isinstance(node, ast.expr) and loads and self.random.random() < self.share:
            return ast.parse(self.random.choice(expressions()), mode="eval").body
        return node


def _expression(text: str, random: Random) -> str:
    """As Python writes it: comments and layout are gone, what it says is new."""
    try:
        tree = ast.parse(text)
        return ast.unparse(ast.fix_missing_locations(_Swap(random, random.choice((0.02, 0.1, 0.3))).visit(tree)))
    except (SyntaxError, ValueError, RecursionError, AttributeError, TypeError):
        return text


def _names(text: str, random: Random) -> str:
    """Two names become one: values that were apart meet."""
    names = sorted(set(re.findall(r"\b[a-z_]\w*\b", text)))
    if len(names) < 2:
        return text
    one, other = random.sample(names, 2)
    return re.sub(rf"\b{one}\b", other, text)


_CHANGES = (_token, _token, _line, _statement, _statement, _nesting, _joined, _expression, _expression, _names, _names)
