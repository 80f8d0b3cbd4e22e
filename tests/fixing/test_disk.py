"""Writing several files as one: what is kept, and that a failure leaves everything as it was."""

from __future__ import annotations

import os
import resource
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from torchrepro_lint.fixing import ConflictError, WriteError, write_files

OLD, NEW = b"x = 1\n", b"x = 2\n"


def make(folder: Path, *names: str) -> list[Path]:
    paths = [folder / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(OLD)
    return paths


def write(*paths: Path, data: bytes = NEW) -> None:
    write_files(dict.fromkeys(paths, data), dict.fromkeys(paths, OLD), paths[0].parent)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_all_files_are_written_and_nothing_else_is_left(tmp_path: Path) -> None:
    write(*make(tmp_path, "a.py", "d/b.py"))
    assert contents(tmp_path) == {"a.py": NEW, "d/b.py": NEW}


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o664])
def test_the_mode_is_kept(tmp_path: Path, mode: int) -> None:
    (path,) = make(tmp_path, "a.py")
    path.chmod(mode)
    write(path)
    assert path.stat().st_mode & 0o7777 == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_is_kept(tmp_path: Path) -> None:
    (path,) = make(tmp_path, "a.py")
    os.chown(path, 65534, 65534)
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (65534, 65534)


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path: Path) -> None:
    make(tmp_path, "real/a.py")
    link = tmp_path / "link.py"
    link.symlink_to("real/a.py")
    write(link)
    assert link.is_symlink()
    assert (tmp_path / "real/a.py").read_bytes() == NEW


def test_a_file_changed_meanwhile_stops_everything(tmp_path: Path) -> None:
    a, b = make(tmp_path, "a.py", "b.py")
    b.write_bytes(b"mine\n")
    with pytest.raises(ConflictError, match=r"b\.py: changed on disk since it was read") as caught:
        write(a, b)
    assert caught.value.path == b
    assert contents(tmp_path) == {"a.py": OLD, "b.py": b"mine\n"}


def test_a_file_gone_meanwhile_is_a_conflict(tmp_path: Path) -> None:
    a, b = make(tmp_path, "a.py", "b.py")
    b.unlink()
    with pytest.raises(ConflictError):
        write(a, b)
    assert contents(tmp_path) == {"a.py": OLD}


def test_a_read_only_file_is_refused(tmp_path: Path) -> None:
    a, b = make(tmp_path, "a.py", "b.py")
    b.chmod(0o444)
    with pytest.raises(WriteError, match=r"b\.py: is read-only"):
        write(a, b)
    assert contents(tmp_path) == {"a.py": OLD, "b.py": OLD}


def test_the_same_file_by_two_names_is_put_back(tmp_path: Path) -> None:
    (a,) = make(tmp_path, "a.py")
    (tmp_path / "b.py").symlink_to("a.py")
    with pytest.raises(ConflictError):
        write(a, tmp_path / "b.py")
    assert contents(tmp_path) == {"a.py": OLD, "b.py": OLD}


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """No file may grow beyond `size` bytes: a disk that is full, for one process."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_leaves_everything_as_it_was(tmp_path: Path) -> None:
    a, b = make(tmp_path, "a.py", "b.py")
    with file_size_limit(1000), pytest.raises(WriteError, match=r"b\.py: File too large"):
        write_files({a: NEW, b: NEW * 1000}, {a: OLD, b: OLD}, tmp_path)
    assert contents(tmp_path) == {"a.py": OLD, "b.py": OLD}


@contextmanager
def somebody() -> Iterator[Path]:
    """A folder of root's, and everything within as somebody else."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        try:
            yield folder
        finally:
            os.seteuid(0)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")
class TestRefusedBySystem:
    def test_a_folder_that_may_not_be_written(self) -> None:
        with somebody() as folder:
            (path,) = make(folder, "a.py")
            path.chmod(0o666)
            os.seteuid(65534)
            with pytest.raises(WriteError, match=r"a\.py: Permission denied"):
                write(path)
            assert contents(folder) == {"a.py": OLD}

    def test_a_refusal_at_the_last_step_puts_the_first_files_back(self) -> None:
        with somebody() as folder:
            mine, theirs = make(folder, "mine/a.py", "theirs/b.py")
            for place in (mine.parent, mine):
                os.chown(place, 65534, 65534)
            theirs.chmod(0o666)
            theirs.parent.chmod(0o1777)  # anybody may add files, none may replace those of others
            os.seteuid(65534)
            with pytest.raises(WriteError, match=r"b\.py: Operation not permitted"):
                write(mine, theirs)
            assert contents(folder) == {"mine/a.py": OLD, "theirs/b.py": OLD}
