#!/usr/bin/env python3
"""Hold the language server's engine to its target: what an edit costs in a project that is open, and that nothing
which is shown is stale.

A generated project is checked, then edited at random; after each edit the edited file's findings are timed in seconds
of CPU, and the rest is worked out. Every so many edits all findings are compared with those of a run from nothing.
Exits 1 where they differ, or the median is above the target.

    python benchmarks/editor.py --files 500 --edits 40
    python benchmarks/editor.py --files 60 --edits 1000 --compare 20
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import generated
from torchrepro_lint import cards
from torchrepro_lint.engine import Request
from torchrepro_lint.live import Live
from torchrepro_lint.model import Finding
from torchrepro_lint.settings import SettingsResolver

TARGET = 0.3  # seconds from an edit to the findings of its file
_LINES = (
    "y = 1",
    "# a comment",
    "import torch",
    "torch.manual_seed(3)",
    "z = torch.rand(3)",
    "    return 1",
    "def f():",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--edits", type=int, default=40)
    parser.add_argument("--compare", type=int, default=20, help="after so many edits each")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        modules = asked.files // 2
        library = list(generated.library(modules))
        programs = [generated.program(n, modules) for n in range(asked.files - len(library))]
        generated.write(root, [*library, *programs, ("pyproject.toml", "[project]\nname = 'generated'\n")])
        return session(root, asked.edits, asked.compare, random.Random(asked.seed))


def session(root: Path, edits: int, compare: int, generator: random.Random) -> int:
    """Edit, time and compare."""

    def request() -> Request:
        return Request((root,), SettingsResolver(cards.codes()))

    live = Live(request)
    findings_of(live)
    taken: list[float] = []
    wrong = 0
    for number in range(1, edits + 1):
        path = generator.choice(live.run.files)
        text = edited(live.texts.get(path) or path.read_text(encoding="utf-8"), generator)
        begin = time.process_time()
        live.change({path: text})
        if path in live.stale:
            live.check_next()
        live.result()
        taken.append(time.process_time() - begin)
        shown = findings_of(live)
        if number % compare == 0:
            differs = set(shown) ^ set(findings_of(Live(request, live.texts)))
            wrong += bool(differs)
            for finding in sorted(differs, key=lambda f: f.sort_key):
                print(f"edit {number}, {path}: {finding.location}: {finding.code} {finding.message}", flush=True)
    print(
        f"{len(live.run.files)} files, {edits} edits: median {median(taken):.3f} s, slowest {max(taken):.3f} s of CPU"
    )
    print(f"{edits // compare} comparisons, {wrong} differ")
    return int(wrong > 0 or median(taken) > TARGET)


def edited(text: str, generator: random.Random) -> str:
    """The text with a line more, or a line less."""
    lines = text.splitlines(keepends=True)
    if lines and generator.random() < 0.45:
        del lines[generator.randrange(len(lines))]
    else:
        lines.insert(generator.randint(0, len(lines)), generator.choice(_LINES) + "\n")
    return "".join(lines)


def findings_of(live: Live) -> list[Finding]:
    """All findings, once nothing is stale."""
    while live.stale:
        live.check_next()
    return [_plain(finding) for finding in live.result().findings]


def _plain(finding: Finding) -> Finding:
    """A finding that can be put into a set."""
    return replace(finding, properties=repr(sorted(finding.properties.items())))  # type: ignore[arg-type]


if __name__ == "__main__":
    sys.exit(main())
