"""`verify --reproducer`: scripts that show what was seen, with PyTorch alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("forks")


def ran(path: Path) -> subprocess.CompletedProcess[str]:
    """A short script that imports PyTorch alone; run again where a busy machine hides what it shows."""
    text = path.read_text()
    assert len(text.splitlines()) < 60
    assert {m[1] for m in re.finditer(r"^import (.*)", text, re.M)} == {"ctypes, hashlib", "torch"}
    for _ in range(5):
        run = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=300)
        if run.returncode:
            break
    assert run.returncode == 1
    return run


def digests(run: subprocess.CompletedProcess[str]) -> list[str]:
    return re.findall(r"^  ([0-9a-f]{16})$", run.stdout, re.M)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one thread at a time adds in one order")
def test_a_script_shows_what_differs(run: Run) -> None:
    asked = ("--op", "put", "--arg", "accumulate=True", "--shape", "1000000", "--repeats", "60")
    done = run("verify", *asked, "--device", "cpu", "--reproducer", "scripts/new")
    assert "wrote scripts/new/put-cpu.py" in done.stderr
    run = ran(Path("scripts/new/put-cpu.py"))
    assert "different results of equal inputs" in run.stderr
    assert len(set(digests(run))) > 1


def test_a_script_shows_what_raises(run: Run) -> None:
    done = run(
        "verify",
        "--op",
        "max-unpool2d",
        "--op",
        "empty",
        "--device",
        "cpu",
        "--repeats",
        "2",
        "--reproducer",
        "scripts",
    )
    assert [path.name for path in Path("scripts").iterdir()] == ["max-unpool2d-cpu.py"]
    assert "no script shows empty: what else a program does is part of the operation" in done.stderr
    run = ran(Path("scripts/max-unpool2d-cpu.py"))
    assert "deterministic=True: max_unpooling2d_forward_out does not have a deterministic" in run.stderr
    assert len(digests(run)) == 20
    assert len(set(digests(run))) == 1


def test_a_folder_that_cannot_be_made_is_told_before_anything_is_run(run: Run, project: Path) -> None:
    (project / "file").write_text("")
    done = run("verify", "--op", "put", "--reproducer", "file/scripts")
    assert done.exit_code == 2
    assert "--reproducer: cannot make file/scripts: Not a directory" in done.stderr


@pytest.mark.parametrize(
    "name", ["put", "take", "index-copy", "interpolate-bilinear", "sdpa", "stft-reflect", "cublas"]
)
def test_a_script_computes_what_the_experiment_does(name: str) -> None:
    """The same inputs and outputs, bit for bit: of what does not vary on a CPU by more than threads."""
    from torchrepro_lint.verify import probes
    from torchrepro_lint.verify.given import Given
    from torchrepro_lint.verify.script import script

    probe, device = probes.find(name), torch.device("cpu")
    assert probe is not None
    experiment = next(iter(probe(device, Given({}))))
    found: dict[str, object] = {}
    text = script(probe, device, Given({}), experiment.summary, "title", "seen", 2).partition("\ngiven = ")[0]
    exec(compile(text, name, "exec"), found)
    given = found["inputs"]()  # type: ignore[operator]
    assert all(torch.equal(a, b) for a, b in zip(given, experiment.inputs, strict=True))  # type: ignore[arg-type]
    assert [t.requires_grad for t in given] == [t.requires_grad for t in experiment.inputs]  # type: ignore[attr-defined]
    if name in ("put", "take", "index-copy"):
        return  # their outputs vary
    (output, *_) = found["operation"](*(t.detach().clone() for t in given))  # type: ignore[operator]
    wanted = experiment.operation(*(t.detach().clone() for t in given))
    assert torch.equal(output, wanted)  # type: ignore[arg-type]
