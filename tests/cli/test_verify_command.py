"""`torchrepro-lint verify` and `env`: options that contradict each other, exit codes, what is printed and written."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema
import pytest
from command_line import Process, Run

from evidence_file import document, row, write
from torchrepro_lint import cards
from torchrepro_lint.cli.verify import _hindrances
from torchrepro_lint.engine import Request, check
from torchrepro_lint.evidence import DTYPE, SHAPE
from torchrepro_lint.settings import SettingsResolver
from torchrepro_lint.verify.observed import Observed
from torchrepro_lint.verify.session import Protocol, Session

torch = pytest.importorskip("torch")

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "evidence.schema.json").read_text())
FLAGGED = """\
import torch
import torch.nn.functional as F

raise SystemExit("this file is not to be run")


def step(x, index, values):
    y = F.max_unpool2d(x, index, kernel_size=3, stride=1)
    return F.interpolate(y, scale_factor=2, mode="bicubic").sum().backward()
"""


@pytest.fixture
def flagged(project: Path) -> Path:
    (project / "flagged.py").write_text(FLAGGED)
    return project


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--all", "--op", "put"), "one of them"),
        (("train.py", "--all"), "one of them"),
        (("--op", "putt"), "did you mean put?"),
        (("--require-cuda", "--device", "cpu"), "contradict"),
        (("--repeats", "1"), "--repeats"),
        (("--isolated", "--config", "pyproject.toml"), "--isolated"),
        (("--op", "put", "--evidence", "-", "--output-format", "json"), "both write JSON"),
    ],
)
def test_what_cannot_be_asked(run: Run, arguments: tuple[str, ...], told: str) -> None:
    done = run("verify", *arguments)
    assert done.exit_code == 2
    assert told in done.stderr


def test_nothing_to_verify_needs_no_torch(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    done = run("verify", "clean.py")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "nothing to verify: no finding on an operation in 1 file" in done.stderr


def test_without_torch_it_says_how_to_get_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    done = run("verify", "--op", "put")
    assert done.exit_code == 2
    assert 'pip install "torchrepro-lint[verify]"' in done.stderr


def test_a_missing_path(run: Run) -> None:
    done = run("verify", "nowhere.py")
    assert done.exit_code == 2
    assert "nowhere.py" in done.stderr


def test_findings_are_joined_with_verdicts(flagged: Path, process: Process) -> None:
    """As a user starts it; the others run the command in this process, and forks as its workers."""
    done = process("verify", "flagged.py", "--device", "cpu", "--repeats", "3", "--evidence", "evidence.json")
    text = done.stdout.decode()
    assert "= verified: RAISES_IN_DET_MODE (CPU)" in text
    assert "Deterministic algorithms raise: max_unpooling2d_forward_out does not have" in text
    assert "run with kernel_size=3, stride=1 as written, the rest by default" in text
    assert "NOT_EXERCISED" in text
    assert text.splitlines()[-1].startswith("Verified 1 of 2 findings on ")
    assert done.returncode == 3
    evidence = json.loads((flagged / "evidence.json").read_text())
    jsonschema.validate(evidence, SCHEMA)
    assert {row["id"]: row["verdict"] for row in evidence["rows"]} == {
        "interpolate-bicubic": "NOT_EXERCISED",
        "max-unpool2d": "RAISES_IN_DET_MODE",
    }
    assert evidence["environment"]["torch"] == torch.__version__
    (unpool,) = [row for row in evidence["rows"] if row["id"] == "max-unpool2d"]
    assert (unpool["repeats"], unpool["distinct"], unpool["arguments"]) == (3, 1, {"kernel_size": 3, "stride": 1})


def test_a_folder_that_does_not_exist_is_told_before_anything_is_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchrepro_lint.verify.session.run", lambda *arguments: pytest.fail("something was run"))
    done = run("verify", "--all", "--evidence", "nowhere/evidence.json")
    assert done.exit_code == 2
    assert "--evidence: cannot write nowhere/evidence.json: No such file or directory" in done.stderr


@pytest.mark.usefixtures("forks")
def test_a_dash_is_the_standard_output(project: Path, run: Run) -> None:
    done = run("verify", "--op", "bincount-unweighted", "--device", "cpu", "--repeats", "2", "--evidence", "-")
    jsonschema.validate(json.loads(done.stdout), SCHEMA)
    assert "Verified 0 of 1 operation" in done.stderr
    assert not (project / "-").exists()


@pytest.mark.usefixtures("forks")
def test_both_ends_of_a_comparison(project: Path, run: Run) -> None:
    steady = row("max-unpool2d", "NOT_REPRODUCED", device="cpu", distinct=1, outcome="same")
    gone = row("put", "CONFIRMED", device="cpu", distinct=2)
    write(project / "before.json", document({**steady, "reason": None}, gone))
    done = run("verify", "--op", "max-unpool2d", "--device", "cpu", "--repeats", "2", "--against", "before.json")
    lines = done.stdout.splitlines()
    assert "Against Test CPU (CPU), torch 2.11.0:" in lines
    assert "  max-unpool2d (CPU): NOT_REPRODUCED there, RAISES_IN_DET_MODE here" in lines
    assert lines[-1] == "1 verdict changed of 1; 0 measured here alone, 1 there alone."


def test_what_is_no_evidence_is_told_before_anything_is_run(run: Run, project: Path) -> None:
    (project / "before.json").write_text("{}")
    done = run("verify", "--op", "put", "--against", "before.json")
    assert done.exit_code == 2
    assert "--against: before.json: is no evidence" in done.stderr


@pytest.mark.usefixtures("forks")
def test_json_joins_findings_and_evidence(flagged: Path, run: Run) -> None:
    done = run("verify", "flagged.py", "--device", "cpu", "--repeats", "2", "--output-format", "json")
    content = json.loads(done.stdout)
    jsonschema.validate(content["evidence"], SCHEMA)
    for finding in content["findings"]:
        row = content["evidence"]["rows"][finding["row"]]
        assert (row["id"], row["verdict"]) == (finding["properties"]["operation"], finding["verdict"])
    assert len(content["findings"]) == 2


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
@pytest.mark.usefixtures("forks")
def test_a_required_device_that_is_absent(run: Run) -> None:
    done = run("verify", "--op", "put", "--require-cuda")
    assert done.exit_code == 5
    assert done.stderr == "torchrepro-lint: --require-cuda: no CUDA device here\n"


def test_what_may_hide_differences_is_told() -> None:
    environment = {"variables": {"CUDA_LAUNCH_BLOCKING": "1", "CUDA_DEVICE_MAX_CONNECTIONS": "8"}}
    told = [list(_hindrances(Session(Protocol(), environment, present, ()))) for present in (("cpu",), ("cuda", "cpu"))]
    assert told == [[], ["CUDA_LAUNCH_BLOCKING=1 is set: every kernel is waited for, which may hide differences"]]


def test_env_is_saved_and_compared(run: Run, project: Path) -> None:
    assert run("env", "--save", "env.json").exit_code == 0
    same = run("env", "--compare", "env.json")
    assert (same.exit_code, same.stdout) == (0, "Nothing that results depend on has changed.\n")
    before = json.loads((project / "env.json").read_text())
    (project / "env.json").write_text(
        json.dumps({"rows": [], "environment": {**before, "os": "Plan 9", "torch": None}})
    )
    changed = run("env", "--compare", "env.json")
    assert changed.exit_code == 1
    first, second, last = changed.stdout.splitlines()
    assert first == f"torch  none -> {torch.__version__}"
    assert second.startswith("os     Plan 9 -> ")
    assert last == "2 changes, what matters most first."
    listed = json.loads(run("env", "--compare", "env.json", "--output-format", "json").stdout)
    assert [change["name"] for change in listed] == ["torch", "os"]


@pytest.mark.parametrize(
    ("content", "told"), [("{", "is no JSON"), ("[]", "was not written by"), (None, "cannot read")]
)
def test_env_refuses_what_it_did_not_write(run: Run, project: Path, content: str | None, told: str) -> None:
    if content is not None:
        (project / "env.json").write_text(content)
    done = run("env", "--compare", "env.json")
    assert done.exit_code == 2
    assert told in done.stderr


def test_env_is_shown(run: Run) -> None:
    text = run("env").stdout
    assert f"torch                     {torch.__version__}\n" in text
    assert json.loads(run("env", "--output-format", "json").stdout)["torch"] == torch.__version__


def _seen(operation: str, dtype: str, shape: list[int], line: int) -> dict[str, object]:
    told = [{"code": "TRP501", "path": "flagged.py", "line": line}]
    inputs = [{"dtype": "int64", "shape": [7]}, {"dtype": dtype, "shape": shape}]
    return {"operation": operation, "inputs": inputs, "predicted_by": told}


def test_inputs_are_those_that_a_rerun_saw(flagged: Path, process: Process) -> None:
    causes = [
        _seen("aten::max_unpool2d", "float64", [2, 3, 9, 9], 8),
        _seen("aten::upsample_bicubic2d_backward", "float16", [2, 3, 80, 80], 9),
    ]
    (flagged / "seen.json").write_text(json.dumps({"causes": causes}))
    found = check(Request((flagged / "flagged.py",), SettingsResolver(cards.codes(), isolated=True))).findings
    seen = Observed.read(flagged / "seen.json")
    assert [dict(seen.of(finding)) for finding in found] == [
        {DTYPE: "float64", SHAPE: [2, 3, 9, 9]},  # and not the index
        {DTYPE: "float16"},  # the shape of a gradient is that of the output
    ]
    planned = process("verify", "flagged.py", "--plan", "--device", "cuda", "--rerun", "seen.json").stdout.decode()
    assert "input.dtype='float16'" in planned


ENDLESS = _seen("x", "float32", ["SIZE"], 8)


@pytest.mark.parametrize(
    "content",
    [None, "{", "[]", '{"causes": [{"operation": "x"}]}', json.dumps({"causes": [ENDLESS]}).replace('"SIZE"', "1e999")],
)
def test_what_no_rerun_has_written(run: Run, project: Path, content: str | None) -> None:
    if content is not None:
        (project / "seen.json").write_text(content)
    done = run("verify", "--rerun", "seen.json")
    assert (done.exit_code, "--rerun" in done.stderr, "seen.json" in done.stderr) == (2, True, True)
