"""The user's own module: five kinds of architecture, with a layer that varies and without, found by its name."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema
import pytest

torch = pytest.importorskip("torch")

from architectures import BUILDERS, PLACES  # noqa: E402

from torchrepro_lint.report.verdict_words import lines_of  # noqa: E402
from torchrepro_lint.verify.evidence import evidence  # noqa: E402
from torchrepro_lint.verify.experiment import Unsupported  # noqa: E402
from torchrepro_lint.verify.measure import measure  # noqa: E402
from torchrepro_lint.verify.repeat import Effort  # noqa: E402
from torchrepro_lint.verify.results import Measurement, Place, from_json, to_json  # noqa: E402
from torchrepro_lint.verify.session import Protocol, run  # noqa: E402
from torchrepro_lint.verify.tasks import module_task  # noqa: E402
from torchrepro_lint.verify.user_module import user_module  # noqa: E402

HERE = str(Path(__file__).parent)
CPU = torch.device("cpu")
SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "evidence.schema.json").read_text())


@pytest.fixture(autouse=True)
def left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path.cwd())
    monkeypatch.setattr(sys, "path", list(sys.path))


def measured(kind: str, direction: str = "") -> Measurement:
    name = f"architectures:build_{kind}{'_' * bool(direction)}{direction}"
    arguments = {"module": name, "inputs": f"architectures:batch_{kind}", "folder": HERE}
    (experiment,) = user_module(CPU, arguments)
    return measure(experiment, CPU, Effort(4, patience=20))


@pytest.mark.parametrize("kind", BUILDERS)
def test_nothing_varies_where_nothing_is_planted(kind: str) -> None:
    found = measured(kind)
    assert (found.default.distinct, found.place) == (1, None)
    assert found.deterministic is not None and found.deterministic.distinct == 1
    assert found.slowdown is not None


@pytest.mark.parametrize("kind", BUILDERS)
def test_what_is_planted_is_found_by_its_name(kind: str) -> None:
    assert measured(kind, "forward").place == Place(PLACES[kind], "Planted", "forward")


@pytest.mark.parametrize("kind", BUILDERS)
def test_what_varies_in_the_backward_pass_alone_is_found_by_its_name(kind: str) -> None:
    found = measured(kind, "backward")
    assert found.place == Place(PLACES[kind], "Planted", "backward", "_VaryingBackward")
    assert found.default.difference is not None
    assert found.default.difference.part.startswith("gradient of ")
    assert from_json(json.loads(json.dumps(to_json(found)))) == found


@pytest.mark.usefixtures("forks")
def test_it_is_run_in_fresh_processes_and_told() -> None:
    task = module_task("architectures:build_gnn_backward", "architectures:batch_gnn", HERE)
    session = run([task], Protocol(repeats=6, processes=2, devices=("cpu",)))
    (row,) = session.rows
    assert row.verdict.value == "STILL_DIFFERS_IN_DET_MODE"
    (measurement,) = row.measurements
    assert measurement.processes == 2
    told = next(lines_of(row))
    assert told.startswith("Gnn with 144 parameters of (20, 8) float32, (2, 60) int64; backward: 6 runs in 2 processes")
    assert told.endswith("; it comes from `planted` (Planted), backward, _VaryingBackward")
    content = evidence(session)
    jsonschema.validate(content, SCHEMA)
    assert content["rows"][0]["experiments"][0]["place"]["name"] == "planted"


@pytest.mark.usefixtures("forks")
def test_what_is_made_without_a_seed_is_told() -> None:
    task = module_task("architectures:build_unseeded", "architectures:batch_unseeded", HERE)
    (row,) = run([task], Protocol(repeats=4, processes=2, devices=("cpu",))).rows
    assert not row.conclusive
    assert row.reason is not None and "not the same in every process" in row.reason


@pytest.mark.parametrize(
    ("module", "told"),
    [
        ("architectures:build_number", "gives no torch.nn.Module but a int"),
        ("architectures:nothing", "cannot be imported"),
        ("no_such_module:build", "cannot be imported: No module named 'no_such_module'"),
    ],
)
def test_what_is_no_module(module: str, told: str) -> None:
    with pytest.raises(Unsupported, match=told):
        list(user_module(CPU, {"module": module, "inputs": "architectures:batch_gnn", "folder": HERE}))
