"""Tasks run in worker processes: every verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

import preloaded
import torchrepro_lint
from torchrepro_lint.verify.process import Process, command_of
from torchrepro_lint.verify.session import Protocol, Session, run
from torchrepro_lint.verify.tasks import Task
from torchrepro_lint.verify.verdicts import Outcome, Row

torch = pytest.importorskip("torch")

from torchrepro_lint.verify.devices import why_no_cuda  # noqa: E402

FAKE = (preloaded.python(), str(Path(__file__).with_name("fake_worker.py")))
WANTED = {
    "varying": "STILL_DIFFERS_IN_DET_MODE",
    "switching": "CONFIRMED",
    "writing": "STILL_DIFFERS_IN_DET_MODE",
    "other-kernel": "SWITCHES_IN_DET_MODE",
    "raising": "RAISES_IN_DET_MODE",
    "steady": "NOT_REPRODUCED",
    "random": "NOT_REPRODUCED",
    "printing": "NOT_REPRODUCED",
    "per-process": "NOT_REPRODUCED",
    "out-of-memory": "UNSUPPORTED",
    "out-of-memory-in-det-mode": "NOT_REPRODUCED",
    "lost-gpu-in-det-mode": "UNSUPPORTED",
    "unsupported": "UNSUPPORTED",
    "no-kernel": "UNSUPPORTED",
    "wrong-dtype": "UNSUPPORTED",
    "not-implemented": "UNSUPPORTED",
    "wordless": "UNSUPPORTED",
    "partly": "STILL_DIFFERS_IN_DET_MODE",
    "missing": "NOT_EXERCISED",
}


def fake(name: str, device: str = "cpu") -> Task:
    return Task(name, f"fake-{name}", "forward", (device,))


@pytest.fixture(scope="module")
def session() -> Session:
    tasks = [fake(name) for name in WANTED]
    return run(tasks, Protocol(repeats=5, timeout=60, command=FAKE))


@pytest.fixture(scope="module")
def rows(session: Session) -> dict[str, Row]:
    return {row.task.id: row for row in session.rows}


@pytest.mark.parametrize("name", WANTED)
def test_verdict(rows: dict[str, Row], name: str) -> None:
    assert rows[name].verdict.value == WANTED[name]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing", "torch_nowhere cannot be imported"),
        ("unsupported", "needs two GPUs"),
        ("steady", None),
        ("out-of-memory", "out of memory: 1152921504606846976 bytes were wanted"),
        ("out-of-memory-in-det-mode", "x (64,) float32: out of memory: 1152921504606846976 bytes were wanted"),
        ("no-kernel", "x (64,) float32: under deterministic algorithms: No available kernel. Aborting execution."),
        ("wordless", "x (64,) float32: under deterministic algorithms: RuntimeError"),
        ("partly", "x (4,) other: mat1 and mat2 shapes cannot be multiplied (2x2 and 3x3)"),
        ("lost-gpu-in-det-mode", "ended by RuntimeError: CUDA error: an illegal memory access was encountered"),
    ],
)
def test_reason(rows: dict[str, Row], name: str, reason: str | None) -> None:
    assert rows[name].reason == reason


def test_what_was_cut_short_is_not_conclusive(rows: dict[str, Row]) -> None:
    inconclusive = {name for name, row in rows.items() if not row.conclusive}
    assert inconclusive == {
        "out-of-memory", "out-of-memory-in-det-mode", "lost-gpu-in-det-mode", "unsupported", "missing", "no-kernel",
        "wrong-dtype", "not-implemented", "wordless",
    }  # fmt: skip


def test_the_alert_is_kept_in_short(rows: dict[str, Row]) -> None:
    (measurement,) = rows["raising"].measurements
    assert measurement.deterministic is not None
    assert measurement.deterministic.alert == "fake_raising does not have a deterministic implementation"
    assert measurement.slowdown is None


def test_a_mutated_input_counts(rows: dict[str, Row]) -> None:
    (measurement,) = rows["writing"].measurements
    assert measurement.default.difference is not None
    assert measurement.default.difference.part == "input 1"


def test_the_flag_is_told_apart_from_the_default(rows: dict[str, Row]) -> None:
    assert rows["switching"].outcome is Outcome.SWITCHES
    assert rows["steady"].outcome is Outcome.SAME
    assert rows["switching"].measurements[0].slowdown is not None


def test_a_dtype_that_fails_takes_nothing_else_with_it(rows: dict[str, Row]) -> None:
    assert [m.summary for m in rows["partly"].measurements] == ["x (64,) float32", "x (4,) last"]


def test_what_draws_is_the_same_in_every_process() -> None:
    """Python and NumPy start each process with other numbers: every trial seeds all generators."""
    (row,) = run([fake("random")], Protocol(repeats=6, processes=3, command=FAKE)).rows
    assert row.verdict.value == "NOT_REPRODUCED"
    (measurement,) = row.measurements  # with equal inputs, of which the state of the generators is one
    assert (measurement.processes, measurement.default.distinct) == (3, 1)


@pytest.mark.usefixtures("forks")
def test_attention_with_dropout_is_the_same_in_every_process() -> None:
    task = Task("sdpa", "sdpa", "backward", ("cpu",), {"dropout_p": 0.1})
    (row,) = run([task], Protocol(repeats=6, processes=3)).rows
    assert row.verdict.value == "NOT_REPRODUCED"
    assert {m.processes for m in row.measurements} == {3}


def test_what_differs_between_processes_alone() -> None:
    done = run([fake("per-process"), fake("steady")], Protocol(repeats=6, processes=3, command=FAKE))
    apart, steady = done.rows
    assert apart.verdict.differs
    assert apart.measurements[0].default.distinct == 3
    assert apart.measurements[0].default.difference is None
    assert (steady.verdict.value, steady.measurements[0].processes) == ("NOT_REPRODUCED", 3)
    assert len(steady.measurements[0].default.outputs) == 6


def test_a_gpu_that_pytorch_cannot_use_is_told_with_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(device: object) -> None:
        raise RuntimeError("CUDA driver initialization failed. You may want to ...")

    assert why_no_cuda(None) == "no CUDA device here" or torch.cuda.is_available()
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    monkeypatch.setattr(torch.cuda, "set_device", broken)
    told = why_no_cuda("NVIDIA H200")
    assert told == "PyTorch cannot use the NVIDIA H200 that is here: CUDA driver initialization failed"
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert why_no_cuda(None) == "PyTorch cannot use the GPU that is here: CUDA driver initialization failed"
    assert why_no_cuda(None, "cuda:2") == "no CUDA device 2 here: there are 2"


BROKEN_GPU = """
import sys, torch
from torchrepro_lint.verify import worker

def broken():
    def function(*args, **options):
        raise RuntimeError("CUDA error: unspecified launch failure")
    return function

torch.version.cuda = "12.8"
for name in ("is_available", "device_count", "get_device_name", "set_device", "current_device", "empty_cache"):
    setattr(torch.cuda, name, broken())
worker.main(sys.argv[1:])
"""


def test_a_broken_gpu_is_left_alone_where_a_cpu_is_asked_for() -> None:
    command = (preloaded.python(), "-c", BROKEN_GPU)
    task = Task("bincount", "bincount-unweighted", "forward", ("cuda", "cpu"))
    (row,) = run([task], Protocol(repeats=2, devices=("cpu",), command=command)).rows
    assert (row.verdict.value, row.device, row.reason) == ("NOT_REPRODUCED", "cpu", None)


def test_nothing_is_imported_from_the_folder_that_it_is_run_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "numpy", "random"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a module of the user was imported')\n")
    monkeypatch.chdir(tmp_path)
    (row,) = run([Task("bincount", "bincount-unweighted", "forward", ("cpu",))], Protocol(repeats=2)).rows
    assert (row.verdict.value, row.reason) == ("NOT_REPRODUCED", None)


@pytest.mark.parametrize("safe_path", ["", "1"])
def test_a_module_beside_the_package_is_not_imported_instead_of_pythons_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, safe_path: str
) -> None:
    """As the backport `pathlib` on PyPI lies beside it."""
    (tmp_path / "torchrepro_lint").symlink_to(Path(torchrepro_lint.__file__).parent)
    for name in ("pathlib", "json", "inspect"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a module beside the package was imported')\n")
    monkeypatch.setenv("PYTHONSAFEPATH", safe_path)
    process = Process((*command_of(tmp_path / "torchrepro_lint" / "__init__.py"), "cpu"))
    try:
        assert process.hello(60)["devices"] == ["cpu"]
    finally:
        process.kill()


def test_a_cuda_row_without_cuda_is_not_exercised(session: Session) -> None:
    if "cuda" in session.present:
        pytest.skip("this machine has CUDA")
    (row,) = run([fake("varying", "cuda")], Protocol(command=FAKE)).rows
    assert row.verdict.value == "NOT_EXERCISED"
    assert "CUDA" in (row.reason or "")


@pytest.mark.skipif(torch.version.cuda is not None, reason="this PyTorch is built with CUDA")
def test_a_gpu_beside_a_pytorch_for_cpus_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 'NVIDIA H200, 570.1, [N/A], 9.0'\n")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    (row,) = run([fake("varying", "cuda")], Protocol(command=FAKE)).rows
    assert row.reason == "this PyTorch is built without CUDA, for the NVIDIA H200 that is here"


def test_the_environment_is_the_workers(session: Session) -> None:
    assert session.environment["torch"] == torch.__version__
    assert "cpu" in session.present
