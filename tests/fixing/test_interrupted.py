"""Fixing that is cut short, refused or raced: no file half-written, nothing lost, and a message that names the file."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "torchrepro_lint", "--isolated", "--select", "TRP401", "--fix"]
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
    for number in range(FILES):
        (folder / f"f{number:02}.py").write_text(OLD)


def _contents(folder: Path) -> list[str]:
    return [path.read_text() for path in sorted(folder.glob("*.py"))]


def _run(folder: Path, *, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit or 0, limit or 0))

    return subprocess.run(
        [*COMMAND, "."],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limited if limit is not None else None,
    )


def _refused(done: subprocess.CompletedProcess[str], reason: str) -> None:
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("torchrepro-lint: no file was changed: ")
    assert reason in done.stderr


def test_killed_at_any_moment_every_file_is_whole(project: Path) -> None:
    start = time.monotonic()
    _run(project)
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
        for left in project.glob(".torchrepro-*"):
            left.unlink()


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
    _refused(_run(project, limit=10), "f00.py: File too large")
    assert _contents(project) == [OLD] * FILES
    assert not list(project.glob(".torchrepro-*"))


def test_a_read_only_file(project: Path) -> None:
    (project / "f07.py").chmod(0o444)
    _refused(_run(project), "f07.py: is read-only")
    assert _contents(project) == [OLD] * FILES


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
