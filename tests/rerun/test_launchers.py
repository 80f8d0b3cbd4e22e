"""The ways in which programs are started: modules, notebooks, and launchers of ranks, one run of each."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from torchrepro_lint.rerun import launching, session
from torchrepro_lint.rerun.comparing import partings
from torchrepro_lint.rerun.results import Verdict
from torchrepro_lint.rerun.streams import Streams

PYTHON = sys.executable  # a new interpreter, where `forks` replaces it
PROGRAM = """\
import sys
import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(int(sys.argv[1])):
    optimizer.zero_grad()
    model(torch.randn(2, 4)).sum().backward()
    optimizer.step()
"""
RANKS = """\
#!/bin/sh
# Starts a program twice, as mpirun and srun do, with the variable that they set: -n 2 PROGRAM...
shift 2
for rank in 0 1; do {variable}=$rank "$@" & done
wait
"""


def rerun(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Record one run of a program, whose streams stay in the folder."""
    options = ["--record", "run.trr", "--folder", "kept"]
    command = [sys.executable, "-m", "torchrepro_lint", "rerun", *options, *words]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)


def steps(project: Path) -> dict[str, list[tuple[str, int | None, int]]]:
    """The place of each optimizer step, for each process."""
    streams = Streams(project / "kept" / "run-1" / "streams", project)
    return {
        name: [(e.place.path, e.place.cell, e.place.line) for e in streams.events(name) if e.kind == "step" and e.place]
        for name in streams.names()
    }


@pytest.mark.slow
@pytest.mark.usefixtures("forks")
@pytest.mark.parametrize("words", [("-m", "pkg.train", "2"), ("--", PYTHON, "-m", "pkg.train", "2")])
def test_a_module(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "train.py").write_text(PROGRAM)
    done = rerun(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert steps(tmp_path) == {"main": [("pkg/train.py", None, 10)] * 2}


@pytest.mark.slow
@pytest.mark.usefixtures("forks")
@pytest.mark.parametrize("variable", ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"])
def test_ranks_that_a_launcher_starts_have_streams_of_their_own(tmp_path: Path, variable: str) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    launcher = tmp_path / "launcher"
    launcher.write_text(RANKS.format(variable=variable))
    launcher.chmod(0o755)
    done = rerun(tmp_path, "--", str(launcher), "-n", "2", sys.executable, "train.py", "1")
    assert done.returncode == 0, done.stderr
    assert steps(tmp_path) == {"rank0": [("train.py", None, 10)], "rank1": [("train.py", None, 10)]}


@pytest.mark.slow
@pytest.mark.usefixtures("forks")
def test_accelerate_launch(tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    (tmp_path / "train.py").write_text(PROGRAM)
    launch = (sys.executable, "-m", "accelerate.commands.launch", "--cpu", "--num_processes", "1", "train.py", "2")
    done = rerun(tmp_path, "--", *launch)
    assert done.returncode == 0, done.stderr
    assert steps(tmp_path) == {"main": [("train.py", None, 10)] * 2}


def notebook(path: Path, *cells: str) -> None:
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    made = [
        {"cell_type": "code", "id": str(n), "execution_count": None, "metadata": {}, "outputs": [], "source": text}
        for n, text in enumerate(cells)
    ]
    title = {"cell_type": "markdown", "id": "title", "metadata": {}, "source": "# Training"}
    text = {"cells": [title, *made], "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(text))


@pytest.mark.slow
def test_a_notebook_is_told_by_cell_and_line_and_stops_after_its_steps(tmp_path: Path) -> None:
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    setup, loop = PROGRAM.replace("int(sys.argv[1])", "9").split("for ")
    notebook(tmp_path / "train.ipynb", setup, "%load_ext autoreload\nfor " + loop)
    done = rerun(tmp_path, "--steps", "2", "train.ipynb")
    assert done.returncode == 0, done.stderr
    assert "jupyter-execute train.ipynb" in done.stderr
    assert steps(tmp_path) == {"main": [("train.ipynb", 3, 5)] * 2}


def test_a_notebook_needs_jupyter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook(tmp_path / "train.ipynb", "pass")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="install nbclient and ipykernel"):
        launching.command_of([str(tmp_path / "train.ipynb")])


def outcome(project: Path, *command: str) -> session.Outcome:
    plan = session.Plan(command, project, project / "kept")
    return session.rerun(session.Session(plan, lambda line: None))


@pytest.mark.slow
@pytest.mark.usefixtures("forks")
def test_a_rank_that_dies_ends_the_run_with_what_it_printed(tmp_path: Path) -> None:
    dies = "import os, sys, time, torch\nif os.environ['RANK'] == '1':\n    sys.exit('rank 1 dies here')\n"
    (tmp_path / "train.py").write_text(f"{dies}time.sleep(900)\n")
    found = outcome(tmp_path, sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "train.py")
    assert found.verdict is Verdict.PROGRAM_FAILED
    assert "rank 1 dies here" in (found.reason or "")
    assert found.runs == 1


@pytest.mark.slow
@pytest.mark.usefixtures("forks")
def test_a_stream_that_ends_too_early_is_no_proof_of_equal_runs(tmp_path: Path) -> None:
    """As on a full disk: no file may grow beyond 8 KiB. The program itself goes on to its end."""
    limited = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n"
    (tmp_path / "train.py").write_text(limited + PROGRAM + "print('the last line')\n")
    found = outcome(tmp_path, sys.executable, "train.py", "60")
    assert (found.verdict, found.runs) == (Verdict.INCONCLUSIVE, 1)
    assert "the stream of main ends before the process did" in (found.reason or "")
    printed = (tmp_path / "kept" / "run-1" / "output.txt").read_text()
    assert "the last line" in printed
    assert printed.count("the stream of this process ends here") == 1
    streams = Streams(tmp_path / "kept" / "run-1" / "streams", tmp_path)
    told = [event.step for event in streams.events("main") if event.kind == "step"]
    assert told == list(range(len(told)))
    assert 10 < len(told) < 60


NODES = """\
#!/bin/sh
# Starts torchrun once for each of two nodes, as a cluster does: PORT, PYTHON and its PROGRAM...
port=$1 python=$2
shift 2
for node in 0 1; do
  "$python" -m torch.distributed.run --nnodes 2 --node-rank $node --nproc-per-node 1 \\
    --master-addr 127.0.0.1 --master-port "$port" "$@" &
  started="$started $!"
done
for process in $started; do wait "$process" || exit 1; done
"""
BETWEEN_NODES = """\
import os
import sys
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
torch.manual_seed(0)
weight = torch.nn.Parameter(torch.ones(4))
optimizer = torch.optim.SGD([weight], lr=0.1)
for step in range(3):
    noise = float(sys.argv[1]) if (dist.get_rank(), step) == (1, 2) else 0.0
    optimizer.zero_grad()
    (weight * (torch.randn(4) + noise)).sum().backward()
    dist.all_reduce(weight.grad)
    optimizer.step()
open(f"node{os.environ['GROUP_RANK']}.rank{dist.get_rank()}.run{sys.argv[1]}", "w").close()
dist.destroy_process_group()
"""


@pytest.mark.slow
@pytest.mark.usefixtures("forks")
def test_ranks_of_two_nodes_write_to_one_folder_and_are_compared_rank_by_rank(tmp_path: Path) -> None:
    """Two launchers on one machine stand for two machines: each starts the rank of its node."""
    (tmp_path / "train.py").write_text(BETWEEN_NODES)
    launcher = tmp_path / "launcher"
    launcher.write_text(NODES)
    launcher.chmod(0o755)
    both = []
    for noise in ("0", "1"):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        command = [str(launcher), port, sys.executable, "train.py", noise]
        done = launching.run(command, tmp_path, tmp_path / "shared" / noise, {"mode": "plain"}, 900)
        assert done.status == 0, done.tail()
        assert {path.name for path in tmp_path.glob(f"*.run{noise}")} == {
            f"node0.rank0.run{noise}", f"node1.rank1.run{noise}",
        }  # fmt: skip
        both.append(Streams(done.streams, tmp_path))
    assert both[0].names() == ["rank0", "rank1"]
    assert [(p.process, p.step, str(p.place)) for p in partings(*both)] == [
        ("rank1", 2, "train.py:13"),
        ("rank0", 2, "train.py:15"),  # what the other rank has sent
    ]
