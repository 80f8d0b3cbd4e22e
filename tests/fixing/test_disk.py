"""Writing several files as one: what is kept, and that a failure leaves everything as it was."""

from __future__ import annotations

import os
import resource
import signal
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from torchrepro_lint.fixing import ConflictError, WriteError, refusal, write_files
from torchrepro_lint.fixing.journal import Entry, Journal, digest, new_name, recover

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


def test_a_link_out_of_the_project_is_refused(tmp_path: Path) -> None:
    (outside,) = make(tmp_path, "outside.py")
    make(tmp_path, "project/a.py")
    link, folder = tmp_path / "project/link.py", tmp_path / "project/linked"
    link.symlink_to(outside)
    folder.symlink_to(tmp_path)
    for path in (link, folder / "outside.py"):
        assert refusal(path, tmp_path / "project") == f"is a link out of the project, to {outside}"
        with pytest.raises(WriteError, match="is a link out of the project"):
            write_files({path: NEW}, {path: OLD}, tmp_path / "project")
    assert outside.read_bytes() == OLD


def test_a_project_that_is_reached_through_a_link(tmp_path: Path) -> None:
    make(tmp_path, "real/a.py")
    (tmp_path / "link").symlink_to("real")
    path = tmp_path / "link/a.py"
    assert refusal(path, tmp_path / "link") is None
    write_files({path: NEW}, {path: OLD}, tmp_path / "link")
    assert contents(tmp_path / "real") == {"a.py": NEW}


def test_hard_links_are_not_parted(tmp_path: Path) -> None:
    (path,) = make(tmp_path, "a.py")
    os.link(path, tmp_path / "b")
    with pytest.raises(WriteError, match=r"a\.py: has 2 hard links, and a fix would part them"):
        write(path)
    assert contents(tmp_path) == {"a.py": OLD, "b": OLD}


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    (path,) = make(tmp_path, "a.py")
    try:
        os.setxattr(path, "user.origin", b"here")
    except (AttributeError, OSError):
        pytest.skip("no extended attributes here")
    return path


def test_extended_attributes_are_kept(labelled: Path) -> None:
    write(labelled)
    assert (os.listxattr(labelled), os.getxattr(labelled, "user.origin")) == (["user.origin"], b"here")
    assert labelled.read_bytes() == NEW


def test_an_access_list_is_kept_and_that_of_the_folder_not_taken(tmp_path: Path) -> None:
    (path,) = make(tmp_path, "a.py")
    rights = ((1, 6, -1), (2, 6, 65534), (4, 4, -1), (16, 6, -1), (32, 4, -1))
    everyone = b"\x02\0\0\0" + b"".join(struct.pack("<HHi", *row) for row in rights)
    try:
        os.setxattr(path, "system.posix_acl_access", everyone)
        os.setxattr(tmp_path, "system.posix_acl_default", everyone.replace(b"\xfe\xff\0\0", b"\xfd\xff\0\0"))
    except (AttributeError, OSError):
        pytest.skip("no access control lists here")
    mode = path.stat().st_mode
    write(path)
    assert os.getxattr(path, "system.posix_acl_access") == everyone
    assert path.stat().st_mode == mode


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
            os.setegid(0)


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

    def test_an_owner_who_cannot_be_kept(self) -> None:
        with somebody() as folder:
            mine, theirs = make(folder, "mine/a.py", "theirs/b.py")
            for place in (mine.parent, mine):
                os.chown(place, 65534, 65534)
            theirs.chmod(0o666)
            theirs.parent.chmod(0o777)
            os.setegid(65534)
            os.seteuid(65534)
            with pytest.raises(WriteError, match=r"b\.py: belongs to another user or group"):
                write_files({mine: NEW, theirs: NEW}, {mine: OLD, theirs: OLD}, folder)
            assert contents(folder) == {"mine/a.py": OLD, "theirs/b.py": OLD}


@pytest.mark.parametrize("is_complete", [False, True])
def test_what_a_run_that_ended_early_left_is_finished_where_all_was_written(is_complete: bool, tmp_path: Path) -> None:
    entries = [Entry(path, path.with_name(new_name()), digest(OLD), digest(NEW)) for path in make(tmp_path, "a", "b")]
    journal = Journal(tmp_path)
    journal.begin(entries)
    for entry in entries:
        entry.temporary.write_bytes(NEW)
    entries[0].temporary.replace(entries[0].target)
    if is_complete:
        journal.commit()
    assert list(recover(tmp_path)) == (["finished a fix that was interrupted: b"] if is_complete else [])
    assert contents(tmp_path) == {"a": NEW, "b": NEW if is_complete else OLD}
