"""Several projects in one run are told together, and each as if it were alone."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from command_line import Run

import torchrepro_lint

SEEDED = "import torch\n\n\ndef seed_all(seed):\n    torch.manual_seed(seed)\n"
UNSEEDED = "def seed_all(seed):\n    print(seed)\n"
TRAIN = """\
import torch
from utils import seed_all

torch.backends.cudnn.benchmark = True
seed_all(0)
torch.nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()
"""
ASKED = ("--select", "TRP101,TRP401", "--output-format", "concise")


def repository(folder: Path, utils: str) -> None:
    """A program and what it imports, in a repository of git."""
    subprocess.run(["git", "init", "-q", folder], check=True)
    (folder / "utils.py").write_text(utils)
    (folder / "train.py").write_text(TRAIN)


def found(run: Run, *arguments: str) -> list[str]:
    """The findings as path:line:column and code."""
    done = run(*ASKED, *arguments)
    return [" ".join(line.split()[:2]) for line in done.stdout.splitlines() if ": TRP" in line]


@pytest.fixture
def folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is no project, with two repositories whose files have the same names."""
    top = project / "work"
    top.mkdir()
    for name in ("pyproject.toml", "train.py", "clean.py"):
        (project / name).unlink()
    repository(top / "one", SEEDED)
    repository(top / "two", UNSEEDED)
    monkeypatch.chdir(top)
    return top


@pytest.mark.usefixtures("folder")
class TestRepositoriesInAFolder:
    def test_each_has_the_findings_that_it_has_alone(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        assert found(run, ".") == found(run) == found(run, "one", "two")
        assert found(run) == ["one/train.py:4:1: TRP401", "two/train.py:4:1: TRP401", "two/train.py:6:1: TRP101"]
        monkeypatch.chdir("two")
        assert found(run) == ["train.py:4:1: TRP401", "train.py:6:1: TRP101"]

    def test_one_that_is_named_twice_is_checked_once(self, run: Run) -> None:
        assert found(run, ".", "two", "two/train.py", "one/train.py") == found(run)

    def test_files_beside_them_are_checked_with_all_that_is_below(self, run: Run, folder: Path) -> None:
        (folder / "main.py").write_text(TRAIN.replace("from utils", "from one.utils"))
        (folder / "unseeded.py").write_text(TRAIN.replace("from utils", "from two.utils"))
        assert found(run)[:3] == ["main.py:4:1: TRP401", "one/train.py:4:1: TRP401", "two/train.py:4:1: TRP401"]
        assert found(run)[4:] == ["unseeded.py:4:1: TRP401", "unseeded.py:6:1: TRP101"]

    def test_one_project_around_them_has_all(self, run: Run, folder: Path) -> None:
        (folder / "setup.py").write_text("")
        alone = json.loads(run("--output-format", "json").stdout)
        assert {finding["root"] for finding in alone} == {"."}
        assert len(torchrepro_lint.check(folder).findings) == len(alone)

    def test_fingerprints_tell_them_apart(self, run: Run) -> None:
        findings = json.loads(run("--output-format", "json", "--select", "TRP401").stdout)
        assert [(f["root"], f["path"]) for f in findings] == [(".", "one/train.py"), (".", "two/train.py")]
        assert len({f["fingerprint"] for f in findings}) == len(findings)

    def test_they_are_fixed_as_the_diff_says(self, run: Run, folder: Path) -> None:
        diff = run("--diff", "--unsafe-fixes", "--select", "TRP401").stdout
        assert [line for line in diff.splitlines() if line.startswith("+++")] == [
            "+++ b/one/train.py",
            "+++ b/two/train.py",
        ]
        done = run("--fix", "--unsafe-fixes", "--select", "TRP401")
        assert done.exit_code == 0
        assert "2 fixed" in done.stdout or "Fixed 2" in done.stdout
        fixed = {path: path.read_text() for path in folder.glob("*/train.py")}
        for path in fixed:
            path.write_text(TRAIN)
        subprocess.run(["patch", "-p1"], input=diff, text=True, check=True, stdout=subprocess.DEVNULL)
        assert {path: path.read_text() for path in folder.glob("*/train.py")} == fixed

    def test_each_has_its_own_baseline(self, run: Run, folder: Path) -> None:
        done = run("--write-baseline", "known.txt")
        assert done.exit_code == 2
        assert "belong to 2 projects" in done.stderr
        assert not (folder / "known.txt").exists()
        (folder / "two/torchrepro-lint.toml").write_text('baseline = "known.txt"\n')
        assert run("two", "--write-baseline", "two/known.txt").exit_code == 0
        assert found(run) == ["one/train.py:4:1: TRP401"]

    def test_what_cannot_be_checked_is_told_of_and_the_others_go_on(self, run: Run, folder: Path) -> None:
        (folder / "one/train.py").write_text("import (\n")
        done = run(*ASKED, ".", "three.py")
        assert done.exit_code == 2
        assert "no such file or folder" in done.stderr
        assert "one/train.py:1:8: TRP001" in done.stdout
        assert "two/train.py:4:1: TRP401" in done.stdout

    def test_the_library_and_commands_that_go_on_from_there_do_the_same(self, run: Run, folder: Path) -> None:
        report = torchrepro_lint.check(folder, select=["TRP101", "TRP401"])
        assert [f"{f.location.path}:{f.location.range.start.line} {f.code}" for f in report.findings] == [
            "one/train.py:4 TRP401",
            "two/train.py:4 TRP401",
            "two/train.py:6 TRP101",
        ]
        assert report.root == folder

    def test_each_is_explained_and_one_is_watched(self, run: Run) -> None:
        told = run("explain").stdout
        assert told.count("train.py") >= 2
        assert told == run("explain", "one").stdout + run("explain", "two").stdout
        for asked in (("explain", "--output-format", "json"), ("check", "--watch", ".")):
            done = run(*asked)
            assert (done.exit_code, "belong to 2 projects; name one" in done.stderr) == (2, True)


def test_projects_far_apart_are_not_looked_for_in_all_of_the_disk(
    run: Run, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("elsewhere")
    (other / "setup.cfg").write_text("")
    (other / "train.py").write_text("import torch\n\ntorch.backends.cudnn.benchmark = True\n")
    report = torchrepro_lint.check(folder / "one", other, select=["TRP401"])
    assert sorted(report.root / f.location.path for f in report.findings) == sorted(
        (other / "train.py", folder / "one/train.py")
    )
