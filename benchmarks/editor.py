#!/usr/bin/env python3
"""Hold the language server to its target: how long an edit of one file takes from the editor's message to the
diagnostics that answer it; and that nothing which is shown is stale or lost.

A client starts the server as an editor does, and speaks with it over its standard streams. The project is generated: a
library, and programs that use it. `edits` types into it, one kind of edit after the other in each round, and waits
until the server rests. `session` edits, opens, closes, writes and removes files at random, without waiting; it compares
what is shown with what the command line finds. Exits 1 where a median is above the target, or anything differs.

    python benchmarks/editor.py edits --files 500 --rounds 15
    python benchmarks/editor.py session --files 60 --edits 1000 --compare 20
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from lsprotocol import types

import generated

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from lsp.editor import Editor, editing
from torchrepro_lint import check
from torchrepro_lint.model import Finding

TARGET = 0.3  # seconds
_RESTS = 0.25  # seconds without work
_PATIENCE = 60
# Each kind of edit: the file, and a text that another replaces.
_SEEDED, _UNSEEDED = "examples/train_8.py", "examples/train_9.py"
_LIBRARY = "library/__init__.py"
KINDS = {
    "a comment in a program": (_SEEDED, "    options = parse()\n", "    # a comment\n    options = parse()\n"),
    "a function's body in a program": (_UNSEEDED, "options.epochs)\n", "options.epochs + 1)\n"),
    "a function's body in a leaf of the library": (
        "library/data/data_8.py", "    def __len__(self) -> int:\n        return len(self.files)\n",
        "    def __len__(self) -> int:\n        count = len(self.files)\n        return count\n",
    ),
    "a line that draws, in a leaf of the library": ("library/data/data_9.py", " < 0.5:", " < np.random.rand():"),
    "the line that seeds a program": (_SEEDED, "    set_seed(options.seed)\n", ""),
    "a broken line": (_UNSEEDED, "    options = parse()\n", "    options = parse(\n"),
    "a comment in a module that all import": (_LIBRARY, "import torch\n", "import torch  # a comment\n"),
    "a function's body in a module that all import": (
        _LIBRARY, "    torch.manual_seed(seed)\n", "    torch.manual_seed(seed + 1)\n",
    ),
    "the line that seeds all programs": (_LIBRARY, "    torch.manual_seed(seed)\n", ""),
}  # fmt: skip
_LINES = (
    "y = 1",
    "# a comment",
    "import torch",
    "torch.manual_seed(3)",
    "z = torch.rand(3)",
    "    return 1",
    "def f():",
    "from library.data import loader_1",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("edits", "session"))
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=15, help="of edits")
    parser.add_argument("--edits", type=int, default=1000, help="in a session")
    parser.add_argument("--compare", type=int, default=20, help="after so many edits each")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "project")
        modules = asked.files // 2
        library = list(generated.library(modules))
        programs = [generated.program(n, modules) for n in range(asked.files - len(library))]
        generated.write(root, [*library, *programs, ("pyproject.toml", "[project]\nname = 'generated'\n")])
        if asked.what == "edits":
            return report(asyncio.run(edits(root, asked.rounds)))
        return asyncio.run(session(root, asked.edits, asked.compare, random.Random(asked.seed)))


# -- how long an edit takes -----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Taken:
    """Seconds from an edit to its file's diagnostics, and until the server rests; each with its seconds of CPU."""

    wall: float
    cpu: float
    rest: float
    rest_cpu: float


async def edits(root: Path, rounds: int) -> dict[str, list[Taken]]:
    """Each kind of edit, once in a round, after one round that is not counted."""
    found: dict[str, list[Taken]] = {kind: [] for kind in KINDS}
    async with editing(root) as editor:
        for name in sorted({name for name, *_ in KINDS.values()}):
            editor.open(name)
        await resting(editor)
        for number in range(rounds + 1):
            for kind, (name, old, new) in KINDS.items():
                uri = editor.uri(name)
                before = editor.texts[uri]
                assert old in before, kind
                for text in (before.replace(old, new, 1), before):  # typed, and taken back
                    taken = await answered(editor, uri, text)
                    if number:
                        found[kind].append(taken)
    return found


async def answered(editor: Editor, uri: str, text: str) -> Taken:
    """Type a text, and wait for the diagnostics that are about it."""
    begin, cpu = time.perf_counter(), cpu_of(editor)
    editor.type(uri, text)
    version = editor.versions[uri]
    editor.answered.pop(uri, None)
    await editor.until(lambda: editor.answered.get(uri, 0) in (None, version))
    wall, now = time.perf_counter() - begin, cpu_of(editor)
    last, rest_cpu = await resting(editor)
    return Taken(wall, now - cpu, last - begin, rest_cpu - cpu)


async def resting(editor: Editor) -> tuple[float, float]:
    """Wait until the server computes no more: since when it has not, and its CPU time."""
    last, cpu = time.perf_counter(), cpu_of(editor)
    while time.perf_counter() < last + _RESTS:
        await asyncio.sleep(0.01)
        now = cpu_of(editor)
        if now > cpu + 0.001:  # more than a look at what is to be done
            last, cpu = time.perf_counter(), now
    return last, cpu


def cpu_of(editor: Editor) -> float:
    """What the server has computed so far, in seconds; Linux numbers the clock of a process so."""
    return time.clock_gettime((~editor.process << 3) | 2)


def report(found: dict[str, list[Taken]]) -> int:
    """Print a table; 1 where a target is missed."""
    print(
        f"{'seconds, medians of ' + str(len(next(iter(found.values())))):48} shown  of CPU  all done  of CPU  slowest"
    )
    for kind, rows in found.items():
        medians = [median(column) for column in zip(*((t.wall, t.cpu, t.rest, t.rest_cpu) for t in rows), strict=True)]
        numbers = f"{medians[0]:5.3f}   {medians[1]:5.3f}     {medians[2]:5.2f}   {medians[3]:5.2f}"
        print(f"{kind:48} {numbers}    {max(t.wall for t in rows):5.3f}")
    everything = median(t.wall for rows in found.values() for t in rows)
    print(f"{'all of them':48} {everything:5.3f}   at most {TARGET}")
    return int(any(median(t.wall for t in rows) > TARGET for rows in found.values()))


# -- whether what is shown is right ---------------------------------------------------------------------------------
async def session(root: Path, edits: int, compare: int, generator: random.Random) -> int:
    """Edit without waiting, and compare."""
    wrong = compared = 0
    begin = time.perf_counter()
    async with editing(root) as editor:
        for number in range(1, edits + 1):
            done = step(editor, generator)
            await asyncio.sleep(generator.choice((0, 0, 0.02, 0.1)))
            if number % compare == 0:
                compared += 1
                for difference in await differences(editor):
                    wrong += 1
                    print(f"edit {number}, {done}: {difference}", flush=True)
    print(f"{edits} edits, {compared} comparisons, {wrong} findings differ, {time.perf_counter() - begin:.0f} s")
    return int(wrong > 0)


def step(editor: Editor, generator: random.Random) -> str:
    """One thing that happens to the project; what it was."""
    root, chance = editor.root, generator.random()
    files = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.py"))
    name = generator.choice([_LIBRARY, *generator.sample(files, 3)])
    uri = editor.uri(name)
    is_open = uri in editor.texts
    if chance < 0.06:
        new = f"examples/new_{generator.randint(0, 5)}.py"
        (root / new).write_text((root / name).read_text(encoding="utf-8"), encoding="utf-8")
        editor.changed_on_disk(new, types.FileChangeType.Created)
        return f"{new} written"
    if chance < 0.1 and not is_open and name.startswith("examples"):
        (root / name).unlink()
        editor.changed_on_disk(name, types.FileChangeType.Deleted)
        return f"{name} removed"
    if chance < 0.2 and not is_open:
        (root / name).write_text(edited((root / name).read_text(encoding="utf-8"), generator), encoding="utf-8")
        editor.changed_on_disk(name, types.FileChangeType.Changed)
        return f"{name} changed on the disk"
    if chance < 0.3 and is_open:
        if generator.random() < 0.5:  # saved before it is closed
            (root / name).write_text(editor.texts[uri], encoding="utf-8", newline="")
            editor.changed_on_disk(name, types.FileChangeType.Changed)
        editor.close(uri)
        del editor.texts[uri]
        return f"{name} closed"
    if not is_open:
        editor.open(name)
    editor.type(uri, edited(editor.texts[uri], generator))
    return f"{name} typed into"


def edited(text: str, generator: random.Random) -> str:
    """The text with a line more, or a line less."""
    lines = text.splitlines(keepends=True)
    if lines and generator.random() < 0.45:
        del lines[generator.randrange(len(lines))]
    else:
        lines.insert(generator.randint(0, len(lines)), generator.choice(_LINES) + "\n")
    return "".join(lines)


async def differences(editor: Editor) -> list[str]:
    """What is shown and not found in a copy of the project, in which open files are saved, and the other way round."""
    root = editor.root
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "project")
        for path in (*root.rglob("*.py"), root / "pyproject.toml"):
            text = editor.texts.get(path.as_uri())
            text = path.read_bytes().decode() if text is None else text
            generated.write(copy, [(path.relative_to(root).as_posix(), text)])
        found = {(f.location.path, f.code, f.location.range.start.line, said(f)) for f in check(copy).findings}
    try:
        await asyncio.wait_for(editor.until(lambda: set(shown(editor)) == found), _PATIENCE)
    except asyncio.TimeoutError:
        now = set(shown(editor))
        return [*(f"stale: {row}" for row in sorted(now - found)), *(f"lost: {row}" for row in sorted(found - now))]
    return []


def said(finding: Finding) -> str:
    """A finding as the server puts it."""
    return f"{finding.message} ({finding.certainty.value})"


def shown(editor: Editor) -> Iterator[tuple[str, str, int, str]]:
    """What the editor shows: file, rule, line and message."""
    for uri, rows in editor.diagnostics.items():
        name = uri.removeprefix(editor.root.as_uri() + "/")
        for row in rows:
            yield name, str(row.code), row.range.start.line + 1, row.message


if __name__ == "__main__":
    sys.exit(main())
