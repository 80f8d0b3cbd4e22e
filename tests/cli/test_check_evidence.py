"""`check --evidence`: what a measurement makes of the findings on operations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command_line import Run

from evidence_file import document, row, write
from torchrepro_lint import evidence
from torchrepro_lint.evidence import Measured
from torchrepro_lint.report.operation_facts import measured_of

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "findings.schema.json").read_text())
NET = """\
import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Net(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.pad = nn.ReplicationPad2d(1)
        self.up = nn.Upsample(scale_factor=2, mode="bicubic")

    def forward(self, x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        return self.up(self.pad(x)).scatter_add(0, index, x)
"""
PAD, UP, ADD = "replication-pad2d-module", "interpolate-bicubic", "scatter-add"


@pytest.fixture(autouse=True)
def nothing_ships(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ships grows with every machine that is measured; these tests bring their own."""
    monkeypatch.setattr(evidence, "shipped", tuple)


@pytest.fixture
def checked(run: Run, project: Path) -> Any:
    """Findings of a file by operation, given rows of evidence and options."""
    (project / "train.py").write_text(NET)

    def check(*rows: dict[str, Any], options: tuple[str, ...] = (), **environment: Any) -> dict[str, Any]:
        file = write(project / "own.json", document(*rows, **environment))
        done = run("train.py", "--output-format", "json", "--evidence", str(file), *options)
        assert done.exit_code in (0, 1), done.stderr
        findings = json.loads(done.stdout)
        jsonschema.validate(findings, SCHEMA)
        return {f["properties"]["operation"]: f for f in findings if "operation" in f["properties"]}

    return check


def outcome(finding: dict[str, Any]) -> tuple[str, str]:
    return finding["level"], finding["certainty"]


def test_what_differed_on_cuda_is_certain_where_the_call_shows_all_that_matters(checked: Any) -> None:
    found = checked(row(PAD, "CONFIRMED"), row(ADD, "CONFIRMED", dim=0))
    assert outcome(found[PAD]) == ("warning", "certain")
    assert outcome(found[ADD]) == ("warning", "likely")  # that indices repeat in the program too is not shown
    assert found[PAD]["properties"]["evidence"]["words"] == (
        "your own measurement on NVIDIA Test 1, torch 2.11: 20 runs gave 20 different results, deterministic path "
        "1.8x slower"
    )
    assert found[PAD]["properties"]["evidence"]["verdict"] == "CONFIRMED"


def test_what_depends_on_data_is_a_note_that_says_on_what_and_how_to_find_out(checked: Any) -> None:
    found = checked()[ADD]
    assert outcome(found) == ("note", "depends")
    assert found["message"].endswith("; this depends on whether indices repeat")
    assert found["properties"]["depends_on"] == ["indices repeat"]
    assert found["help"].endswith("; `torchrepro-lint verify` runs it and compares")


def test_a_program_that_never_goes_to_a_gpu_has_notes(checked: Any, project: Path) -> None:
    (project / "train.py").write_text(NET.replace("cuda", "cpu"))
    assert checked()[UP]["properties"]["depends_on"] == ["the program runs on CUDA"]


def test_what_the_programs_own_flag_makes_raise_is_certain(checked: Any, project: Path) -> None:
    layer = NET.replace("self.pad(x)", "self.conv(x)").replace("self.pad =", "self.conv = nn.Conv2d(3, 3, 1)  #")
    (project / "train.py").write_text(layer)
    assert outcome(checked()[UP]) == ("warning", "likely")
    (project / "train.py").write_text(layer + "\n\ntorch.use_deterministic_algorithms(True)\n")
    assert outcome(checked()[UP]) == ("warning", "certain")


def test_what_never_differed_with_these_arguments_is_a_note(checked: Any) -> None:
    found = checked(row(PAD, "NOT_REPRODUCED", distinct=1, outcome="same", padding=1))
    assert outcome(found[PAD]) == ("note", "depends")


@pytest.mark.parametrize(
    "measured",
    [
        row(PAD, "NOT_REPRODUCED", distinct=1, outcome="same", padding=2),  # another call
        row(PAD, "NOT_REPRODUCED", distinct=1, outcome="same"),  # the recipe's own
        row(PAD, "RAISES_IN_DET_MODE", distinct=1, outcome="raises", padding=1),  # PyTorch says that it varies
        {**row(PAD, "NOT_REPRODUCED", distinct=1, outcome="same", padding=1), "reason": "out of memory"},
    ],
)
def test_what_settles_nothing_is_only_told(checked: Any, measured: dict[str, Any]) -> None:
    found = checked(measured)[PAD]
    assert outcome(found) == ("warning", "likely")
    assert "all 20 runs agreed" in found["properties"]["evidence"]["words"]


def test_a_measurement_that_was_cut_short_says_so(checked: Any) -> None:
    steady = row(PAD, "NOT_REPRODUCED", distinct=1, outcome="same")
    found = checked({**steady, "reason": "took longer than 120 s"})[PAD]
    assert found["properties"]["evidence"]["reason"] == "took longer than 120 s"
    assert found["properties"]["evidence"]["words"].endswith(", incomplete: took longer than 120 s")


def test_a_difference_is_proven_by_however_few_runs(checked: Any) -> None:
    found = checked({**row(PAD, "CONFIRMED"), "reason": "took longer than 120 s"})[PAD]
    assert found["properties"]["evidence"]["reason"] == "took longer than 120 s"
    assert "incomplete" not in found["properties"]["evidence"]["words"]


def test_a_cpu_settles_nothing_and_is_told_only_where_it_differed(checked: Any) -> None:
    agreed = checked(row(PAD, "NOT_REPRODUCED", device="cpu", distinct=1, outcome="same", padding=1))[PAD]
    assert outcome(agreed) == ("warning", "likely")
    assert "evidence" not in agreed["properties"]
    differed = checked(row(PAD, "CONFIRMED", device="cpu"))[PAD]
    assert outcome(differed) == ("warning", "likely")
    assert differed["properties"]["evidence"]["words"].startswith(
        "your own measurement on a CPU (Test CPU), torch 2.11"
    )


def test_what_ships_is_told_and_settles_nothing(checked: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def ships(measured: dict[str, Any]) -> None:
        items = evidence.read(write(tmp_path / "shipped.json", document(measured)), is_own=False)
        monkeypatch.setattr(evidence, "shipped", lambda: items)

    ships(row(PAD, "CONFIRMED"))
    told = checked(options=("--no-cache",))[PAD]
    assert outcome(told) == ("warning", "likely")
    assert told["properties"]["evidence"]["words"].startswith("measured on NVIDIA Test 1, torch 2.11: ")
    own = checked(row(PAD, "NOT_REPRODUCED", distinct=1, outcome="same", padding=1), options=("--no-cache",))[PAD]
    assert outcome(own) == ("note", "depends")  # one's own counts
    ships(row(PAD, "NOT_REPRODUCED", distinct=1, outcome="same", padding=1))
    assert outcome(checked(options=("--no-cache",))[PAD]) == ("warning", "likely")


def test_cuda_comes_before_a_cpu(checked: Any) -> None:
    found = checked(row(PAD, "CONFIRMED", device="cpu", padding=1), row(PAD, "CONFIRMED", distinct=3))[PAD]
    assert found["properties"]["evidence"]["distinct"] == 3


def test_another_torch_than_the_programs_is_named_and_refutes_nothing(checked: Any) -> None:
    measured = row(PAD, "NOT_REPRODUCED", distinct=1, outcome="same", padding=1)
    same = checked(measured, options=("--torch-version", "2.11.1"))[PAD]
    assert outcome(same) == ("note", "depends")
    other = checked(measured, options=("--torch-version", "2.8"))[PAD]
    assert outcome(other) == ("warning", "likely")
    assert other["properties"]["evidence"]["words"].endswith("95 % sure) (this program has torch 2.8)")


def test_a_release_with_another_behaviour_confirms_nothing(checked: Any) -> None:
    found = checked(row(PAD, "CONFIRMED"), options=("--torch-version", "2.0"))[PAD]  # raises until 2.1
    assert found["code"] == "TRP501"
    assert "(this program has torch 2.0)" in found["properties"]["evidence"]["words"]


def test_the_measurement_of_this_call_comes_before_that_of_the_recipe(checked: Any) -> None:
    found = checked(
        row(PAD, "CONFIRMED"), row(PAD, "CONFIRMED", distinct=7, padding=1), row(PAD, "CONFIRMED", padding=3)
    )
    assert found[PAD]["properties"]["evidence"]["distinct"] == 7
    found = checked(row(PAD, "CONFIRMED", distinct=5, padding=3))
    assert found[PAD]["properties"]["evidence"]["words"].endswith("(other arguments)")
    found = checked(row(PAD, "CONFIRMED", distinct=5, padding=3), row(PAD, "CONFIRMED", distinct=6))
    assert found[PAD]["properties"]["evidence"]["distinct"] == 6


def test_a_call_that_raises_under_the_programs_flag_is_not_refuted(checked: Any, project: Path) -> None:
    arguments = {"scale_factor": 2, "mode": "bicubic"}
    measured = row(UP, "NOT_REPRODUCED", distinct=1, outcome="same", **arguments)
    assert outcome(checked(measured)[UP])[0] == "note"
    (project / "train.py").write_text(NET + "\n\ntorch.use_deterministic_algorithms(True)\n")
    assert outcome(checked(measured)[UP]) == ("warning", "certain")


def test_the_report_for_people_tells_it_on_a_line_of_its_own(run: Run, project: Path) -> None:
    (project / "train.py").write_text(NET)
    write(project / "own.json", document(row(UP, "CONFIRMED", outcome="raises")))
    done = run("train.py", "--evidence", "own.json")
    assert (
        "= evidence: your own measurement on NVIDIA Test 1, torch 2.11: 20 runs gave 20 different results, "
        "raises under deterministic algorithms\n" in done.stdout
    )
    annotations = run("train.py", "--evidence", "own.json", "--output-format", "github").stdout
    assert "%0Aevidence: your own measurement on NVIDIA Test 1, torch 2.11: 20 runs gave 20 different" in annotations


def test_the_setting_is_relative_to_its_file_and_the_option_goes_over_it(run: Run, project: Path) -> None:
    (project / "package").mkdir()
    (project / "package" / "net.py").write_text(NET)
    (project / "pyproject.toml").write_text('[tool.torchrepro-lint]\nevidence = "ci/own.json"\n')
    (project / "ci").mkdir()
    write(project / "ci" / "own.json", document(row(UP, "CONFIRMED", distinct=11)))
    write(project / "other.json", document(row(UP, "CONFIRMED", distinct=12)))
    assert "gave 11 different" in run("package/net.py").stdout
    assert "gave 12 different" in run("package/net.py", "--evidence", "other.json").stdout


@pytest.mark.parametrize(
    "content, problem",
    [
        (None, "cannot be read: No such file or directory"),
        ({"schema": 9}, "schema: is 9, this version reads 1"),
        (document(row(PAD, "MAYBE")), "rows[0].verdict: 'MAYBE' is none of"),
    ],
)
def test_a_file_that_cannot_be_used_exits_with_2_and_says_where(
    run: Run, project: Path, content: object, problem: str
) -> None:
    if content is not None:
        write(project / "own.json", content)
    done = run("train.py", "--evidence", "own.json")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"torchrepro-lint: --evidence: {project / 'own.json'}: {problem}")
    (project / "pyproject.toml").write_text('[tool.torchrepro-lint]\nevidence = "own.json"\n')
    done = run("train.py")
    assert done.exit_code == 2
    assert done.stderr.startswith("torchrepro-lint: pyproject.toml [tool.torchrepro-lint] evidence: ")


def test_the_page_of_a_rule_sums_up_what_was_measured() -> None:
    def measured(name: str, verdict: str, device: str = "cuda") -> Measured:
        return Measured(name, device, "NVIDIA Test 1", "2.11.0", {}, verdict, 20, 1, None, None, None, is_own=False)

    verdicts = {UP: "CONFIRMED", "put": "RAISES_IN_DET_MODE", PAD: "CONFIRMED"}
    items = [measured(name, verdict) for name, verdict in verdicts.items()]
    items.append(measured("take", "CONFIRMED", "cpu"))
    assert measured_of("TRP501", items) == [
        f"On NVIDIA Test 1, torch 2.11: equal inputs gave different bits in {UP}; nothing differed in 20 runs of put."
    ]
    assert measured_of("TRP503", items) == []
