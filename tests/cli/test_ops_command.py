"""`ops`: the catalogue of operations, looked up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command_line import Run

from evidence_file import document, row, write
from torchrepro_lint.kernels.operations import every

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "operations.schema.json").read_text())


def as_json(run: Run, *arguments: str) -> dict[str, Any]:
    done = run("ops", *arguments, "--output-format", "json")
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(found, SCHEMA)
    return found


def ids(run: Run, *arguments: str) -> list[str]:
    return [op["id"] for op in as_json(run, *arguments)["operations"]]


def test_the_table_has_every_operation_in_a_line_that_fits(run: Run) -> None:
    done = run("ops", env={"COLUMNS": "140"})
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines if line.startswith("  ")][1:] == [op.id for op in every()]
    assert max(map(len, lines)) <= 140
    (put,) = [line for line in lines if line.startswith("  put ")]
    assert put.split("  ")[-1].strip() == "index_put_ on the flattened tensor"


@pytest.mark.parametrize(
    "name, found",
    {
        "scatter-add": ["scatter-add"],
        "scatter_add_": ["scatter-add"],
        "torch.Tensor.scatter_add_": ["scatter-add"],
        "torch.scatter_add()": ["scatter-add"],
        "scatter_add_cuda_kernel": ["scatter-add"],
        "F.fractional_max_pool2d": ["fractional-max-pool2d"],
        "nn.FractionalMaxPool2d": ["fractional-max-pool2d"],
        "fractionalmaxpool2d": ["fractional-max-pool2d"],
        "torch.nn.modules.pooling.FractionalMaxPool2d": ["fractional-max-pool2d"],
        "cumsum_cuda_kernel does not have a deterministic implementation, but you set": ["cumsum"],
        "nn.MaxPool3d": ["max-pool3d", "pooling-mps"],  # what a rule reports comes first
    }.items(),
)
def test_a_name_may_be_an_id_any_spelling_or_an_alert(run: Run, name: str, found: list[str]) -> None:
    assert ids(run, name) == found


def test_a_page_tells_the_whole_story(run: Run) -> None:
    done = run("ops", "max-pool3d", "--torch-version", "2.4", env={"COLUMNS": "100"})
    assert done.exit_code == 0
    text = " ".join(done.stdout.split())
    assert "torch.nn.MaxPool3d" in text
    assert "its result does not vary where `stride` is no smaller than `kernel_size`" in text
    assert "* cuda/xpu, torch >=1.7,<2.13: different bits on every run; raises" in text
    assert "- cuda/xpu, torch >=2.13: where `return_indices=False`: different bits" in text
    assert "cuda: max_pool3d_with_indices_backward_cuda" in text
    assert "Reported as TRP501" in text
    assert "DilatedMaxPool3d.cu" in text


def test_behaviour_is_that_of_the_version(run: Run) -> None:
    found = {
        v: as_json(run, "max-pool3d", "--torch-version", v)["operations"][0] for v in ("2.4", "2.13", ">=2.0,<2.5")
    }
    assert {v: op["now"]["cuda"] for v, op in found.items()} == {
        "2.4": ["raises"],
        "2.13": ["switches", "raises"],
        ">=2.0,<2.5": ["raises"],
    }
    assert found["2.4"]["reported_as"] == ["TRP501"]
    assert found["2.13"]["reported_as"] == ["TRP501", "TRP502"]


def test_a_device_that_is_described_apart_and_one_that_does_what_cuda_does(run: Run) -> None:
    (put,) = as_json(run, "put")["operations"]
    assert put["now"] == {"cuda": ["raises"], "cpu": ["raises", "switches"], "xpu": ["raises"]}
    (on_cpu,) = as_json(run, "put", "--device", "cpu")["operations"]
    assert on_cpu["now"] == {"cpu": ["raises", "switches"]}
    assert {item["device"] for item in on_cpu["behaviour"]} == {"cpu"}


def test_a_device_chooses_what_is_listed(run: Run) -> None:
    on_mps = ids(run, "--device", "mps")
    assert "pooling-mps" in on_mps and "scatter-add" in on_mps and "put" not in on_mps
    done = run("ops", "put", "--device", "mps")
    assert (done.exit_code, done.stderr) == (2, "torchrepro-lint: 'put' is not known to vary on mps\n")


def test_everything_as_json(run: Run) -> None:
    assert ids(run) == [op.id for op in every()]


def test_what_was_measured(run: Run, tmp_path: Path) -> None:
    rows = [
        row("cumsum", "CONFIRMED", distinct=3),
        row("cumsum", "CONFIRMED", device="cpu", dim=0),
        row("put", "UNSUPPORTED"),
    ]
    file = write(tmp_path / "own.json", document(*rows))
    done = run("ops", "cumsum", "--evidence", str(file), env={"COLUMNS": "200"})
    text = " ".join(done.stdout.split())
    assert (
        "cuda: your own measurement on NVIDIA Test 1, torch 2.11: 20 runs gave 3 different results, deterministic "
        "path 1.8x slower" in text
    )
    assert "cpu with dim=0: your own measurement on a CPU (Test CPU), torch 2.11:" in text
    table = run("ops", "--evidence", str(file), env={"COLUMNS": "200"}).stdout.splitlines()
    (line,) = [line for line in table if line.startswith("  cumsum ")]
    assert table[0].endswith("measured")
    assert line.endswith("  cuda 3 of 20 differ, cpu 20 of 20 differ")
    (cumsum,) = as_json(run, "cumsum", "--evidence", str(file))["operations"]
    own = [(item["device"], item["arguments"]) for item in cumsum["measured"] if item["is_own"]]
    assert own == [("cuda", {}), ("cpu", {"dim": 0})]
    (put,) = as_json(run, "put", "--evidence", str(file))["operations"]
    assert not [item for item in put["measured"] if item["is_own"]]  # nothing was measured


@pytest.mark.parametrize("name, near", [("scater_add", "scatter_add"), ("F.interpolat", "interpolate")])
def test_an_unknown_name_exits_with_2_and_the_nearest(run: Run, name: str, near: str) -> None:
    done = run("ops", name)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"torchrepro-lint: no operation {name!r}; did you mean {near}")


def test_a_name_that_nothing_resembles_gets_no_suggestion(run: Run) -> None:
    assert run("ops", "zzzzzzzz").stderr == "torchrepro-lint: no operation 'zzzzzzzz'\n"


@pytest.mark.parametrize(
    "option, problem",
    [
        (("--torch-version", "new"), "--torch-version: 'new' is not a version"),
        (("--evidence", "missing.json"), "--evidence: missing.json: cannot be read: No such file"),
        (("--device", "tpu"), "'tpu' is not one of"),
    ],
)
def test_a_wrong_option(run: Run, option: tuple[str, str], problem: str) -> None:
    done = run("ops", *option)
    assert done.exit_code == 2
    assert problem in done.stderr


def test_color(run: Run) -> None:
    assert "\x1b[1mSources\x1b[0m" in run("ops", "put", "--color", "always").stdout
    assert "\x1b[" not in run("ops", "put").stdout


def test_a_matrix_of_operations_and_environments(run: Run, tmp_path: Path) -> None:
    here = write(tmp_path / "a.json", document(row("cumsum", "CONFIRMED", distinct=3), row("put", "CONFIRMED", dim=1)))
    steady = row("cumsum", "NOT_REPRODUCED", distinct=1, outcome="same")
    always = row("index-add", "STILL_DIFFERS_IN_DET_MODE", outcome="still_differs")
    there = write(tmp_path / "b.json", document(steady, always, gpu="NVIDIA <L4>"))
    asked = ("ops", "--evidence", str(here), "--evidence", str(there), "--device", "cuda")
    lines = run(*asked).stdout.splitlines()
    assert lines[0].split("  ")[0] == "operation"
    assert "NVIDIA Test 1, torch 2.11.0" in lines[0] and "NVIDIA <L4>, torch 2.11.0" in lines[0]
    rows = {line.split()[0]: " ".join(line.split()) for line in lines if line}
    assert rows["cumsum"].startswith("cumsum differs 3/20, 1.8x slower agrees differs ")  # the last is what ships
    assert rows["index-add"].startswith("index-add - differs always 20/20 differs ")
    assert rows["put(dim=1)"] == "put(dim=1) differs 20/20, 1.8x slower - -"
    page = run(*asked, "--output-format", "markdown").stdout
    assert "| `cumsum` | differs 3/20, 1.8x slower | agrees | differs " in page
    html = run(*asked, "--output-format", "html").stdout
    assert "<th>NVIDIA &lt;L4&gt;, torch 2.11.0</th>" in html
    assert '<td class="differs">differs 3/20, 1.8x slower</td><td class="agrees">agrees</td>' in html
