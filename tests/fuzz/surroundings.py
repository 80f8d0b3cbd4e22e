"""What lies around the code: configurations, lists of requirements, ignored files, links, odd names, notebooks."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from .mutants import mutant

_VALUES = (
    "[]", "['ALL']", "['TRP1', 'x']", "{}", "{ '*.py' = ['TRP2'] }", "'x'", "''", "1", "-1", "1e400", "true", "'../x.toml'",
    "['~x']", "'~'", "[[[[]]]]", "'>=2,<3'", "'==1.*'", "['a.b:numpy', '.']", "['\\u0000']", "2026-01-01", "'" + "a" * 5000 + "'",
    "['**/a/**']", "['[', '!', '\\\\']", "'/dev/zero'", "'.'", "99999999999999999999", "nan", "'torchrepro-lint.toml'",
)  # fmt: skip
_KEYS = (
    "select", "ignore", "extend-select", "exclude", "extend-exclude", "src", "per-file-ignores", "seed", "torch", "extend",
    "seed-functions", "loader-classes", "rng-functions", "evidence", "max-file-size", "selekt",
)  # fmt: skip
_LINES = (
    "torch", "torch>=2", "torch==2.*", "torch @ https://x/torch-2.1-cp.whl", "-r x", "torch[a]>1;x", "torch~=", "- pytorch=2",
    "  - pip:", "*.py", "!a", "**/", "a/**/b", "[a-", "\\", "/", "a b ", "*a*a*b", "# c", "torch" + " " * 50 + "x", "\x00", "é\udcff",
)  # fmt: skip
_NAMES = (
    "a",
    "b",
    "é",
    "a b",
    "-x",
    "a\nb",
    "\x1b",
    "::error",
    "__init__",
    "setup",
    "\udcff",
    "con",
    "a" * 200,
    "torch",
)


def lines(random: Random) -> str:
    """Of a `.gitignore` or a list of requirements."""
    return "\n".join(random.choices(_LINES, k=random.randrange(8)))


def configuration(random: Random) -> str:
    """Broken TOML now and then."""
    rows = [f"{random.choice(_KEYS)} = {random.choice(_VALUES)}" for _ in range(random.randrange(3))]
    text = "\n".join(dict.fromkeys(rows)) + "\n"
    if random.random() < 0.2:
        at = random.randrange(len(text) + 1)
        text = text[:at] + random.choice("[]{}='\"\\\n\x00#.") + text[at:]
    return text


def notebook(random: Random) -> str:
    """Format 3 or 4, or neither."""
    cells: list[object] = []
    for _ in range(random.randrange(4)):
        code = mutant(random)
        source: object = random.choice((code, code.splitlines(keepends=True), [code], None, [1, code], {}))
        cells.append({"cell_type": random.choice(("code", "code", "markdown", 3)), "source": source, "metadata": {}})
        if random.random() < 0.1:
            cells.append(random.choice((None, 3, "x", [], {})))
    whole = random.choice(
        ({"cells": cells}, {"worksheets": [{"cells": cells}]}, {"cells": cells, "metadata": 3}, cells)
    )
    text = json.dumps(whole, indent=random.choice((None, 1)), ensure_ascii=random.random() < 0.5)
    if random.random() < 0.2:
        at = random.randrange(len(text) + 1)
        text = text[:at] + random.choice('[]{},:"\\\n\x00') + text[at:]
    return text


def tree(random: Random, root: Path) -> None:
    """Files and folders below `root`, which exists."""
    folders = [root]
    for _ in range(random.randrange(1, 10)):
        path = random.choice(folders) / random.choice(_NAMES)
        kind = random.randrange(9)
        if kind < 2 and not path.exists() and len(str(path)) < 2000:
            path.mkdir()
            folders.append(path)
        elif kind == 2:
            _made(lambda path=path: path.with_name(path.name + ".py").symlink_to(random.choice(folders)))  # type: ignore[misc]
        elif kind == 3:
            _written(path.parent / random.choice((".gitignore", "requirements.txt", "environment.yml")), lines(random))
        elif kind == 4:
            _written(path.parent / random.choice(("torchrepro-lint.toml", "pyproject.toml")), _table(random))
        elif kind == 5:
            _written(path.with_name(path.name + ".ipynb"), notebook(random))
        else:
            _written(path.with_name(path.name + ".py"), mutant(random))


def _table(random: Random) -> str:
    return random.choice(("", "[tool.torchrepro-lint]\n", "[tool]\n")) + configuration(random)


def _written(path: Path, text: str) -> None:
    _made(lambda: path.write_bytes(text.encode("utf-8", "surrogatepass")))


def _made(make: Callable[[], object]) -> None:
    with suppress(OSError, ValueError):  # the name is taken, or is none
        make()
