"""The linter as a library: what is public, typed, and gives what the command gives."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import torchrepro_lint
from torchrepro_lint import Certainty, Finding, Level, Report, Safety, SettingsError, check

README = Path(__file__).parents[1] / "docs" / "library.md"
TRAIN = "import torch\n\ntorch.backends.cudnn.benchmark = True\ntorch.seed()\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "clean.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_finds_what_the_command_finds(project: Path) -> None:
    report = check(project)
    command = [sys.executable, "-m", "torchrepro_lint", ".", "--output-format", "json"]
    rows = json.loads(subprocess.run(command, capture_output=True, check=False).stdout)
    assert [(f.code, f.location.path, f.location.range.start.line, f.fingerprint) for f in report.findings] == [
        (row["code"], row["path"], row["line"], row["fingerprint"]) for row in rows
    ]
    assert (report.root, report.files, report.complete) == (project, ("clean.py", "train.py"), True)
    assert check() == report


def test_a_finding_is_frozen_and_says_what_there_is_to_say(project: Path) -> None:
    flag, seed = check("train.py").findings
    assert (flag.code, flag.level, flag.certainty) == ("TRP401", Level.WARNING, Certainty.CERTAIN)
    assert flag.fix is not None and flag.fix.safety is Safety.SAFE
    assert (seed.location.range.start, seed.location.cell) == ((4, 1), None)
    assert dataclasses.is_dataclass(flag)
    with pytest.raises(dataclasses.FrozenInstanceError):
        flag.code = "TRP101"  # type: ignore[misc]


def test_rules_and_settings_are_chosen_as_on_the_command_line(project: Path) -> None:
    assert [f.code for f in check(select=["TRP1"]).findings] == ["TRP102"]
    assert [f.code for f in check(ignore=["nonconstant-seed"]).findings] == ["TRP401"]
    assert check(settings={"exclude": ["train.py"]}).files == ("clean.py",)
    (project / "torchrepro-lint.toml").write_text('select = ["TRP4"]\n')
    assert [f.code for f in check().findings] == ["TRP401"]
    assert len(check(isolated=True).findings) == 2
    (project / "other.toml").write_text('select = ["TRP1"]\n')
    assert [f.code for f in check(config="other.toml").findings] == ["TRP102"]


def test_known_and_uncertain_findings_are_left_out(project: Path) -> None:
    subprocess.run([sys.executable, "-m", "torchrepro_lint", ".", "--write-baseline", "known.txt"], check=True)
    (project / "torchrepro-lint.toml").write_text('baseline = "known.txt"\n')
    (project / "train.py").write_text(TRAIN + "torch.seed()\n")
    report = check()
    assert [(f.code, f.location.range.start.line) for f in report.findings] == [("TRP102", 5)]
    assert [f.code for f in report.left_out["in the baseline"]] == ["TRP401", "TRP102"]
    (project / "list.py").write_text("import os\n\nprint(os.listdir('.')[0])\n")
    assert [f.code for f in check("list.py").findings] == ["TRP204"]
    assert check("list.py", settings={"min-certainty": "certain"}).findings == ()
    (project / "known.txt").unlink()
    with pytest.raises(SettingsError, match=r"known\.txt: no such file"):
        check()


@pytest.mark.parametrize(
    "wrong", [{"select": ["TRP999"]}, {"settings": {"sede": 1}}, {"torch": "new"}, {"config": "pyproject.toml"}]
)
def test_a_wrong_setting_raises(project: Path, wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        check(**wrong)  # type: ignore[arg-type]


def test_what_could_not_be_checked_is_told(project: Path) -> None:
    (project / "broken.py").write_text("x = (\n")
    report = check("broken.py", "nowhere.py")
    assert [f.code for f in report.findings] == ["TRP001"]
    assert report.problems == (f"no such file or folder: {project / 'nowhere.py'}",)
    assert not report.complete


def test_a_text_stands_for_a_file(project: Path) -> None:
    assert [f.code for f in check("clean.py", text=TRAIN).findings] == ["TRP401", "TRP102"]
    assert check("train.py", text="x = 1\n").findings == ()
    with pytest.raises(ValueError, match="one file"):
        check("a.py", "b.py", text="")


def test_it_prints_nothing_and_imports_no_torch(project: Path) -> None:
    script = "import sys, torchrepro_lint\ntorchrepro_lint.check()\nassert not {'torch', 'click'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_importing_the_package_imports_no_other_module_of_it() -> None:
    script = "import sys, torchrepro_lint\nprint([m for m in sys.modules if m.startswith('torchrepro_lint.')])"
    assert subprocess.check_output([sys.executable, "-c", script]) == b"[]\n"


def test_what_is_public_is_listed_and_documented() -> None:
    text = README.read_text(encoding="utf-8")
    for name in torchrepro_lint.__all__:
        assert getattr(torchrepro_lint, name) is not None
        assert name == "__version__" or f"`{name}" in text, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        torchrepro_lint.nothing  # noqa: B018
    assert {Finding, Report} <= {getattr(torchrepro_lint, name) for name in torchrepro_lint.__all__}


def test_the_examples_of_the_documentation_run(project: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.M | re.S)
    assert blocks
    for block in blocks:
        subprocess.run([sys.executable, "-c", block], cwd=project, check=True, capture_output=True)


def test_its_users_can_check_their_types(tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(
        "from torchrepro_lint import Finding, check\n"
        "found: tuple[Finding, ...] = check('src', select=['TRP1']).findings\n"
        "line: int = found[0].location.range.start.line\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "use.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
