"""`explain`: what is believed about a program, on which findings about seeds rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Run

MAIN = """\
import argparse
import random

import numpy as np
import torch

from helpers import seed_all
from model import Net


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=None)
    args = parser.parse_args()
    order = np.random.permutation(10)
    if args.seed is not None:
        seed_all(args.seed)
    net = Net()
    for step in order:
        net(step).sum().backward()
    random.seed(0)
    args.callback(random.random())


if __name__ == "__main__":
    main()
"""
HELPERS = """\
import numpy as np
import torch


def seed_all(seed):
    torch.manual_seed(seed)
    np.random.seed(seed)
"""
MODEL = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(1, 1)

    def forward(self, x):
        return self.layer(x)
"""


@pytest.fixture
def program(project: Path) -> Path:
    (project / "train.py").unlink()
    (project / "clean.py").unlink()
    for name, text in (("main.py", MAIN), ("helpers.py", HELPERS), ("model.py", MODEL)):
        (project / name).write_text(text)
    return project


def explained(run: Run, *paths: str) -> dict[str, Any]:
    done = run("explain", *paths, "--output-format", "json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


TEXT = """\
main.py:25:1  a program, from its main guard
  3 files of the project run in it
    main.py
    helpers.py
    model.py
  seeds, in the order in which they run
    helpers.py:6:5  torch.manual_seed(seed)  torch: conditional
      `seed` is None by default
      only where `args.seed is not None` is true, which is not the default
      through main.py:26:5  main()
      through main.py:17:9  seed_all(args.seed)
    helpers.py:7:5  np.random.seed(seed)  numpy: conditional
      `seed` is None by default
      only where `args.seed is not None` is true, which is not the default
      through main.py:26:5  main()
      through main.py:17:9  seed_all(args.seed)
    main.py:21:5  random.seed(0)  python: certain
      through main.py:26:5  main()
  torch: drawn from, and seeded before only under a condition (TRP101)
    model.py:7:22  nn.Linear(1, 1)  first drawn from
      through main.py:26:5  main()
      through main.py:18:11  Net()
  numpy: drawn from, and not seeded before (TRP101)
    main.py:15:13  np.random.permutation(10)  first drawn from
      through main.py:26:5  main()
  python: seeded before it is first drawn from
    main.py:22:19  random.random()  first drawn from
      through main.py:26:5  main()
"""


def test_a_program_is_told_from_its_start_to_its_bounds(run: Run, program: Path) -> None:
    done = run("explain", "main.py")
    assert done.exit_code == 0
    assert done.stdout.startswith(TEXT)
    assert "  it trains, and does not load weights\n" in done.stdout
    assert "    main.py:22:5  args.callback\n" in done.stdout
    assert "given up" not in done.stdout
    assert done.stderr == ""


def test_json_says_the_same(run: Run, program: Path) -> None:
    found = explained(run, ".")
    assert found["idle"] == ["helpers.py", "model.py"]
    (told,) = found["programs"]
    assert told["kind"] == "main guard"
    assert told["files"] == ["main.py", "helpers.py", "model.py"]
    assert [s["certainty"] for s in told["seeds"]] == ["conditional", "conditional", "certain"]
    families = told["families"]
    assert {f: families[f]["state"] for f in families} == {
        "torch": "conditional",
        "numpy": "unseeded",
        "python": "seeded",
    }
    assert families["numpy"]["first_draw"]["line"] == 15
    assert families["numpy"]["rule"] == "TRP101"
    assert "args.callback" in [s["text"] for s in told["unfollowed"]["first"]]
    assert (told["trains"], told["loads_weights"], told["bounds"]) == (True, False, [])


def test_what_explain_says_is_what_check_reports(run: Run, program: Path) -> None:
    (told,) = explained(run, "main.py")["programs"]
    done = run("check", "main.py", "--select", "TRP101,TRP103", "--output-format", "json")
    reported = {(f["code"], family) for f in json.loads(done.stdout) for family in f["properties"]["families"]}
    believed = {(b["rule"], family) for family, b in told["families"].items() if b["rule"]}
    assert reported == believed == {("TRP101", "torch"), ("TRP101", "numpy")}


def test_a_seed_that_comes_too_late(run: Run, program: Path) -> None:
    (program / "late.py").write_text(
        "import torch\n\nlayer = torch.nn.Linear(1, 1)\ntorch.manual_seed(0)\nlayer(torch.rand(1)).sum().backward()\n"
    )
    (told,) = explained(run, "late.py")["programs"]
    torch = told["families"]["torch"]
    assert (torch["state"], torch["rule"], torch["late_seed"]["line"]) == ("late", "TRP103", 4)
    assert torch["first_draw"]["line"] == 3
    assert told["kind"] == "script"


def test_a_draw_under_a_condition_is_not_told_as_a_seed_under_one(run: Run, program: Path) -> None:
    (program / "some.py").write_text(
        "import sys\n\nimport torch\n\nif sys.argv[1:]:\n    torch.rand(1, requires_grad=True).backward()\n"
    )
    (told,) = explained(run, "some.py")["programs"]
    assert (told["seeds"], told["families"]["torch"]["state"]) == ([], "perhaps unseeded")
    assert "torch: perhaps drawn from, under a condition, and not seeded before" in run("explain", "some.py").stdout


@pytest.mark.parametrize(
    ("seed", "state"),
    [("", "seeded in workers"), ("np.random.seed(0)\n", "seeded")],
    ids=["torch alone", "numpy as well"],
)
def test_what_only_workers_draw_from_is_not_told_as_seeded(run: Run, program: Path, seed: str, state: str) -> None:
    (program / "workers.py").write_text(
        "import numpy as np\nimport torch\nfrom torch.utils.data import DataLoader, Dataset\n\n\n"
        "class Noise(Dataset):\n    def __len__(self):\n        return 9\n\n"
        "    def __getitem__(self, index):\n        return np.random.rand()\n\n\n"
        "if __name__ == '__main__':\n    torch.manual_seed(0)\n    SEED\n"
        "    net = torch.nn.Linear(1, 1)\n    for x in DataLoader(Noise(), num_workers=2):\n"
        "        net(x.float()[:, None]).sum().backward()\n".replace("    SEED\n", f"    {seed}" if seed else "")
    )
    (told,) = explained(run, "workers.py")["programs"]
    assert told["families"]["numpy"]["state"] == state


def test_a_spawned_process_that_draws_without_its_own_seed(run: Run, program: Path) -> None:
    (program / "spawned.py").write_text(
        "import torch\nimport torch.multiprocessing as mp\n\n\ndef work(rank):\n"
        "    torch.rand(1, requires_grad=True).backward()\n\n\n"
        'if __name__ == "__main__":\n    torch.manual_seed(0)\n    mp.spawn(work, nprocs=2)\n'
    )
    (told,) = explained(run, "spawned.py")["programs"]
    assert told["families"]["torch"]["state"] == "unseeded in a process"


def test_a_seed_that_does_not_count_says_why(run: Run, program: Path) -> None:
    (program / "none.py").write_text("import numpy as np\n\nnp.random.seed(None)\nnp.random.shuffle([1, 2])\n")
    (told,) = explained(run, "none.py")["programs"]
    assert [(s["certainty"], s["reasons"]) for s in told["seeds"]] == [("none", ["its seed is None"])]
    assert told["families"]["numpy"]["state"] == "unseeded"


def test_a_function_that_is_believed_for_its_name(run: Run, program: Path) -> None:
    (program / "named.py").write_text(
        "import torch\nfrom lab import fix_seeds\n\nif input():\n    fix_seeds(3)\ntorch.rand(1).backward()\n"
    )
    (told,) = explained(run, "named.py")["programs"]
    (seed,) = told["seeds"]
    assert seed["certainty"] == "certain"
    assert seed["reasons"] == [
        "believed to seed everything, for its name",
        "only where `input()` is true, which is believed",
    ]


def test_a_draw_that_is_not_reported(run: Run, program: Path) -> None:
    (program / "trial.py").write_text("import torch\n\nx = torch.rand(3)\n")
    assert "torch: drawn from without a seed; not reported" in run("explain", "trial.py").stdout


def test_methods_of_libraries_are_followed_well_enough(run: Run, program: Path) -> None:
    (program / "known.py").write_text(
        "import argparse\n\nparser = argparse.ArgumentParser()\nparser.add_argument('--a')\nprint('{}'.format(1))\n"
    )
    assert "every call was followed" in run("explain", "known.py").stdout


def test_a_file_that_starts_nothing(run: Run, program: Path) -> None:
    done = run("explain", "model.py")
    assert done.exit_code == 0
    assert done.stdout.startswith("No program starts in model.py: it only defines")


def test_a_notebook(run: Run, program: Path) -> None:
    sources = ("import torch", "torch.rand(1)")
    cells = [{"cell_type": "code", "source": s, "metadata": {}, "outputs": ()} for s in sources]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (program / "a.ipynb").write_text(json.dumps(notebook))
    (told,) = explained(run, "a.ipynb")["programs"]
    assert told["kind"] == "notebook"
    assert (told["start"]["cell"], told["start"]["line"]) == (2, 1)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [("gone.py", None, "gone.py\n"), ("broken.py", "x = (\n", "broken.py: line 1:")],
)
def test_what_cannot_be_read_exits_with_2(run: Run, program: Path, name: str, text: str | None, problem: str) -> None:
    if text is not None:
        (program / name).write_text(text)
    done = run("explain", name, "main.py")
    assert done.exit_code == 2
    assert problem in done.stderr
    assert ("no such file or folder" in done.stderr) == (text is None)
    assert "main.py:25:1  a program" in done.stdout


def test_bounds_are_told_and_counted(run: Run, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchrepro_lint.seeding.interpreter.MAX_CALLS", 1)
    done = run("explain", "main.py")
    assert "analysis was cut short, so no finding is based on it: more calls than are followed" in done.stdout
    assert "numpy: drawn from; whether it is seeded before is not known" in done.stdout
    counted = run("check", "main.py", "--statistics", "--select", "TRP101")
    assert "files with a program not walked to its end: 1\n" in counted.stdout


@pytest.mark.parametrize("depth, findings", [(38, 1), (45, 0)])
def test_calls_that_are_nested_too_deeply_end_the_walk(run: Run, program: Path, depth: int, findings: int) -> None:
    """A seed may lie beyond the bound: then nothing is claimed, and the program is counted."""
    functions = [f"def step{i}():\n    step{i + 1}()\n" for i in range(depth)]
    last = f"def step{depth}():\n    numpy.random.permutation(3)\n"
    deep = program / "deep.py"
    deep.write_text("\n".join(["import numpy\n", *functions, last, 'if __name__ == "__main__":\n    step0()\n']))
    reported = run("check", "deep.py", "--output-format", "json", "--select", "TRP101")
    assert reported.stdout.count('"TRP101"') == findings
    counted = run("check", "deep.py", "--statistics", "--select", "TRP101")
    assert ("files with a program not walked to its end: 1\n" in counted.stdout) is (findings == 0)
    assert ("calls nested deeper than is followed" in run("explain", "deep.py").stdout) is (findings == 0)


def test_settings_name_the_project_s_own_seeder(run: Run, program: Path) -> None:
    (program / "torchrepro-lint.toml").write_text('seed-functions = ["helpers.seed_all"]\n')
    (told,) = explained(run, "main.py")["programs"]
    assert told["seeds"][0]["text"] == "seed_all(args.seed)"
    (bare,) = json.loads(run("explain", "main.py", "--isolated", "--output-format", "json").stdout)["programs"]
    assert bare["seeds"][0]["text"] == "torch.manual_seed(seed)"


@pytest.mark.parametrize(
    ("chosen", "state"),
    [
        ("1 if args.fixed else None", "conditional"),
        ("None if args.fixed else 1", "seeded"),
        ("1 if True else None", "seeded"),
        ("None if True else 1", "unseeded"),
    ],
)
def test_a_seed_that_an_option_chooses_is_there_by_default_or_not(
    run: Run, project: Path, chosen: str, state: str
) -> None:
    (project / "train.py").write_text(
        "import argparse\nimport torch\n\n\ndef main():\n"
        "    parser = argparse.ArgumentParser()\n    parser.add_argument('--fixed', action='store_true')\n"
        f"    args = parser.parse_args()\n    seed = {chosen}\n    if seed is not None:\n"
        "        torch.manual_seed(seed)\n    torch.nn.Linear(1, 1)(x).backward()\n\n\n"
        "if __name__ == '__main__':\n    main()\n"
    )
    (told,) = explained(run, "train.py")["programs"]
    assert told["families"]["torch"]["state"] == state


def test_the_trial_of_a_module_is_told_to_be_one(run: Run, project: Path) -> None:
    (project / "blocks.py").write_text(
        "import torch\n\n\nclass Block(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.head = torch.nn.Linear(2, 2)\n\n    def forward(self, x):\n        return self.head(x)\n\n\n"
        "if __name__ == '__main__':\n    Block()(torch.ones(1, 2)).sum().backward()\n"
    )
    (told,) = explained(run, "blocks.py")["programs"]
    torch = told["families"]["torch"]
    assert (torch["state"], torch["rule"], told["trains"]) == ("trial", None, True)
    assert "only tries a module out" in run("explain", "blocks.py").output


def test_what_is_drawn_in_vain_is_told_and_no_finding(run: Run, project: Path) -> None:
    (project / "show.py").write_text("import torch\n\nx = torch.rand(3)\nprint(x.shape)\n")
    (told,) = explained(run, "show.py")["programs"]
    torch = told["families"]["torch"]
    assert (torch["state"], torch["first_draw"]["line"], torch["rule"]) == ("ignored", 3, None)


def test_color(run: Run, program: Path) -> None:
    assert "\x1b[1mmain.py:25:1  a program" in run("explain", "main.py", "--color", "always").stdout


def test_a_loader_whose_data_set_cannot_be_seen_is_told_and_no_finding(run: Run, project: Path) -> None:
    (project / "load.py").write_text(
        "from torch.utils.data import DataLoader\nfrom unknown import read\n\n\n"
        "def load():\n    return DataLoader(read(), num_workers=2)\n"
    )
    told = run("explain", "load.py").stdout
    assert "The workers of 1 loader may draw; what their data sets do could not be seen\n    load.py:6:12" in told
    assert explained(run, "load.py")["unseen_loaders"][0]["line"] == 6
    assert "TRP202" not in run("check", "load.py").stdout
