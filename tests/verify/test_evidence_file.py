"""Evidence as it is written: its form, its order, and that a file is written whole or not at all."""

from __future__ import annotations

import json
import os
import runpy
import stat
import subprocess
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from torchrepro_lint.cards import rules_dir
from torchrepro_lint.verify.environment import manifest
from torchrepro_lint.verify.evidence import evidence, refuse_unwritable, write
from torchrepro_lint.verify.results import Arm, Difference, Measurement, Slowdown
from torchrepro_lint.verify.session import Protocol, Session
from torchrepro_lint.verify.tasks import Task
from torchrepro_lint.verify.verdicts import Row, Verdict, row_of

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "schemas" / "evidence.schema.json").read_text())
A, B = "a" * 16, "b" * 16
VARYING = Measurement(
    "x (2,) float32", A, Arm((A, A, B, A), Difference("output", 0.123456, 3.0, 1e-7)), Arm((A, A)),
    Slowdown(1.5, (1.4, 1.6), 20, 1.0, 1.5),
)  # fmt: skip
STEADY = Measurement("x (4,) float32", B, Arm((A,) * 20), Arm((A,) * 20))
RAISING = Measurement("x (4,) float32", B, Arm((A,) * 20), Arm(alert="put_ does not have"))


def task(name: str, **arguments: object) -> Task:
    return Task(name, name, "backward", ("cuda",), arguments)


@pytest.fixture
def session() -> Session:
    rows = (
        row_of(task("varies", mode="b"), "cuda", [STEADY, VARYING], None),
        row_of(task("varies", mode="a"), "cuda", [RAISING], "took too long"),
        row_of(task("lost"), "cuda", [], "killed by SIGSEGV"),
        Row(task("absent"), None, Verdict.NOT_EXERCISED, "varies on MPS only"),
    )
    return Session(Protocol(), manifest(), ("cuda", "cpu"), rows)


def test_its_form_and_order(session: Session) -> None:
    content = evidence(session)
    jsonschema.validate(content, SCHEMA)
    assert [(row["id"], row["verdict"]) for row in content["rows"]] == [
        ("absent", "NOT_EXERCISED"), ("lost", "UNSUPPORTED"),
        ("varies", "RAISES_IN_DET_MODE"), ("varies", "CONFIRMED"),
    ]  # fmt: skip


def test_a_row_speaks_for_its_strongest_experiment(session: Session) -> None:
    row = evidence(session)["rows"][3]
    assert (row["repeats"], row["distinct"], row["upper_bound"]) == (4, 2, None)
    assert row["deterministic"]["outcome"] == "switches"
    assert row["deterministic"]["slowdown"]["median"] == 1.5
    steady, varying = row["experiments"]
    assert (steady["first_difference"], steady["upper_bound"]) == (None, 0.1459)
    assert (varying["first_difference"], varying["part"], varying["fraction"]) == (3, "output", 0.1235)
    assert varying["digests"]["outputs"] == {A: 3, B: 1}


def test_the_same_bytes_whatever_the_order_of_rows(session: Session, tmp_path: Path) -> None:
    for name, rows in (("one", session.rows), ("other", session.rows[::-1])):
        write(tmp_path / name, evidence(replace(session, rows=rows)))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "evidence.json").write_text("old")
    with pytest.raises(ValueError, match="float values"):
        write(tmp_path / "evidence.json", {"value": float("nan")})
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("evidence.json", "old")]


@pytest.mark.parametrize("path", sorted((rules_dir() / "catalogue" / "evidence").glob("*.json")), ids=lambda p: p.name)
def test_evidence_that_ships(path: Path) -> None:
    content = json.loads(path.read_text())
    jsonschema.validate(content, SCHEMA)
    assert not any(row["verdict"] == "UNSUPPORTED" and row["reason"] is None for row in content["rows"])


@pytest.mark.parametrize(
    ("gpu", "cpu", "expected"),
    [
        ("NVIDIA H200", "AMD EPYC", "nvidia-h200-torch-2.11.0-cu128.json"),
        (None, "Intel(R) Xeon(R) Processor @ 2.80GHz", "intel-xeon-torch-2.11.0-cu128.json"),
        (None, None, "cpu-torch-2.11.0-cu128.json"),
    ],
)
def test_the_name_of_a_recording(session: Session, gpu: str | None, cpu: str | None, expected: str) -> None:
    environment = {**session.environment, "gpu": gpu, "cpu": cpu, "torch": "2.11.0+cu128"}
    script = runpy.run_path(str(ROOT / "scripts" / "record-evidence"), run_name="record")
    assert script["name"](replace(session, environment=environment)) == expected


def test_a_link_is_written_through(session: Session, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    target, link = tmp_path / "kept" / "evidence.json", tmp_path / "link.json"
    link.symlink_to(target)
    for _ in range(2):  # where the file is not there yet, too
        write(link, evidence(session))
        assert link.is_symlink()
        assert not target.is_symlink()
        assert json.loads(target.read_text())["schema"] == 1
    assert [path.name for path in target.parent.iterdir()] == ["evidence.json"]


def test_the_mode_of_a_file_is_kept(session: Session, tmp_path: Path) -> None:
    file = tmp_path / "evidence.json"
    file.write_text("")
    file.chmod(0o600)
    write(file, evidence(session))
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_what_is_no_file_is_written_to_and_stays(session: Session, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    refuse_unwritable(pipe)
    write(pipe, evidence(session))
    told, _ = reader.communicate(timeout=60)
    assert json.loads(told)["schema"] == 1
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    null = Path(os.devnull)
    write(null, evidence(session))
    assert stat.S_ISCHR(null.stat().st_mode)


@pytest.mark.parametrize(
    ("name", "told"), [("nowhere/evidence.json", "No such file"), ("file/x.json", "Not a directory"), (".", "Is a dir")]
)
def test_what_cannot_be_written_is_known_beforehand(tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=told):
        refuse_unwritable(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_recording_is_named_after_what_was_measured(session: Session) -> None:
    """A GPU that PyTorch cannot use gives no name."""
    environment = {**session.environment, "gpu": "NVIDIA H200", "cpu": "AMD EPYC", "torch": "2.11.0"}
    rows = (
        row_of(task("lost"), "cuda", [], "killed by SIGSEGV"),
        row_of(replace(task("steady"), devices=("cpu",)), "cpu", [STEADY], None),
    )
    script = runpy.run_path(str(ROOT / "scripts" / "record-evidence"), run_name="record")
    assert script["name"](replace(session, environment=environment, rows=rows)) == "amd-epyc-torch-2.11.0.json"
