"""The number that fixes seed with where no name of the program holds a seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from program.small_project import SmallProject
from torchrepro_lint.rng import usual_seed as module
from torchrepro_lint.rng.usual_seed import usual_seed

USUAL = {
    "a generator of its own": ({"train.py": "rng = np.random.default_rng(7)\n"}, 7),
    "a keyword": ({"train.py": "a, b = train_test_split(x, random_state=7)\n"}, 7),
    "of equals the first": ({"train.py": "set_seed(7)\nSEED = 1\nmanualSeed = 7\nself.seed = 1\n"}, 7),
    "an entry in mixed case": ({"train.py": "config = {'manualSeed': 7}\n"}, 7),
    "a default": ({"train.py": "def split(items, *, split_seed=7):\n    pass\n"}, 7),
    "an entry": ({"train.py": "config = {'data_seed': 7}\n"}, 7),
    "an option": ({"train.py": "parser.add_argument('--split-seed', type=int, default=7)\n"}, 7),
    "the most usual of the file": ({"train.py": "f(seed=1)\nf(seed=7)\nf(seed=7)\n"}, 7),
    "the first of equals": ({"train.py": "f(seed=123)\ng(seed=7)\n"}, 123),
    "of equals that of the project": (
        {
            "train.py": "import data\nimport split\n",
            "data.py": "f(random_state=1)\n",
            "split.py": "f(random_state=7)\n",
            "other.py": "f(random_state=7)\n",
        },
        7,
    ),
    "of equals that of the project, beyond what is read of it": (
        {
            "z/train.py": "f(seed=3)\ng(seed=7)\n",
            **{f"a/program_{i}.py": "set_seed(5)\n" for i in range(module.MAX_FILES)},
        },
        3,
    ),
    "zero, if it is one of them": ({"train.py": "f(seed=123)\ng(seed=0)\n"}, 0),
    "more often than zero": ({"train.py": "f(seed=0)\ng(seed=7)\nh(seed=7)\n"}, 7),
    "of an imported file": ({"train.py": "import data\n", "data.py": "SEED = 7\n", "other.py": "SEED = 1\n"}, 7),
    "of the program that imports it": ({"data/cifar.py": "", "train.py": "import data.cifar\nf(seed=7)\n"}, 7),
    "programs that disagree": (
        {"data/cifar.py": "", "a.py": "import data.cifar\nf(seed=7)\n", "b.py": "import data.cifar\nf(seed=8)\n"},
        0,
    ),
    "of its siblings": ({"train.py": "", "a.py": "set_seed(7)\n", "b.py": "torch.manual_seed(7)\n"}, 7),
    "siblings that disagree": ({"train.py": "", "a.py": "set_seed(7)\n", "b.py": "set_seed(8)\n"}, 0),
    "the nearest siblings": (
        {"gan/train.py": "", "gan/a.py": "set_seed(7)\n", "b.py": "set_seed(8)\n", "c.py": "set_seed(8)\n"},
        7,
    ),
    "one of another folder": ({"gan/train.py": "", "vae/a.py": "set_seed(7)\n"}, 0),
    "two of another folder": ({"gan/train.py": "", "vae/a.py": "set_seed(7)\n", "b.py": "f(seed=7)\n"}, 7),
    "a test's": ({"train.py": "", "tests/test_a.py": "set_seed(7)\n"}, 0),
    "one of a test runner's files": ({"train.py": "", "conftest.py": "set_seed(7)\n", "b.py": "import conftest\n"}, 0),
    "how many seeds": ({"train.py": "f(num_seeds=7, n_seed=7, seeds=7)\n"}, 0),
    "no number for a generator": ({"train.py": "f(seed=-1)\ng(seed=True)\nh(seed=None)\nk(seed=2**40)\n"}, 0),
}


@pytest.mark.parametrize(("files", "number"), USUAL.values(), ids=USUAL.keys())
def test_the_usual_seed_is(tmp_path: Path, files: dict[str, str], number: int) -> None:
    project = SmallProject(tmp_path, files)
    assert usual_seed(project.facts(next(iter(files))), project.program) == number


def test_each_file_is_looked_through_once_for_all_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"folder/program_{i}.py": f"set_seed({i})\n" for i in range(20)}
    project = SmallProject(tmp_path, files)
    looked_through: list[str] = []
    look = module._numbers_of
    monkeypatch.setattr(module, "_numbers_of", lambda facts: (looked_through.append(facts.source.rel), look(facts))[1])
    assert {usual_seed(project.facts(path), project.program) for path in files} == set(range(20))
    assert sorted(looked_through) == sorted(files)
