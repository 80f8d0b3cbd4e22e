"""Where an environment variable is set, and which files name it."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint.kernels.environment import named_in, sets
from torchrepro_lint.project.disk import in_scripts
from torchrepro_lint.reading import Reach


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("os.environ['V'] = 'a'", ["a"]),
        ("environ['V'] = VALUE", ["b"]),
        ("os.environ.setdefault('V', 'a')", ["a"]),
        ("os.putenv('V', 'a')", ["a"]),
        ("os.environ.update(V='a', W='c')", ["a"]),
        ("os.environ.update({'V': args.v})", [None]),
        ("os.environ['W'] = 'a'", []),
        ("env['V'] = 'a'", []),
        ("os.environ.get('V')", []),
    ],
)
def test_every_way_to_set_a_variable(tmp_path: Path, line: str, values: list[str | None]) -> None:
    text = f"import os\nfrom os import environ\nVALUE = 'b'\nenv = dict(os.environ)\n{line}\n"
    project = SmallProject(tmp_path, {"train.py": text})
    assert [s.value for s in sets(project.program, project.facts(), "V")] == values


def test_a_comment_does_not_name_it(tmp_path: Path) -> None:
    project = SmallProject(tmp_path, {"a.py": "# VARIABLE\n", "b.py": "x = 'VARIABLE=1'\n", "c.py": "f(VARIABLE=1)\n"})
    assert [named_in(project.facts(n), "VARIABLE") for n in ("a.py", "b.py", "c.py")] == [False, True, True]


def test_scripts_are_searched(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "notes.md").write_text("VARIABLE")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config.sh").write_text("VARIABLE")
    assert not in_scripts(Reach([tmp_path]), str(tmp_path), "VARIABLE")
    (tmp_path / "scripts" / "run.sh").write_text("VARIABLE=1 python train.py")
    assert in_scripts(Reach([tmp_path]), str(tmp_path), "VARIABLE")
