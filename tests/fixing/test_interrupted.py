"""Fixing that is cut short, refused or raced: no file half-written, nothing lost, and a message that names the file."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pytest

import forked

OPTIONS = ["--isolated", "--select", "TRP401", "--fix"]
COMMAND = [sys.executable, "-m", "torchrepro_lint", *OPTIONS]
OLD = "import torch\n\ntorch.backends.cudnn.benchmark = True\n"
NEW = OLD.replace("True", "False")
FILES = 40

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals, limits and mounts of Unix")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    _fill(tmp_path)
    return tmp_path


def _fill(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("")
    (folder / "clean").mkdir(exist_ok=True)
    (folder / "clean/empty.py").write_text("")
    for number in range(FILES):
        (folder / f"f{number:02}.py").write_text(OLD)


def _contents(folder: Path) -> list[str]:
    return [path.read_text() for path in sorted(folder.glob("*.py"))]


def _killed_after(renames: int, folder: Path) -> None:
    """Run, and end as by SIGKILL after so many files were replaced."""
    replace = Path.replace
    left = renames

    def counted(self: Path, target: Path) -> Path:
        nonlocal left
        if self.name.startswith(".torchrepro-") and target.suffix == ".py":
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
        return replace(self, target)

    def counting() -> None:
        Path.replace = counted  # type: ignore[method-assign,assignment]

    done = forked.lint(*OPTIONS, ".", cwd=folder, before=counting)
    assert done.returncode == -signal.SIGKILL, done.stderr


def _run(folder: Path, *, path: str = ".") -> subprocess.CompletedProcess[str]:
    done = forked.lint(*OPTIONS, path, cwd=folder)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def _refused(done: subprocess.CompletedProcess[str], reason: str) -> None:
    """Nothing was written, and what was found is reported all the same."""
    assert done.returncode == 2
    assert done.stderr.startswith("torchrepro-lint: no file was changed: ")
    assert reason in done.stderr
    assert done.stdout.count("TRP401 warning") == FILES


def test_killed_at_any_moment_every_file_is_whole(project: Path) -> None:
    start = time.monotonic()
    subprocess.run([*COMMAND, "."], cwd=project, capture_output=True, check=False)
    whole = time.monotonic() - start
    assert _contents(project) == [NEW] * FILES
    for part in range(1, 13, 2):
        _fill(project)
        running = subprocess.Popen([*COMMAND, "."], cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(whole * (0.6 + part / 20))
        running.kill()
        running.wait()
        assert set(_contents(project)) <= {OLD, NEW}
        assert len(_contents(project)) == FILES
    _run(project)
    assert _contents(project) == [NEW] * FILES


def test_killed_while_files_are_written(project: Path) -> None:
    for wanted in (1, 2, FILES // 2):
        _fill(project)
        running = subprocess.Popen([*COMMAND, "."], cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while running.poll() is None and len(list(project.glob(".torchrepro-*"))) < wanted:
            time.sleep(0.0005)
        running.kill()
        running.wait()
        assert set(_contents(project)) <= {OLD, NEW}
        _run(project)
        assert _contents(project) == [NEW] * FILES
        assert not list(project.glob(".torchrepro-*"))


def test_a_fix_of_two_files_that_was_interrupted_is_finished_by_the_next_run(project: Path) -> None:
    _killed_after(1, project)
    assert sorted(_contents(project)) == sorted([NEW, *[OLD] * (FILES - 1)])
    done = _run(project, path="clean")
    assert done.stderr.startswith("torchrepro-lint: finished a fix that was interrupted: f01.py, ")
    assert _contents(project) == [NEW] * FILES
    assert not list(project.glob(".torchrepro-*"))


def test_what_has_changed_since_is_not_overwritten(project: Path) -> None:
    _killed_after(1, project)
    (project / "f20.py").write_text("mine = 1\n")
    done = _run(project, path="clean")
    assert "cannot be finished, since files have changed since: f01.py, " in done.stderr
    assert (project / "f20.py").read_text() == "mine = 1\n"
    assert _contents(project).count(OLD) == FILES - 2
    assert not list(project.glob(".torchrepro-*"))


def test_what_was_taken_back_is_not_done_again(project: Path) -> None:
    _killed_after(1, project)
    _fill(project)  # as `git checkout .` does
    done = _run(project, path="clean")
    assert done.stderr == ""
    assert _contents(project) == [OLD] * FILES
    assert not list(project.glob(".torchrepro-*"))


def test_a_journal_of_a_stranger_reaches_nothing_outside_the_project(project: Path, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside.py"
    outside.write_text(OLD)
    temporary = outside.with_name(".torchrepro-000000000000")
    temporary.write_text(NEW)
    (project / "link").symlink_to("..")
    digests = {"old": sha256(OLD.encode()).hexdigest(), "new": sha256(NEW.encode()).hexdigest()}
    targets = (f"../{outside.name}", f"link/{outside.name}", str(outside), "a\0b", "", ".", "f00.py")
    rows: list[object] = [{"target": t, "temporary": temporary.name, **digests} for t in targets]
    (project / "f00.py").write_text(NEW)
    for content in (json.dumps([*rows, 3, {"target": 1}]), "[" * 100_000, "{", "null"):
        (project / ".torchrepro-commit").write_text(content)
        assert _run(project, path="clean").returncode == 0
        assert (outside.read_text(), temporary.read_text()) == (OLD, NEW)
        assert not list(project.glob(".torchrepro-*"))


def test_stopped_by_hand_nothing_is_left_behind(project: Path) -> None:
    running = subprocess.Popen([*COMMAND, "."], cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while running.poll() is None and not list(project.glob(".torchrepro-*")):
        time.sleep(0.0005)
    running.send_signal(signal.SIGINT)
    running.wait()
    assert not list(project.glob(".torchrepro-*"))
    assert _contents(project) in ([OLD] * FILES, [NEW] * FILES)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=200", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("nothing may be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(small_disk: Path) -> None:
    _fill(small_disk)
    with (small_disk / "full").open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"x" * 4096):
            pass
    _refused(_run(small_disk), "No space left on device")
    assert _contents(small_disk) == [OLD] * FILES
    assert not list(small_disk.glob(".torchrepro-*"))


def test_a_file_that_may_not_grow(project: Path) -> None:
    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))

    command = [*COMMAND, "."]  # its streams are pipes, which have no size
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, preexec_fn=limited)
    _refused(done, "File too large")
    assert _contents(project) == [OLD] * FILES
    assert not list(project.glob(".torchrepro-*"))


def test_a_file_that_cannot_be_written_costs_no_other_its_fix_or_its_report(project: Path) -> None:
    (project / "f07.py").chmod(0o444)
    os.link(project / "f09.py", project / "f09.bak")
    done = _run(project)
    assert done.returncode == 2
    assert "Fixed 38 problems, 2 remain in 2 of 41 files." in done.stdout
    *refused, changed = [line.partition(": ")[2] for line in done.stderr.splitlines()]
    assert changed.startswith("changed 38 files: f00.py, ")
    assert refused == [
        "f07.py: not fixed: is read-only",
        "f09.py: not fixed: has 2 hard links, and a fix would part them",
    ]
    assert _contents(project) == [OLD if number in (7, 9) else NEW for number in range(FILES)]


def test_a_link_out_of_the_project_is_not_followed_by_a_fix(project: Path) -> None:
    outside = project.parent / f"{project.name}-outside.py"
    outside.write_text(OLD)
    (project / "f08.py").unlink()
    (project / "f08.py").symlink_to(outside)
    done = _run(project, path="f08.py")
    assert done.returncode == 2
    assert done.stderr == f"torchrepro-lint: f08.py: not fixed: is a link out of the project, to {outside}\n"
    assert "f08.py:3:1" in done.stdout
    assert outside.read_text() == OLD


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder(project: Path) -> None:
    project.chmod(0o555)
    try:
        _refused(_run(project), "f00.py: Permission denied")
    finally:
        project.chmod(0o755)
    assert _contents(project) == [OLD] * FILES


def test_two_runs_at_once(project: Path) -> None:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": project}
    runs = [subprocess.Popen([*COMMAND, "."], **pipes) for _ in range(3)]  # type: ignore[call-overload]
    ends = [(run.communicate()[1], run.returncode) for run in runs]
    assert _contents(project) == [NEW] * FILES
    assert not list(project.glob(".torchrepro-*"))
    assert [code for _, code in ends if code not in (0, 2)] == []
    assert 0 in [code for _, code in ends]
    for message, code in ends:
        assert code == 0 or "changed on disk since it was read" in message
