"""`torchrepro-lint rerun` as a user starts it: exit codes, what it refuses, and programs that behave badly."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import PLAIN, Process, Run

MODEL = """
import torch
torch.manual_seed(0)
w = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([w], lr=0.1)
def step():
    optimizer.zero_grad()
    (w * torch.randn(3)).sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "which program?"),
        (["nothing.py"], "no such file: nothing.py"),
        (["--", "no-such-command"], "no such program: no-such-command"),
        (["--pin", "rngs", "train.py"], "no 'rngs'; there are rng, hash, listing, time, entropy"),
        (["--record", "a", "--prove", "train.py"], "--record and --prove do not go together"),
        (["--isolated", "--config", "pyproject.toml", "train.py"], "--isolated and --config do not go together"),
    ],
)
def test_what_is_refused(run: Run, arguments: list[str], told: str) -> None:
    done = run("rerun", *arguments)
    assert done.exit_code == 2
    assert told in done.output


def test_its_help_names_every_verdict_and_exit_code(run: Run) -> None:
    text = run("rerun", "--help").output
    for word in ("UNSEEDED", "EXTERNAL", "OPERATION", "CONTROL_FLOW", "DATA_ORDER", "RANK", "CONCURRENT", "COMPILED"):
        assert word in text
    assert [n for n in range(6) if f"\n  {n}  " not in text] == []


def start(project: Path, text: str, *options: str, seconds: float = 300) -> subprocess.CompletedProcess[str]:
    (project / "program.py").write_text(text)
    command = [sys.executable, "-m", "torchrepro_lint", "rerun", "--output-format", "json", *options, "program.py"]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, env=PLAIN, timeout=seconds)


BAD = {
    "reads its input": "import sys\nassert sys.stdin.read() == ''\nstep()\n",
    "prints megabytes": "print('x' * 5_000_000)\nstep()\n",
    "leaves at once": "step()\nimport os\nos._exit(0)\n",
    "forks": "import os\nstep()\nif os.fork():\n    os.wait()\nelse:\n    step()\n    os._exit(0)\n",
    "changes its folder": "import os, tempfile\nos.chdir(tempfile.mkdtemp())\nstep()\n",
    "deletes its folder": "import os, tempfile\nd = tempfile.mkdtemp()\nos.chdir(d)\nos.rmdir(d)\nstep()\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("habit", BAD)
def test_a_seeded_program_is_identical_whatever_else_it_does(project: Path, habit: str) -> None:
    done = start(project, MODEL + BAD[habit])
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["verdict"] == "IDENTICAL"
    assert report["steps"] >= 1


@pytest.mark.slow
def test_a_program_that_hangs_is_ended_with_all_its_children(project: Path) -> None:
    text = (
        MODEL
        + "import subprocess, sys, time\nstep()\n"
        + (
            "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(987)'], start_new_session=True)\n"
            "time.sleep(987)\n"
        )
    )
    done = start(project, text, "--timeout", "25")
    assert done.returncode == 4
    assert "did not end within 25 seconds" in json.loads(done.stdout)["reason"]
    assert sleepers() == []


@pytest.mark.slow
def test_no_process_is_left_when_the_command_itself_is_ended(project: Path) -> None:
    (project / "program.py").write_text(
        MODEL + "step()\nprint('ready')\nimport time\ntime.sleep(987)  # time.sleep(987)\n"
    )
    folder = project / "kept"
    command = [sys.executable, "-m", "torchrepro_lint", "rerun", "--folder", str(folder), "program.py"]
    process = subprocess.Popen(command, cwd=project, env=PLAIN, stderr=subprocess.PIPE)
    log, deadline = folder / "run-1" / "output.txt", time.monotonic() + 120
    while not (log.is_file() and b"ready" in log.read_bytes()) and time.monotonic() < deadline:
        time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert [pid for pid in running("program.py") if pid != os.getpid()] == []
    (stream,) = (folder / "run-1" / "streams").glob("*.jsonl")
    assert '"k":"step"' in stream.read_text()


def sleepers() -> list[int]:
    return running("time.sleep(987)")


def running(word: str) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word.encode() in entry.read_bytes() and b"pytest" not in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


@pytest.mark.slow
def test_one_run_is_kept_and_a_later_one_compared_with_it(project: Path) -> None:
    recorded = start(project, MODEL + "step()\nstep()\n", "--record", "run.trr")
    assert recorded.returncode == 0, recorded.stderr
    same = start(project, MODEL + "step()\nstep()\n", "--against", "run.trr")
    assert (same.returncode, json.loads(same.stdout)["verdict"]) == (0, "IDENTICAL")
    other = start(project, MODEL + "step()\nw.data[0] = 7\nstep()\n", "--against", "run.trr")
    report = json.loads(other.stdout)
    assert (other.returncode, report["verdict"], report["first_different_step"]) == (1, "PARTED", 1)
    assert "the runs here agree with each other" in " ".join(report["notes"])


@pytest.mark.slow
def test_safe_fixes_are_proven_on_a_copy(project: Path) -> None:
    (project / "program.py").write_text(MODEL.replace("torch.manual_seed(0)", "") + "step()\n")
    before = (project / "program.py").read_bytes()
    command = [sys.executable, "-m", "torchrepro_lint", "rerun", "--prove", "program.py"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, env=PLAIN, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "verdict               PARTED    IDENTICAL" in done.stdout
    assert (project / "program.py").read_bytes() == before


def test_no_cuda_device_is_told_before_anything_runs(process: Process, project: Path) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("needs a machine without CUDA")
    (project / "program.py").write_text("open('ran', 'w')\n")
    assert process("rerun", "--require-cuda", "program.py").returncode == 5
    assert not (project / "ran").exists()
