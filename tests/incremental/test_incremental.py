"""A run with a cache prints what a run without one prints, to the byte, whatever was edited since the last one."""

from __future__ import annotations

from pathlib import Path

import pytest

from incremental.comparing import differences, lint
from incremental.edits import CONFIGURED
from incremental.projects import CONFIGURED_FILES, FILES, write_project
from torchrepro_lint.cache.storage import FOLDER


@pytest.mark.parametrize("seed", range(5))
def test_what_is_no_python_edited_at_random(tmp_path: Path, seed: int) -> None:
    root = write_project(tmp_path / "project", FILES | CONFIGURED_FILES)
    assert not list(differences(root, 20, seed, edits=CONFIGURED))


@pytest.mark.parametrize("seed", range(5))
def test_edited_at_random(tmp_path: Path, seed: int) -> None:
    root = write_project(tmp_path / "project")
    assert not list(differences(root, 20, seed))


def forbidden(*_: object) -> None:
    raise AssertionError("was not asked for")


def test_what_has_not_changed_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_project(tmp_path / "project")
    expected = lint(root, "--no-cache")
    assert lint(root) == expected
    monkeypatch.setattr("torchrepro_lint.checking.build", forbidden)
    assert lint(root) == expected


def test_a_comment_in_what_all_import_leaves_the_others_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_project(tmp_path / "project")
    lint(root)
    shared = root / "utils.py"
    shared.write_text("# a word about this\n\n" + shared.read_text().replace("def ", "# and of this\ndef ", 1))
    checked: list[str] = []
    from torchrepro_lint.engine import Run

    whole = Run.check_file
    monkeypatch.setattr(Run, "check_file", lambda run, path: checked.append(path.name) or whole(run, path))
    expected = lint(root, "--no-cache")
    checked.clear()
    assert lint(root, "--jobs", "1") == expected
    assert "utils.py" in checked
    assert "model.py" not in checked


_TRAINS = "net(torch.ones(2)).sum().backward()\n"
_DRAWS = "import torch\n\n\ndef build():\n    return torch.nn.Linear(2, 2)\n"
CHOSEN = {  # a module by a part of its name, a class by a registry, what a subclass sets
    "named": (
        {
            "train.py": "import importlib, sys, torch\n"
            'net = importlib.import_module(f"nets.{sys.argv[1]}").build()\n' + _TRAINS,
            "nets/__init__.py": "",
            "nets/plain.py": "def build():\n    return print\n",
        },
        {"nets/linear.py": _DRAWS},
    ),
    "registered": (
        {
            "table.py": "NETS = {}\n\n\ndef register(cls):\n    NETS[cls.__name__] = cls\n    return cls\n",
            "nets.py": "from table import register\n",
            "train.py": "import sys, torch, nets, more\nfrom table import NETS\nnet = NETS[sys.argv[1]]()\n" + _TRAINS,
            "more.py": "",
        },
        {"more.py": "import torch\nfrom table import register\n\n\n@register\nclass Net(torch.nn.Linear):\n    pass\n"},
    ),
    "derived": (
        {
            "base.py": "class Base:\n    data = None\n\n    def run(self, net):\n        for x in self.data():\n"
            "            net(x).sum().backward()\n",
            "train.py": "import own\nown.start()\n",
            "own.py": "def start():\n    pass\n",
        },
        {
            "own.py": "import random\nfrom base import Base\n\n\ndef rows():\n    yield random.random()\n\n\n"
            "class Own(Base):\n    data = rows\n\n\ndef start():\n    Own().run(print)\n"
        },
    ),
}


@pytest.mark.parametrize("kind", CHOSEN)
def test_what_is_chosen_by_name_is_found_when_it_comes_and_goes(tmp_path: Path, kind: str) -> None:
    files, changed = CHOSEN[kind]
    root = write_project(tmp_path / "project", files)
    before = lint(root)
    for name, text in changed.items():
        (root / name).write_text(text)
    after = lint(root)
    assert after == lint(root, "--no-cache")
    assert after != before
    for name in changed:
        if name in files:
            (root / name).write_text(files[name])
        else:
            (root / name).unlink()
    assert lint(root) == before


def test_what_is_quickly_found_again_is_not_written(tmp_path: Path) -> None:
    root = write_project(tmp_path / "project")
    lint(root, "model.py")
    lint(root, "data.py")
    (kept,) = (path for path in (root / FOLDER).glob("*.cache") if path.stem != "program")
    before = kept.read_bytes()
    both = ("model.py", "data.py")
    expected = lint(root, *both, "--no-cache")
    assert lint(root, *both) == expected  # also looks for the files that use both, as no run before
    assert kept.read_bytes() == before
    (root / "model.py").write_text("x = 1\n" + (root / "model.py").read_text())
    lint(root, *both)
    assert kept.read_bytes() != before


def test_questions_are_written_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchrepro_lint.cache._TOGETHER", 7)
    root = write_project(tmp_path / "project")
    expected = lint(root)
    monkeypatch.setattr("torchrepro_lint.checking.build", None)  # nothing is read again
    assert lint(root) == expected


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_edits_are_made_where_they_are_told(tmp_path: Path, jobs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_project(tmp_path / "project")
    options = {"plain": (), "json": ("--output-format", "json"), "counted": ("--statistics",)}
    expected = {name: lint(root, *asked, "--no-cache") for name, asked in options.items()}
    assert b"torch.Generator().manual_seed(" in expected["json"].out
    with monkeypatch.context() as without_edits:
        without_edits.setattr("torchrepro_lint.checks.seeded_generator._edits", forbidden)
        assert lint(root, "--jobs", jobs) == expected["plain"]
    for name in ("json", "plain", "counted"):  # what is kept without edits is no answer for whoever asks for them
        assert lint(root, *options[name], "--jobs", jobs) == expected[name]
    monkeypatch.setattr("torchrepro_lint.checking.build", None)  # nothing is read again
    for name, asked in options.items():
        assert lint(root, *asked) == expected[name]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_fixes_are_those_of_a_run_without(tmp_path: Path, jobs: str) -> None:
    plain, cached = write_project(tmp_path / "plain"), write_project(tmp_path / "cached")
    lint(cached)
    fix = ("--fix", "--unsafe-fixes", "--output-format", "concise", "--jobs", jobs)
    assert lint(cached, *fix) == lint(plain, *fix, "--no-cache")
    assert texts(cached) == texts(plain)
    assert lint(cached, "--jobs", jobs) == lint(plain, "--no-cache")


def texts(root: Path) -> dict[str, bytes]:
    """What is in the project's files."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*.py"))}
