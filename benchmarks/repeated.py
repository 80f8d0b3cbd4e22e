#!/usr/bin/env python3
"""How the work grows with one file: each offending example of the rules' cards, repeated.

An example is repeated in three ways: `fresh`, with other names at its top level each time; `same`, as it is; `lines`,
the statements that are marked, where they stand. Each is checked in a process of its own, which has read the cards and
imported the rules, at a size and at twice that size: CPU seconds, their ratio (2 where the work grows with the file),
and what a megabyte would take at that rate. With `--count`, executed lines of Python instead: slow, but the same
anywhere.

    python benchmarks/repeated.py                                  # all cards, 20 kB and 40 kB
    python benchmarks/repeated.py --size 500000 TRP205 TRP104:233  # these, up to a megabyte
"""

from __future__ import annotations

import argparse
import ast
import gc
import io
import os
import sys
import tempfile
import time
import tokenize
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from torchrepro_lint import cards
from torchrepro_lint.engine import Request, check
from torchrepro_lint.report import Context, renderer
from torchrepro_lint.settings import SettingsResolver

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from metering import metered

Repeat = Callable[[int], str]
MEGABYTE = 1_000_000
SUPERLINEAR = 2.6


def shapes(wanted: Sequence[str]) -> Iterator[tuple[str, Repeat]]:
    """The examples of one Python file each, with the ways in which they can be repeated."""
    for code, card in cards.load_cards().items():
        for example in card.examples():
            [(name, text), *others] = example.sources()
            label = f"{code}:{example.line}"
            if example.kind != "bad" or others or not name.endswith(".py"):
                continue
            marked = [mark.line for mark in example.marks()]
            for way, repeat in (("fresh", fresh(text)), ("same", same(text)), ("lines", lines(text, marked))):
                if not wanted or any(f"{label}:{way}".startswith(start) for start in wanted):
                    try:
                        ast.parse(repeat(2))
                    except SyntaxError:  # what is marked ends a block
                        continue
                    yield f"{label}:{way}", repeat


def same(text: str) -> Repeat:
    """Imports and documentation once, then the rest."""
    head, rest = _parts(text)
    return lambda n: head + rest * n


def fresh(text: str) -> Repeat:
    """The same; what the rest binds at its top level has another name each time."""
    head, rest = _parts(text)
    pieces = _around(rest, _bound(ast.parse(rest)))
    return lambda n: head + "".join(f"_{number}".join(pieces) for number in range(n))


def lines(text: str, marked: Sequence[int]) -> Repeat:
    """Only the smallest statement at each of these lines."""
    written = text.splitlines(keepends=True)
    places: list[tuple[int, int]] = []
    for line in marked:
        around = [
            (node.end_lineno or 0, node.lineno)
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
        ]
        end, begin = min(around, key=lambda place: place[0] - place[1], default=(0, 0))
        if begin and (not places or begin > places[-1][1]):
            places.append((begin, end))

    def repeat(n: int) -> str:
        made, last = "", 0
        for begin, end in places:
            made += "".join(written[last : begin - 1]) + "".join(written[begin - 1 : end]) * n
            last = end
        return made + "".join(written[last:])

    return repeat


def _parts(text: str) -> tuple[str, str]:
    """The statements that need to stand once, and the others."""
    head, rest, last = "", "", 0
    written = text.splitlines(keepends=True)
    for statement in ast.parse(text).body:
        chunk = "".join(written[last : statement.end_lineno])
        last = max(last, statement.end_lineno or 0)
        if isinstance(statement, ast.Import | ast.ImportFrom) or ast.get_docstring(ast.Module([statement], [])):
            head += chunk
        else:
            rest += chunk
    return head, rest + "".join(written[last:])


def _bound(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        pending += [] if isinstance(node, ast.Lambda) else ast.iter_child_nodes(node)
    return names


def _around(text: str, names: set[str]) -> list[str]:
    """The text, cut behind each use of these names; attributes and keywords have names of their own."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    pieces, last, depth = [], 0, 0
    for before, token, after in zip([tokens[0], *tokens], tokens, [*tokens[1:], tokens[-1]], strict=False):
        depth += (token.string in tuple("([{")) - (token.string in tuple(")]}"))
        is_own = before.string == "." or (depth and after.string == "=")
        if token.type == tokenize.NAME and token.string in names and not is_own:
            end = starts[token.end[0] - 1] + token.end[1]
            pieces.append(text[last:end])
            last = end
    return [*pieces, text[last:]]


def sized(repeat: Repeat, size: int) -> str:
    """So many repetitions that the text has about that many characters."""
    each = (len(repeat(30)) - len(repeat(20))) / 10
    return repeat(max(2, int((size - len(repeat(0))) / each))) if each else repeat(1)


def cost(folder: Path, text: str, limit: int, *, count: bool) -> float:
    """CPU seconds, or lines, of a check with its report in a fork; infinite beyond the limit."""
    (folder / "a.py").write_text(text)
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
        gc.disable()  # as the command does, also while it reports
        begin = time.process_time()
        if count:
            with metered() as meter:
                run(folder)
        else:
            run(folder)
        os.write(send, str(meter.lines if count else time.process_time() - begin).encode())
        os._exit(0)
    os.close(send)
    with os.fdopen(receive) as told:
        said = told.read()
    os.waitpid(child, 0)
    return float(said or "inf")


def run(folder: Path) -> None:
    """Check and report."""
    result = check(Request((folder,), SettingsResolver(cards.codes(), isolated=True)))
    "".join(renderer("full")(result, Context(False, 120, folder, False)))


def main() -> None:
    """Parse the command line, measure, print a row as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", metavar="TRP104[:LINE[:WAY]]")
    parser.add_argument("--size", type=int, default=20_000, help="of the smaller file, in characters")
    parser.add_argument("--limit", type=int, default=55, help="CPU seconds after which one is ended")
    parser.add_argument("--count", action="store_true", help="count executed lines")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "pyproject.toml").write_text("")
        for _, repeat in shapes(()):  # what is imported and read once
            (folder / "a.py").write_text(repeat(1))
            run(folder)
        gc.freeze()
        for label, repeat in shapes(asked.shapes):
            texts = [sized(repeat, asked.size), sized(repeat, 2 * asked.size)]
            small, large = (cost(folder, text, asked.limit, count=asked.count) for text in texts)
            told = (
                f"{large:12,.0f} lines"
                if asked.count
                else f"{large:8.2f} s, {large * MEGABYTE / len(texts[1]):6.1f} s/MB"
            )
            mark = "  SUPERLINEAR" if large > SUPERLINEAR * small else ""
            print(f"{told}  {large / small:5.2f}x  {label}{mark}", flush=True)


if __name__ == "__main__":
    main()
