"""The benchmarks that need no downloads: what they measure and skip, and that a failed run is never taken for fast."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import changes
import entry_points
import generated
import measuring
import programs

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / "programs.py"), "--rounds", "1", *arguments]
    environment = {**os.environ, programs.FOLDER: str(folder)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def commit(folder: Path, message: str) -> str:
    """A new commit in the repository at `folder`, which is made where there is none."""
    author = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    git = ["git", "-C", str(folder)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.py").write_text(f"print({message!r})\n")
    for arguments in (["init", "-q"], ["add", "."], [*author, "commit", "-q", "-m", message]):
        subprocess.run([*git, *arguments], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


def process(cpu: float) -> measuring.Process:
    return measuring.Process(code=0, wall=cpu, cpu=cpu, peak=2**20)


def test_absent_repositories_are_told_with_the_command_that_lays_them_out(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    for repository in programs.REPOSITORIES:
        assert f"SKIPPED {repository.name}: absent" in done.stderr
        assert f"https://github.com/{repository.name} {repository.folder(tmp_path)}" in done.stderr


def test_what_is_present_is_measured_and_the_rest_skipped(tmp_path: Path) -> None:
    (tmp_path / "ultralytics__yolov5").mkdir()
    (tmp_path / "ultralytics__yolov5" / "train.py").write_text("import torch\n\ntorch.rand(1)\n")
    done = run(tmp_path)
    one, together = done.stdout.splitlines()[1:]
    assert one.startswith("ultralytics/yolov5  ")
    assert one.split()[1] == "1"
    assert together.startswith("together (1 of 7 repositories)  ")
    assert done.stderr.count("SKIPPED") == 6
    assert done.returncode == int("MISSED" in done.stdout)


def test_the_commands_lay_out_the_pinned_commit(tmp_path: Path) -> None:
    remote, checkouts = tmp_path / "remote", tmp_path / "checkouts"
    first, second = commit(remote / "owner" / "name", "first"), commit(remote / "owner" / "name", "second")
    insteadof = {"KEY_0": f"url.file://{remote}/.insteadOf", "VALUE_0": "https://github.com/", "COUNT": "1"}
    environment = {**os.environ, **{f"GIT_CONFIG_{name}": value for name, value in insteadof.items()}}
    for pinned in (programs.Repository("owner/name", first), programs.Repository("owner/name", second)):
        assert programs.missing(pinned, checkouts) is not None
        subprocess.run(programs.advice(pinned, checkouts), shell=True, check=True, env=environment, capture_output=True)
        assert programs.missing(pinned, checkouts) is None


def test_a_checkout_at_another_commit_is_not_measured(tmp_path: Path) -> None:
    at = commit(tmp_path / "pytorch__examples", "mine")
    done = run(tmp_path, "pytorch/examples")
    assert done.returncode == 2
    assert f"SKIPPED pytorch/examples: at commit {at[:7]}, not at 77f55b9" in done.stderr


def test_the_same_files_are_parsed_and_checked(tmp_path: Path) -> None:
    for name in ("train.py", "a template.py", "notes.txt", "build/old.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("import {{ package }}.torch\n" if "template" in name else "import torch\n")
    files = measuring.checked(tmp_path)
    assert [path.name for path in files] == ["a template.py", "train.py"]
    assert measuring.parse(files, tmp_path).stdin == b"a template.py\ntrain.py"
    assert measuring.cost(tmp_path, rounds=1, code=2).files == 2


def test_a_run_that_ends_otherwise_than_expected_is_not_measured(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\n")
    with pytest.raises(SystemExit, match="exit code 0 from "):
        measuring.cost(tmp_path, rounds=1, code=2)
    with pytest.raises(SystemExit, match="No such option"):
        measuring.measure(measuring.check("--no-such-option", folder=tmp_path))


def test_ratios_are_taken_within_a_round() -> None:
    one = measuring.Cost(10, [process(1), process(2), process(1)], [process(3), process(10), process(4)])
    other = measuring.Cost(5, [process(1), process(2), process(3)], [process(1), process(2), process(3)])
    both = programs.together([one, other])
    assert (one.ratio, other.ratio) == (4, 1)
    assert (both.files, both.ratio, both.peak) == (15, 2, 1)
    assert programs.met(one, 4)
    assert not programs.met(one, 3.9)


def test_the_slope_is_what_one_more_program_costs() -> None:
    small = measuring.Cost(401, [process(0.1)], [process(1.0)])
    large = measuring.Cost(411, [process(0.11)], [process(1.2)])
    first, second = entry_points.rows([(1, small), (11, large)])
    assert "ms" not in first
    assert second.split()[-4:] == ["20.0", "ms", "1.0", "ms"]


def test_generated_programs_are_followed_into_their_library(tmp_path: Path) -> None:
    generated.write(tmp_path, generated.library(20))
    generated.write(tmp_path, (generated.program(n, 20) for n in range(4)))
    assert len([p for p in tmp_path.glob("library/**/*.py") if p.name != "__init__.py"]) == 20
    command = [*measuring.linter(), "check", "--output-format", "json", "--exit-zero", "--select", "TRP101", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    found = {finding["path"]: {r["path"] for r in finding["related"]} for finding in json.loads(done.stdout)}
    assert sorted(found) == ["examples/train_1.py", "examples/train_3.py"]
    assert all(any(path.startswith("library/") for path in related) for related in found.values())


def test_a_change_is_told_once_for_each_program_that_it_breaks(tmp_path: Path) -> None:
    checkout = tmp_path / "programs" / "owner__name"
    checkout.mkdir(parents=True)
    train = "import torch\nimport seeds\n\n\ndef one():\n    torch.seed()\n\n\ndef two():\n    one()\n\n\n"
    guard = 'if __name__ == "__main__":\n    seeds.fix()\n    torch.rand(2, requires_grad=True).sum().backward()\n'
    for name in ("one.py", "two.py"):
        (checkout / name).write_text(train + guard)
    (checkout / "seeds.py").write_text("import torch\n\n\ndef fix():\n    torch.manual_seed(0)\n")
    change = changes.Change("seeds.py", r"torch\.manual_seed\(0\)", "pass", ("one.py TRP101", "three.py TRP101"))
    case = changes.Case(programs.Repository("owner/name", "0" * 40), {"seeds": "beginning", "two": "second"}, change)
    assert changes.wrong(case, checkout) == ["missed: three.py TRP101", "too many: two.py TRP101"]
    assert (checkout / "seeds.py").read_text().endswith("torch.manual_seed(0)\n")
