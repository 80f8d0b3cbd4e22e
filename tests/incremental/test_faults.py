"""Whatever happens to the folder of a cache, a run prints what it would without one."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

import pytest

from incremental.comparing import Printed, lint
from incremental.faults import killed_while_writing, two_at_once
from incremental.projects import write_project
from torchrepro_lint.cache import storage
from torchrepro_lint.reading import digest

FOLDER = storage.FOLDER


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path / "project")


@pytest.fixture
def expected(project: Path) -> Printed:
    return lint(project, "--no-cache")


def entries(project: Path) -> list[Path]:
    """The files of the cache."""
    return sorted((project / FOLDER).glob("*.cache"))


def test_the_folder_says_what_it_is_and_stays_out_of_git(project: Path) -> None:
    lint(project)
    assert (project / FOLDER / ".gitignore").read_text().splitlines()[-1] == "*"
    assert (project / FOLDER / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


BREAKAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "truncated": lambda data: data[: len(data) // 2],
    "one byte": lambda data: data[:-10] + bytes([data[-10] ^ 1]) + data[-9:],
    "foreign": lambda data: b"\x80\x04\x95 not ours \xff",
    "future": lambda data: signed(data.partition(b"\n")[2].replace(b"[1, ", b"[2, ", 1)),
    "no json": lambda data: signed(b"[1, "),
    "odd entries": lambda data: signed(data.partition(b"\n")[2].replace(b"\t[[", b'\t[[["x"], ')),
    "odd questions": lambda data: signed(data.partition(b"\n")[2].replace(b'["code", ', b"[17, ")),
    "unknown questions to a file": lambda data: signed(data.partition(b"\n")[2].replace(b'"start_of"', b'"of_old"')),
    "odd outlines": lambda data: signed(data.partition(b"\n")[2].replace(b"true]", b"7]").replace(b"false]", b"{}]")),
    "odd numbers": lambda data: signed(data.partition(b"\n")[2].replace(b"\t", b"\tff", 1)),
    "nested": lambda data: signed(data.partition(b"\n")[2].split(b"\n")[0] + b"\n" + b"[" * 100_000),
}


def signed(body: bytes) -> bytes:
    """With a checksum that fits."""
    return digest(body).encode() + b"\n" + body


@pytest.mark.parametrize("kind", BREAKAGES)
def test_what_is_broken_is_worked_out_anew(project: Path, expected: Printed, kind: str) -> None:
    lint(project)
    for path in entries(project):
        path.write_bytes(BREAKAGES[kind](path.read_bytes()))
    assert lint(project) == expected
    assert lint(project) == expected


def test_a_broken_entry_changes_nothing_whichever_byte_it_is(project: Path, expected: Printed) -> None:
    lint(project)
    generator = random.Random(1)
    (path,) = (path for path in entries(project) if path.stem != "program")
    whole = path.read_bytes()
    for _ in range(20):
        place = generator.randrange(len(whole))
        path.write_bytes(whole[:place] + bytes([generator.randrange(256)]) + whole[place + 1 :])
        assert lint(project) == expected


def test_a_file_where_the_folder_should_be(project: Path, expected: Printed) -> None:
    (project / FOLDER).write_text("mine")
    assert lint(project) == expected
    assert (project / FOLDER).read_text() == "mine"


def test_no_link_is_written_through(project: Path, expected: Printed, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (project / FOLDER).symlink_to(elsewhere)
    assert lint(project) == expected
    assert not list(elsewhere.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="folders have other modes there")
def test_a_folder_that_is_read_only(project: Path, expected: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(storage, "_replace", refused)  # root may write anywhere
    assert lint(project) == expected
    assert not entries(project)


def test_a_full_disk(project: Path, expected: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    lint(project)
    (project / "model.py").write_text("import torch\ntorch.rand(2)\n")
    expected = lint(project, "--no-cache")

    def full(file: BinaryIO, lines: Iterable[str]) -> None:
        file.write(next(iter(lines)).encode())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage, "_write_signed", full)
    assert lint(project) == expected
    assert not [path for path in (project / FOLDER).iterdir() if path.suffix == ".new"]
    monkeypatch.undo()
    assert lint(project) == expected


def test_deleted_while_running(project: Path, expected: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    lint(project)
    read = storage.read

    def and_delete(folder: Path, name: str) -> list[str] | None:
        found = read(folder, name)
        shutil.rmtree(folder, ignore_errors=True)
        return found

    monkeypatch.setattr(storage, "read", and_delete)
    assert lint(project) == expected


def test_copied_to_another_path(project: Path, tmp_path: Path) -> None:
    lint(project)
    copy = tmp_path / "copy"
    shutil.copytree(project, copy)
    (copy / "utils.py").write_text("def set_seed(seed):\n    pass\n")
    assert lint(copy) == lint(copy, "--no-cache")


def test_a_clock_that_was_set_back(project: Path, expected: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 1_000_000_000)
    assert lint(project) == expected
    (project / "utils.py").write_text((project / "utils.py").read_text().replace("manual_seed", "mamual_seed"))
    os.utime(project / "utils.py", (1_600_000_000, 1_600_000_000))
    assert lint(project) == lint(project, "--no-cache")


def test_other_bytes_of_the_same_size_and_time(project: Path) -> None:
    lint(project)
    path = project / "utils.py"
    status = path.stat()
    path.write_text(path.read_text().replace("manual_seed", "mamual_seed"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert lint(project) == lint(project, "--no-cache")


@pytest.mark.slow
def test_runs_that_are_killed_while_they_write(project: Path) -> None:
    assert not list(killed_while_writing(project, 40))


@pytest.mark.slow
def test_two_runs_at_once(project: Path) -> None:
    assert not list(two_at_once(project, 10))


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_ctrl_c_ends_every_process(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project")
    for number in range(400):
        shutil.copy(project / "train.py", project / f"train_{number}.py")
    command = [sys.executable, "-m", "torchrepro_lint", "check", "--jobs", "2", "--no-cache"]
    run = subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE)
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children")
    while run.poll() is None and not children.read_text():
        time.sleep(0.01)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=300)
    assert run.returncode == 130
