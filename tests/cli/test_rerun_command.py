"""`torchrepro-lint rerun` as a user starts it: exit codes, what it refuses, and programs that behave badly."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import Result
from command_line import PLAIN, Run

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


PYTHON = sys.executable  # which `forks` replaces


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "which program?"),
        (["nothing.py"], "no such file: nothing.py"),
        (["--", "no-such-command"], "no such program: no-such-command"),
        (["--pin", "rngs", "train.py"], "no 'rngs'; there are rng, hash, listing, time, entropy"),
        (["--record", "a", "--prove", "train.py"], "--record and --prove do not go together"),
        (["--record", "a", "--html", "b", "train.py"], "--record and --html do not go together"),
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


def start(project: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    """As a user does: the command, and each run of the program, is a new interpreter."""
    (project / "program.py").write_text(text)
    command = [PYTHON, "-m", "torchrepro_lint", "rerun", "--output-format", "json", *options, "program.py"]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, env=PLAIN, timeout=900)


@pytest.fixture
def rerun(run: Run, project: Path, forks: None) -> Run:
    """In this process, and the runs of the program are forks."""

    def invoke(text: str, *options: str) -> Result:
        (project / "program.py").write_text(text)
        return run("rerun", "--output-format", "json", *options, "program.py")

    return invoke


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
def test_a_seeded_program_is_identical_whatever_else_it_does(rerun: Run, habit: str) -> None:
    done = rerun(MODEL + BAD[habit])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report["verdict"] == "IDENTICAL"
    assert report["steps"] >= 1


@pytest.mark.slow
def test_a_program_that_asks_for_a_line_of_input_is_told_how_to_get_one(rerun: Run, project: Path) -> None:
    done = rerun("import torch\nname = input('name? ')\n")
    assert done.exit_code == 4
    reason = json.loads(done.stdout)["reason"]
    assert reason.splitlines()[0] == (
        "the program ended with exit status 1; its standard input is empty: "
        "let a shell give it a file, -- sh -c 'python train.py < answers.txt'"
    )


@pytest.mark.slow
def test_a_program_that_cannot_start_over_what_it_left_is_told_of_copies(rerun: Run) -> None:
    program = MODEL + "import os\nos.mkdir('results')\nstep()\n"
    done = rerun(program)
    assert done.exit_code == 4
    reason = json.loads(done.stdout)["reason"]
    assert reason.splitlines()[0] == (
        "the program ended with exit status 1; the run before did not: "
        "--copy gives each a fresh folder, if one cannot start over what another left"
    )
    assert "FileExistsError" in reason


@pytest.mark.slow
def test_a_program_that_needs_what_lies_above_its_copy_is_told_so(rerun: Run) -> None:
    done = rerun("import sys\nsys.path.append('..')\nimport lies_above\n", "--copy")
    assert done.exit_code == 4
    assert json.loads(done.stdout)["reason"].splitlines()[0] == (
        "the program ended with exit status 1; "
        "--copy copies the current folder, not what lies above it: start from the folder that holds all"
    )


@pytest.mark.slow
def test_copies_are_the_same_program_however_their_folder_is_written(rerun: Run, project: Path) -> None:
    (project / "data").mkdir()
    done = rerun(MODEL + "step()\n", "--copy", "--folder", "data/../kept")
    assert json.loads(done.stdout)["verdict"] == "IDENTICAL", done.output


@pytest.mark.slow
def test_a_program_that_hangs_is_ended_with_all_its_children(project: Path) -> None:
    text = (
        "import subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(987)'], start_new_session=True)\n"
        "print('started', flush=True)\ntime.sleep(987)\n"
    )
    done = start(project, text, "--timeout", "8")
    assert done.returncode == 4
    reason = json.loads(done.stdout)["reason"]
    assert "did not end within 8 seconds" in reason
    assert "started" in reason
    assert running(project) == []


@pytest.mark.slow
def test_no_process_is_left_when_the_command_itself_is_ended(project: Path) -> None:
    (project / "program.py").write_text(
        MODEL + "step()\nprint('ready')\nimport time\ntime.sleep(987)  # time.sleep(987)\n"
    )
    folder = project / "kept"
    command = [sys.executable, "-m", "torchrepro_lint", "rerun", "--folder", str(folder), "program.py"]
    process = subprocess.Popen(command, cwd=project, env=PLAIN, stderr=subprocess.PIPE)
    log, deadline = folder / "run-1" / "output.txt", time.monotonic() + 600
    while not (log.is_file() and b"ready" in log.read_bytes()) and time.monotonic() < deadline:
        time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=600)
    assert process.returncode == 130
    assert running(project) == []
    (stream,) = (folder / "run-1" / "streams").glob("*.jsonl")
    assert '"k":"step"' in stream.read_text()


def running(folder: Path) -> list[int]:
    """The other processes that were started in the folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            if entry.readlink() == folder and int(entry.parent.name) != os.getpid():
                found.append(int(entry.parent.name))
    return found


@pytest.mark.slow
def test_one_run_is_kept_and_a_later_one_compared_with_it(project: Path, rerun: Run) -> None:
    recorded = start(project, MODEL + "step()\nstep()\n", "--record", "run.trr")
    assert recorded.returncode == 0, recorded.stderr
    same = rerun(MODEL + "step()\nstep()\n", "--against", "run.trr")
    assert (same.exit_code, json.loads(same.stdout)["verdict"]) == (0, "IDENTICAL")
    other = rerun(MODEL + "step()\nw.data[0] = 7\nstep()\n", "--against", "run.trr")
    report = json.loads(other.stdout)
    assert (other.exit_code, report["verdict"], report["first_different_step"]) == (1, "PARTED", 1)
    assert "the runs here agree with each other" in " ".join(report["notes"])


@pytest.mark.slow
@pytest.mark.usefixtures("forks")
def test_safe_fixes_are_proven_on_a_copy(project: Path, run: Run) -> None:
    (project / "program.py").write_text(MODEL.replace("torch.manual_seed(0)", "") + "for _ in range(9):\n    step()\n")
    before = (project / "program.py").read_bytes()
    done = run("rerun", "--prove", "program.py")
    assert done.exit_code == 0, done.output
    assert "verdict               PARTED    IDENTICAL" in done.stdout
    assert (project / "program.py").read_bytes() == before
    done = run("rerun", "--prove", "--output-format", "json", "--html", "page.html", "program.py")
    report = json.loads(done.stdout)
    assert (done.exit_code, report["verdict"], report["with_fixes"]["verdict"]) == (0, "PARTED", "IDENTICAL")
    assert "With 1 safe fix</h2>" in (project / "page.html").read_text(encoding="utf-8")


def test_no_cuda_device_is_told_before_anything_runs(run: Run, project: Path) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("needs a machine without CUDA")
    (project / "program.py").write_text("open('ran', 'w')\n")
    assert run("rerun", "--require-cuda", "program.py").exit_code == 5
    assert not (project / "ran").exists()
