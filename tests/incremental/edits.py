"""Edits of a project as people and tools make them, chosen by a random generator; each says what it did."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

_LINES = (
    "# a comment",
    "",
    "import random",
    "import torch",
    "torch.manual_seed(0)",
    "random.seed(1)",
    "x = torch.rand(3)",
    "torch.backends.cudnn.benchmark = True",
    "def helper():\n    return torch.rand(2)",
    "if __name__ == '__main__':\n    helper()",
    "import os; files = os.listdir('.'); print(files[0])",
    "from torch.utils.data import DataLoader\nloader = DataLoader([1], shuffle=True, num_workers=2)",
)
_SETTINGS = (
    "",
    "[tool.torchrepro-lint]\nignore = ['TRP2']\n",
    "[tool.torchrepro-lint]\nseed = 7\n",
    "[tool.torchrepro-lint]\nextend-exclude = ['b*.py']\n",
    "[tool.torchrepro-lint]\nseed-functions = ['helper']\ntorch = '1.8'\n",
    "[project]\nname = 'a'\ndependencies = ['torch>=2']\n",
    "[project]\nname = 'a'\n[project.scripts]\na = 'train:main'\n",
)
_SHADOWS = ("torch", "random", "numpy", "utils", "model", "data", "os")
_OTHER_TEXTS = ("torch==2.1.0\n", "torch\n", "export CUBLAS_WORKSPACE_CONFIG=:4096:8\n", "utils.py\n", "lib/\n")
_OTHERS = ("requirements.txt", "run.sh", "environment.yml", "setup.cfg", ".gitignore")

_ENTRIES = (
    "seed: null",
    "seed: 7",
    "seed: null  # noqa: TRP104",
    "backend: {benchmark: true}",
    "backend:\n  benchmark: false",
    "data_seed:",
    "data_seed: 3",
    "# @package _global_",
    "defaults: [{data: small}, _self_]",
    "defaults:\n  - data: large",
    "loader: {shuffle: true, num_workers: 2}",
    "benchmark: yes",
    "broken: [",
)
_IN_KERNELS = (
    ("atomicAdd(", "add("),
    ("add(", "atomicAdd("),
    ('m.def("group_grad"', 'm.def("group_back"'),
    ("group_grad_kernel", "group_kernel"),
    ("\n", "\n// a comment\n"),
    ("const float", "const int"),
)
_FORMATS = (
    ("pyproject.toml", "[tool.ruff]\nline-length = 60\n[tool.ruff.format]\nquote-style = 'single'\n"),
    ("pyproject.toml", "[tool.ruff]\nline-length = 140\n"),
    ("pyproject.toml", "[tool.black]\nline-length = 50\n"),
    ("ruff.toml", "line-length = 44\n"),
    (".flake8", "[flake8]\nmax-line-length = 60\n"),
    ("requirements.txt", "torch==1.9.0\n"),
    ("requirements.txt", "torch>=2.4\nnumpy\n"),
)


Edit: TypeAlias = "tuple[Callable[[Path, random.Random], str], float]"
"""What is done to a project, and how often."""


def edit(root: Path, generator: random.Random, edits: Sequence[Edit]) -> str:
    """One edit of the project at `root`."""
    chosen = generator.choices(*zip(*edits, strict=True))[0]
    return f"{chosen.__name__[1:]}: {chosen(root, generator)}"


def modules(root: Path) -> list[Path]:
    """The Python files of the project, sorted."""
    return sorted(path for path in root.rglob("*.py") if path.is_file())


def _pick(root: Path, generator: random.Random) -> Path:
    found = modules(root)
    return generator.choice(found) if found else root / "first.py"


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="surrogateescape").split("\n") if path.exists() else []


def _write(path: Path, lines: Sequence[str]) -> None:
    if path.is_dir():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines), encoding="utf-8", errors="surrogateescape")


def _insert(root: Path, generator: random.Random) -> str:
    """A line, with the indent of the one below it."""
    path = _pick(root, generator)
    lines = _lines(path)
    place = generator.randint(0, len(lines))
    below = lines[place] if place < len(lines) else ""
    indent = below[: len(below) - len(below.lstrip())]
    text = generator.choice(_LINES)
    lines[place:place] = [indent + line for line in text.split("\n")]
    _write(path, lines)
    return f"{path.name}:{place + 1} {text!r}"


def _comment(root: Path, generator: random.Random) -> str:
    path = _pick(root, generator)
    lines = _lines(path)
    lines.insert(0, f"# {generator.choice(('seed', 'noqa', 'cuda', 'torch.rand', 'sys.path', 'plain'))}")
    _write(path, lines)
    return path.name


def _delete_lines(root: Path, generator: random.Random) -> str:
    path = _pick(root, generator)
    lines = _lines(path)
    start = generator.randint(0, max(len(lines) - 1, 0))
    del lines[start : start + generator.randint(1, 3)]
    _write(path, lines)
    return f"{path.name}:{start + 1}"


def _suppress(root: Path, generator: random.Random) -> str:
    path = _pick(root, generator)
    lines = _lines(path)
    if lines:
        place = generator.randrange(len(lines))
        lines[place] += "  # noqa: TRP101, TRP201"
    _write(path, lines)
    return path.name


def _remove(root: Path, generator: random.Random) -> str:
    path = _pick(root, generator)
    path.unlink(missing_ok=True)
    return path.name


def _rename(root: Path, generator: random.Random) -> str:
    path = _pick(root, generator)
    new = path.with_name(generator.choice(("a", "b", "train", "utils", "main", "test_it")) + ".py")
    if path.exists():
        path.rename(new)
    return f"{path.name} -> {new.name}"


def _move(root: Path, generator: random.Random) -> str:
    path = _pick(root, generator)
    folder = root / generator.choice(("lib", "pkg", "tests", "."))
    folder.mkdir(exist_ok=True)
    if path.exists() and not (folder / path.name).exists():
        shutil.move(path, folder / path.name)
    return f"{path.name} -> {folder.name}"


def _copy(root: Path, generator: random.Random) -> str:
    path = _pick(root, generator)
    new = path.with_name(f"copy_{generator.randint(0, 3)}.py")
    if path.exists() and path != new:
        shutil.copy2(path, new)
    return f"{path.name} -> {new.name}"


def _make_package(root: Path, generator: random.Random) -> str:
    front = _pick(root, generator).parent / "__init__.py"
    if front.exists():
        front.unlink()
        return f"no more {front.parent.name}"
    _write(front, ["from .model import *"] if generator.random() < 0.3 else [""])
    return front.parent.name


def _shadow(root: Path, generator: random.Random) -> str:
    folder = _pick(root, generator).parent
    name = generator.choice(_SHADOWS)
    path = folder / f"{name}.py" if generator.random() < 0.6 else folder / name / "__init__.py"
    _write(path, ["def manual_seed(x): pass", "def rand(*x): return 1", "def seed(x): pass"])
    return str(path.relative_to(root))


def _break(root: Path, generator: random.Random) -> str:
    path = _pick(root, generator)
    lines = _lines(path)
    if "def broken(:" in lines:
        lines.remove("def broken(:")
    else:
        lines.append("def broken(:")
    _write(path, lines)
    return path.name


def _touch(root: Path, generator: random.Random) -> str:
    path = _pick(root, generator)
    path.touch()
    return path.name


def _set_time(root: Path, generator: random.Random) -> str:
    """As a checkout or an archive does, or a clock that was wrong."""
    path = _pick(root, generator)
    if path.exists():
        when = generator.choice((1_000_000_000, 1_500_000_000, 4_000_000_000))
        os.utime(path, (when, when))
    return path.name


def _same_size_and_time(root: Path, generator: random.Random) -> str:
    path = _pick(root, generator)
    if not path.exists():
        return "nothing"
    status, data = path.stat(), path.read_bytes()
    for old, new in ((b"True", b"1==1"), (b"seed", b"sede"), (b"rand", b"rond"), (b"0", b"1"), (b"import", b"#mport")):
        if old in data:
            path.write_bytes(data.replace(old, new, 1))
            break
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    return path.name


def _change_settings(root: Path, generator: random.Random) -> str:
    text = generator.choice(_SETTINGS)
    (root / "pyproject.toml").write_text(text, encoding="utf-8")
    return repr(text)


def _change_other(root: Path, generator: random.Random) -> str:
    name = generator.choice(_OTHERS)
    text = generator.choice(
        ("torch==2.1.0\n", "torch\n", "export CUBLAS_WORKSPACE_CONFIG=:4096:8\n", "utils.py\n", "lib/\n")
    )
    (root / name).write_text(text, encoding="utf-8")
    return f"{name} {text!r}"


def _replace_by_link(root: Path, generator: random.Random) -> str:
    """A folder goes elsewhere, and a link leads to it."""
    folder = _pick(root, generator).parent
    if folder == root or folder.is_symlink():
        return "nothing"
    new = root.parent / f"{root.name}-{folder.name}-{generator.randint(0, 10**9)}"
    folder.rename(new)
    folder.symlink_to(new)
    return folder.name


def _change_configuration(root: Path, generator: random.Random) -> str:
    """An entry of a file that a program reads, or a comment in it."""
    path = generator.choice(_of(root, "*.yaml", "*.json") or [root / "configs" / "base.yaml"])
    if path.is_dir():
        return "nothing"
    lines = _lines(path)
    if lines and generator.random() < 0.5:
        del lines[generator.randrange(len(lines))]
    text = generator.choice(_ENTRIES)
    lines.insert(generator.randint(0, len(lines)), text)
    _write(path, lines)
    return f"{path.name} {text!r}"


def _write_configuration(root: Path, generator: random.Random) -> str:
    """One that is new, or may be meant instead of another, since it lies nearer."""
    name = generator.choice(("configs/base.yaml", "configs/other.yaml", "src/configs/base.yaml", "conf/config.yaml",
                             "src/conf/data/small.yaml", "conf/data/small.yml", "conf/data/large.yaml"))  # fmt: skip
    _write(root / name, generator.sample(_ENTRIES, generator.randint(1, 3)))
    return name


def _remove_other(root: Path, generator: random.Random) -> str:
    """A configuration or a native source goes, or goes elsewhere, or is replaced by something that is no file."""
    found = _of(root, "*.yaml", "*.cu", "*.cpp")
    if not found:
        return "nothing"
    path = generator.choice(found)
    what = generator.choice(("removed", "moved", "folder", "link"))
    if what == "moved":
        shutil.move(path, path.with_name(f"{generator.choice(('base', 'config', 'small'))}{path.suffix}"))
        return f"{path.name} {what}"
    data = path.read_bytes()
    path.unlink()
    if what == "folder":
        path.mkdir()
    elif what == "link":
        target = root.parent / f"{root.name}-{generator.randint(0, 10**9)}{path.suffix}"
        target.write_bytes(data)
        path.symlink_to(target)
    return f"{path.name} {what}"


def _change_kernel(root: Path, generator: random.Random) -> str:
    path = generator.choice(_of(root, "*.cu", "*.cpp", "*.h") or [root / "csrc" / "group.cu"])
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    old, new = generator.choice(_IN_KERNELS)
    _write(path, [text.replace(old, new)])
    return f"{path.name} {old!r} -> {new!r}"


def _change_format(root: Path, generator: random.Random) -> str:
    name, text = generator.choice(_FORMATS)
    (root / name).write_text(text, encoding="utf-8")
    return f"{name} {text!r}"


def _age(root: Path, generator: random.Random) -> str:
    """All that was edited was edited long ago, so that its bytes are not looked at again."""
    when = generator.randint(1_000_000_000, 1_600_000_000)
    for path in _of(root, "*.py", "*.yaml", "*.cu"):
        os.utime(path, (when, when))
    return "all"


def _of(root: Path, *patterns: str) -> list[Path]:
    return sorted(path for pattern in patterns for path in root.rglob(pattern) if path.is_file())


EDITS: Sequence[Edit] = (
    (_insert, 6), (_comment, 2), (_delete_lines, 4), (_suppress, 1), (_remove, 1), (_rename, 1), (_move, 1), (_copy, 1),
    (_make_package, 1), (_shadow, 1), (_break, 2), (_touch, 1), (_set_time, 1), (_same_size_and_time, 2),
    (_change_settings, 1), (_change_other, 1), (_replace_by_link, 0.3),
)  # fmt: skip
CONFIGURED: Sequence[Edit] = (
    (_change_configuration, 6), (_write_configuration, 3), (_remove_other, 2), (_change_kernel, 4), (_change_format, 3),
    (_change_other, 1), (_insert, 2), (_delete_lines, 1), (_shadow, 1), (_rename, 0.5), (_age, 3),
)  # fmt: skip
