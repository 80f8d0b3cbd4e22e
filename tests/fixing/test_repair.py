"""A fix of several files is one unit, and a fix that does not do what it should is left out, and said so."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from torchrepro_lint import cards
from torchrepro_lint.engine import Request, Result, Run, check
from torchrepro_lint.model import Edit, Fix, Position, Range, Safety
from torchrepro_lint.repair import fix, in_order_of_imports
from torchrepro_lint.settings import SettingsResolver

DATA = """\
from torch.utils.data import DataLoader, DistributedSampler


def loader(data):
    return DataLoader(data, sampler=DistributedSampler(data))
"""
TRAIN = """\
from data import loader


def main(data, model):
    train_loader = loader(data)
    for epoch in range(3):
        for batch in train_loader:
            model.step(batch)
"""
FIXED = TRAIN.replace(
    "range(3):\n", "range(3):\n        train_loader.sampler.set_epoch(epoch)\n"
)  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "data.py").write_text(DATA)
    (tmp_path / "train.py").write_text(TRAIN)
    return tmp_path


def request(*paths: Path, select: str = "TRP301") -> Request:
    return Request(paths, SettingsResolver(cards.codes(), isolated=True, overrides={"select": [select, "TRP001"]}))


def test_the_other_file_is_fixed(project: Path) -> None:
    made = fix(request(project), unsafe=False, write=True)
    assert (made.fixed, made.findings, made.not_fixed) == (1, (), ())
    assert (project / "data.py").read_text() == DATA
    assert (project / "train.py").read_text() == FIXED


def test_what_is_imported_is_written_first(tmp_path: Path) -> None:
    texts = {"pyproject.toml": "", "a.py": "import b\nimport c\n", "b.py": "import c\n", "c.py": "x = 1\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    paths = [tmp_path / name for name in ("a.py", "b.py", "c.py")]
    ordered = in_order_of_imports(Run(request(tmp_path)).program, paths)
    assert ordered == paths[::-1]


def test_a_file_that_was_not_given_is_not_written(project: Path) -> None:
    made = fix(request(project / "data.py"), unsafe=False, write=True)
    assert (made.fixed, made.fixable, len(made.findings)) == (0, 0, 1)
    assert made.not_fixed == (
        "data.py:5: TRP301 is not fixed: its fix also changes train.py, which is not among the given paths",
    )
    assert (project / "train.py").read_text() == TRAIN


def test_a_suppressed_line_of_the_other_file_is_not_edited(project: Path) -> None:
    loop = "    for epoch in range(3): [model.step(batch) for batch in train_loader]"
    text = "\n".join([*TRAIN.split("\n")[:5], f"{loop}  # torchrepro: ignore[TRP301]", ""])
    (project / "train.py").write_text(text)
    found = check(request(project))
    assert [f.fix for f in found.findings] == [None]
    (project / "train.py").write_text(text.replace("  # torchrepro: ignore[TRP301]", ""))
    assert fix(request(project), unsafe=False, write=True).fixed == 1
    assert "range(3): train_loader.sampler.set_epoch(epoch); [model" in (project / "train.py").read_text()


@pytest.mark.parametrize("change", ["x = 1\n", None])
def test_a_file_that_changes_while_others_are_checked_is_refused(project: Path, change: str | None) -> None:
    """`data.py` is read, then `train.py`; before either is written, somebody else writes or removes one."""

    found = check(request(project)).findings

    def meanwhile(done: int, total: int) -> None:
        if done == total and change is not None:
            (project / "train.py").write_text(change)
        elif done == total:
            (project / "train.py").unlink()

    made = fix(request(project), unsafe=False, write=True, progress=meanwhile)
    assert made.problems == (f"no file was changed: {project / 'train.py'}: changed on disk since it was read",)
    assert made.errors
    assert (made.fixed, made.diffs) == (0, ())
    assert made.findings == found
    assert (project / "data.py").read_text() == DATA
    assert (project / "train.py").exists() == (change is not None)


def test_the_order_of_the_paths_does_not_matter(project: Path) -> None:
    paths = [project / "data.py", project / "train.py"]
    one = fix(request(*paths), unsafe=False, write=False)
    other = fix(request(*reversed(paths)), unsafe=False, write=False)
    assert one.diffs == other.diffs != ()


def _with_fixes(monkeypatch: pytest.MonkeyPatch, **edits: tuple[int, int, str]) -> None:
    """Let each finding of the rule in `project` be fixed by these edits of its own line."""
    from torchrepro_lint import completion

    complete = completion.complete

    def changed(code: str, draft: object, facts: object, *, with_edits: bool) -> object:
        finding = complete(code, draft, facts, with_edits=with_edits)  # type: ignore[arg-type]
        line = finding.location.range.start.line
        text = facts.source.line(line)  # type: ignore[attr-defined]
        for word, (start, end, new) in edits.items():
            if word in text:
                place = Range(Position(line, start), Position(line, end))
                return replace(finding, fix=Fix(Safety.SAFE, "t", (Edit(finding.location.path, place, new),)))
        return finding

    monkeypatch.setattr(completion, "complete", changed)


def test_a_fix_that_breaks_the_file_is_left_out_and_the_others_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    lines = [f"torch.backends.cudnn.benchmark = {value}" for value in ("True", "bool(1)", "True")]
    (tmp_path / "a.py").write_text("\n".join(["import torch", *lines, ""]))
    _with_fixes(monkeypatch, **{"bool(1)": (1, 1, "((")})
    made = fix(request(tmp_path, select="TRP401"), unsafe=False, write=True)
    assert (tmp_path / "a.py").read_text().count("= False") == made.fixed == 2
    assert made.not_fixed == ("a.py:3: TRP401 is not fixed: the changed program would not be free of it",)


def test_json_names_the_cell_of_an_edit(tmp_path: Path) -> None:
    code = "x = 1\ntorch.backends.cudnn.benchmark = True"
    sources = [("markdown", "# A"), ("code", "import torch"), ("code", code)]
    cells = [{"cell_type": kind, "source": text} for kind, text in sources]
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells}))
    found = check(request(tmp_path, select="TRP401"))
    (edit,) = _json(found)[0]["fix"]["edits"]
    assert edit == {"path": "a.ipynb", "cell": 3, "start": {"line": 2, "column": 34}, "end": {"line": 2, "column": 38},
                    "text": "False"}  # fmt: skip
    made = fix(request(tmp_path, select="TRP401"), unsafe=False, write=False)
    git = ["git", "apply", "-"]
    subprocess.run(git, cwd=tmp_path, input=made.diffs[0][1].encode(), check=True)
    cells[2]["source"] = cells[2]["source"].replace("True", "False")
    assert (tmp_path / "a.ipynb").read_text() == json.dumps({"cells": cells})


def _json(result: Result) -> list[dict[str, dict[str, list[object]]]]:
    from torchrepro_lint.report import Context
    from torchrepro_lint.report.json_list import render

    context = Context(color=False, width=80, cwd=result.root, fixing=False)
    loaded: list[dict[str, dict[str, list[object]]]] = json.loads("".join(render(result, context)))
    return loaded
