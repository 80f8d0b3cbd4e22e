"""Which finding predicted a cause: by the line that led there, or by the generator or source that a pin has shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchrepro_lint import cards
from torchrepro_lint.engine import Request, Result, check
from torchrepro_lint.report.rerun_source import lines_around
from torchrepro_lint.rerun.comparing import partings
from torchrepro_lint.rerun.joining import joined
from torchrepro_lint.rerun.judging import suspects
from torchrepro_lint.rerun.results import Cause, Kind, Outcome, Verdict
from torchrepro_lint.rerun.streams import Place, Streams
from torchrepro_lint.settings import SettingsResolver

from .tracing import ROOT, traced

FOLDS = """\
import torch
from sklearn.model_selection import KFold

folds = KFold(shuffle=True)
for train, test in folds.split(x):
    batch = x[train]
"""
PAIRS = """\
import numpy as np
import torch

torch.manual_seed(0)
rng = np.random.RandomState()
x = torch.tensor(rng.rand(3))
"""
ONE_RANK = """\
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 0:
    torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
model(torch.randn(4, 8)).sum().backward()
"""
CELL = "loader = DataLoader(data, shuffle=True)\nfor batch in loader:\n    train(batch)"


def checked(path: Path) -> Result:
    ((path if path.is_dir() else path.parent) / "pyproject.toml").write_text("")
    return check(Request((path,), SettingsResolver(cards.codes(), isolated=True, config=None)), None)


def predicted(path: Path, cause: Cause) -> list[str]:
    outcome = Outcome(Verdict.PARTED, ("python", path.name), causes=(cause,))
    (told,) = joined(outcome, checked(path), {(path, None): None}, path.parent).causes
    return [finding.code for finding in told.predicted_by]


def at(place: Place, kind: Kind, **fields: str) -> Cause:
    return Cause(kind, place, (place,), **fields)


def test_what_a_library_draws_is_seen_only_where_it_comes_in(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(FOLDS)
    place = Place("train.py", 6)
    assert predicted(tmp_path / "train.py", at(place, Kind.UNSEEDED, generator="numpy", shown_by="numpy")) == ["TRP111"]
    assert predicted(tmp_path / "train.py", at(place, Kind.UNSEEDED, generator="python", shown_by="python")) == []
    assert predicted(tmp_path / "train.py", at(place, Kind.OPERATION)) == []


def test_another_program_that_shares_a_file_did_not_predict_anything(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("import torch\n\n\ndef build():\n    return torch.nn.Linear(8, 1)\n")
    for name in ("train.py", "other.py"):
        (tmp_path / name).write_text("import torch\nimport model\n\nmodel.build()(torch.ones(8)).sum().backward()\n")
    cause = at(Place("model.py", 5), Kind.UNSEEDED, generator="torch", shown_by="torch")
    ran = {(tmp_path / name, None): None for name in ("model.py", "train.py")}
    outcome = Outcome(Verdict.PARTED, ("python", "train.py"), causes=(cause,))
    told = joined(outcome, checked(tmp_path), ran, tmp_path)
    assert [Path(finding.place.path).name for finding in told.causes[0].predicted_by] == ["train.py"]
    assert {Path(finding.place.path).name for finding in told.findings} == {"train.py"}


def test_a_seed_on_one_rank_is_missed_wherever_another_rank_draws(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(ONE_RANK)
    place = Place("train.py", 7)
    assert predicted(tmp_path / "train.py", at(place, Kind.UNSEEDED, generator="torch", shown_by="torch")) == ["TRP106"]
    assert predicted(tmp_path / "train.py", at(place, Kind.UNSEEDED, generator="numpy", shown_by="numpy")) == []


def test_a_generator_without_a_seed_takes_one_from_the_systems_entropy(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PAIRS)
    place = Place("train.py", 6)
    shown = at(place, Kind.EXTERNAL, source="entropy", shown_by="entropy")
    assert predicted(tmp_path / "train.py", shown) == ["TRP104"]
    assert predicted(tmp_path / "train.py", at(place, Kind.EXTERNAL, source="time", shown_by="time")) == []


def test_a_convolution_was_predicted_where_the_program_seeds(tmp_path: Path) -> None:
    """Its kernel is chosen wherever the model is called."""
    (tmp_path / "train.py").write_text(
        "import torch\n\ntorch.manual_seed(0)\nmodel = torch.nn.Conv2d(3, 8, 3).cuda()\n"
        "for _ in range(3):\n    model(torch.ones(4, 3, 8, 8).cuda()).sum().backward()\n"
    )
    place = Place("train.py", 6)
    convolution = at(place, Kind.OPERATION, operation="aten::convolution_backward")
    assert predicted(tmp_path / "train.py", convolution) == ["TRP403"]
    assert predicted(tmp_path / "train.py", at(place, Kind.OPERATION, operation="aten::cumsum")) == []


def test_a_generator_of_the_programs_own_is_not_called_unseeded_torch(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    import torch

    generators = [torch.Generator().manual_seed(number) for number in (1, 2)]
    for number, generator in enumerate(generators):
        with traced(tmp_path / str(number)):
            torch.rand(2, generator=generator)
    pair = (Streams(tmp_path / "0", ROOT), Streams(tmp_path / "1", ROOT))
    (suspect,) = suspects(pair, partings(*pair)[0], ())
    assert (suspect.cause.kind, suspect.cause.generator, suspect.pin) == (Kind.UNSEEDED, None, None)
    assert "a torch.Generator of the program's own" in suspect.cause.detail
    (tmp_path / "train.py").write_text(
        "import torch\n\ng = torch.Generator()\ng.seed()\nx = torch.rand(2, generator=g)"
    )
    assert predicted(tmp_path / "train.py", at(Place("train.py", 5), Kind.UNSEEDED)) == ["TRP102"]


def test_a_line_of_a_notebook_is_one_of_a_cell(tmp_path: Path) -> None:
    imports = "import torch\nfrom torch.utils.data import DataLoader\ntorch.manual_seed(0)"
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": text} for text in (imports, CELL)]
    title = {"cell_type": "markdown", "metadata": {}, "source": "# Title"}
    notebook = {"cells": [title, *cells], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "train.ipynb").write_text(json.dumps(notebook))
    (found,) = {f.location.range.start.line for f in checked(tmp_path / "train.ipynb").findings if f.location.cell == 3}
    codes = {f.code for f in checked(tmp_path / "train.ipynb").findings}
    assert found == 1
    here = Place("train.ipynb", 1, cell=3)
    assert set(predicted(tmp_path / "train.ipynb", at(here, Kind.DATA_ORDER))) == codes
    assert predicted(tmp_path / "train.ipynb", at(Place("train.ipynb", 1, cell=2), Kind.DATA_ORDER)) == []
    assert str(here) == "train.ipynb:cell 3:1"
    assert lines_around(tmp_path, here) == [(1, "loader = DataLoader(data, shuffle=True)")]
    assert [number for number, _ in lines_around(tmp_path, Place("train.ipynb", 3, cell=3), 3)] == [1, 2, 3]
    assert lines_around(tmp_path, Place("train.ipynb", 1, cell=9)) == []
