"""Streams on disk: what survives a kill, a fork and a full disk, and what refuses to be compared."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from torchrepro_lint.rerun import recording
from torchrepro_lint.rerun.comparing import partings
from torchrepro_lint.rerun.inside.streams import Stream
from torchrepro_lint.rerun.streams import FORMAT, StreamError, Streams


def write(folder: Path, *digests: str, kind: str = "xxh3", end: bool = True) -> Streams:
    folder.mkdir()
    stream = Stream(str(folder), {"digest": kind, "mode": "plain"})
    for number, digest in enumerate(digests):
        stream.write({"k": "loss", "step": number, "site": 0, "call": "backward", "d": digest, "v": 1.0})
    if end:
        stream.write({"k": "end"})
    stream.flush()
    return Streams(folder, folder)


def test_equal_streams_do_not_part_and_others_part_at_the_first_difference(tmp_path: Path) -> None:
    one, same, other = (write(tmp_path / n, *d) for n, d in (("a", "xyz"), ("b", "xyz"), ("c", "xqq")))
    assert partings(one, same) == []
    (parting,) = partings(one, other)
    assert (parting.step, parting.event.data["d"]) == (1, "y")


def test_a_stream_that_was_cut_off_is_read_up_to_its_last_whole_record(tmp_path: Path) -> None:
    streams = write(tmp_path / "a", "x", "y", end=False)
    path = streams.folder / "main.jsonl"
    path.write_bytes(path.read_bytes()[:-7])
    assert [event.data["d"] for event in streams.values("main")] == ["x"]
    assert not streams.ended("main")
    assert partings(streams, write(tmp_path / "b", "x", "y")) == []  # nothing is known of the second


def test_a_run_that_goes_on_where_the_other_has_ended_parts(tmp_path: Path) -> None:
    (parting,) = partings(write(tmp_path / "a", "x"), write(tmp_path / "b", "x", "y"))
    assert parting.what.name == "END"


def test_a_process_that_only_one_run_has_parts(tmp_path: Path) -> None:
    one, other = write(tmp_path / "a", "x"), write(tmp_path / "b", "x")
    (other.folder / "main.jsonl").rename(other.folder / "rank0.jsonl")
    assert {(parting.process, parting.what.name) for parting in partings(one, other)} == {
        ("main", "END"),
        ("rank0", "END"),
    }


def test_digests_of_different_kinds_are_not_compared(tmp_path: Path) -> None:
    with pytest.raises(StreamError, match="crc32 and xxh3"):
        partings(write(tmp_path / "a", "x", kind="crc32"), write(tmp_path / "b", "x"))


def test_a_killed_process_has_told_every_step_that_was_flushed(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys\nfrom torchrepro_lint.rerun.inside.streams import Stream\n"
        "stream = Stream(sys.argv[1], {'digest': 'xxh3', 'mode': 'plain'})\n"
        "for step in range(3):\n"
        "    stream.write({'k': 'loss', 'step': step, 'site': 0, 'd': str(step), 'v': None})\n"
        "    stream.flush()\n"
        "stream.write({'k': 'loss', 'step': 3, 'site': 0, 'd': '3', 'v': None})\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert [event.step for event in Streams(tmp_path, tmp_path).values("main")] == [0, 1, 2]


def test_a_forked_process_writes_a_stream_of_its_own(tmp_path: Path) -> None:
    script = (
        "import os, sys\nfrom torchrepro_lint.rerun.inside.streams import Stream\n"
        "stream = Stream(sys.argv[1], {'digest': 'xxh3', 'mode': 'plain'})\n"
        "def loss(d):\n    stream.write({'k': 'loss', 'step': 0, 'site': 0, 'd': d, 'v': None})\n    stream.flush()\n"
        "stream.write({'k': 'loss', 'step': 0, 'site': 0, 'd': 'kept', 'v': None})\n"
        "child = os.fork()\n"
        "loss('parent' if child else 'child')\n"
        "child and os.wait()\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
    streams = Streams(tmp_path, tmp_path)
    told = {name: [event.data["d"] for event in streams.values(name)] for name in streams.names()}
    assert told == {"main": ["kept", "parent"], "main.fork1": ["child"]}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_ends_the_stream_and_not_the_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stream = Stream(str(tmp_path), {"digest": "xxh3", "mode": "plain"})
    stream.write({"k": "end"})
    stream._file = os.open("/dev/full", os.O_WRONLY)
    stream.flush()
    stream.write({"k": "end"})
    stream.flush()
    assert capsys.readouterr().err.count("No space left") == 1


def test_a_recording_gives_back_the_streams_and_refuses_other_files(tmp_path: Path) -> None:
    streams = write(tmp_path / "a", "x", "y")
    recording.write(tmp_path / "run.trr", streams, ("python", "train.py"), {"torch": "2.13.0"})
    back = recording.read(tmp_path / "run.trr", tmp_path / "back")
    assert partings(streams, back.streams) == []
    assert back.command == ("python", "train.py")
    (tmp_path / "other").write_text(json.dumps({}))
    with pytest.raises(StreamError, match="no recorded run"):
        recording.read(tmp_path / "other", tmp_path / "nothing")


WHOLE = json.dumps({"format": FORMAT, "root": "", "command": [], "environment": {}})
HEAD = json.dumps({"k": "head", "format": FORMAT, "digest": "xxh"}) + "\n"
HOSTILE = {
    "a list": ("[]", ""),
    "no root": (json.dumps({"format": FORMAT}), ""),
    "nested": ("[" * 100_000, ""),
    "an environment that is none": (json.dumps({"format": FORMAT, "root": "", "command": [], "environment": 3}), ""),
    "a stream without a head": (WHOLE, "[]\n"),
    "a head that says nothing": (WHOLE, '{"k": "head"}\n'),
    "a record that is too short": (WHOLE, HEAD + "[1]\n"),
    "a record without a kind": (WHOLE, HEAD + "{}\n"),
    "a site without frames": (WHOLE, HEAD + '{"k": "site", "n": 1, "frames": [[1]]}\n'),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_recorded_run_of_a_stranger(name: str, tmp_path: Path) -> None:
    about, stream = HOSTILE[name]
    with zipfile.ZipFile(tmp_path / "run.trr", "w") as archive:
        archive.writestr("about.json", about)
        archive.writestr("main.jsonl", stream)
    with pytest.raises(StreamError):
        recording.read(tmp_path / "run.trr", tmp_path / "back")


def test_a_recorded_run_that_is_larger_than_it_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MAX_BYTES", 100_000)
    with zipfile.ZipFile(tmp_path / "run.trr", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("about.json", WHOLE)
        archive.writestr("main.jsonl", " " * 200_000)
    with pytest.raises(StreamError, match="larger than"):
        recording.read(tmp_path / "run.trr", tmp_path / "back")
    assert not (tmp_path / "back").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_recorded_run_that_is_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run.trr")
    with pytest.raises(StreamError, match="not a regular file"):
        recording.read(tmp_path / "run.trr", tmp_path / "back")
