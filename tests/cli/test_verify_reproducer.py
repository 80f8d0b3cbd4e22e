"""`verify --reproducer`: scripts that show what was seen, with PyTorch alone."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Process, Run

torch = pytest.importorskip("torch")


@pytest.mark.skipif(torch.get_num_threads() < 2, reason="needs two threads")
def test_each_script_shows_what_was_seen(process: Process, tmp_path: Path) -> None:
    names = ("index-put-accumulate", "max-unpool2d", "empty", "histogramdd")
    asked = [word for name in names for word in ("--op", name)]
    done = process("verify", *asked, "--device", "cpu", "--repeats", "400", "--reproducer", "scripts/new")
    scripts = {path.name: path for path in Path("scripts/new").iterdir()}
    assert set(scripts) == {"index-put-accumulate-cpu.py", "max-unpool2d-cpu.py"}
    told = done.stderr.decode()
    assert "wrote scripts/new/index-put-accumulate-cpu.py" in told
    assert "no script shows empty: what else a program does is part of the operation" in told
    for name, shown in (("index-put-accumulate", "different results of equal inputs"), ("max-unpool2d", "max_unpool")):
        path = scripts[f"{name}-cpu.py"]
        text = path.read_text()
        assert len(text.splitlines()) < 60
        assert {m[1] for m in re.finditer(r"^import (.*)", text, re.M)} == {"ctypes, hashlib", "torch"}
        for _ in range(5):  # on a busy machine threads seldom meet
            run = subprocess.run([sys.executable, "-I", path], capture_output=True, text=True, timeout=60)
            if run.returncode:
                break
        assert run.returncode == 1
        assert shown in run.stderr
        digests = re.findall(r"^  ([0-9a-f]{16})$", run.stdout, re.M)
        assert len(digests) >= 20
        assert (len(set(digests)) > 1) == (name == "index-put-accumulate")


def test_nothing_is_shown_of_what_does_not_differ(process: Process) -> None:
    done = process(
        "verify", "--op", "overlapping-writes", "--device", "cpu", "--repeats", "2", "--reproducer", "scripts"
    )
    assert len(list(Path("scripts").iterdir())) == (1 if done.returncode == 1 else 0)


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
