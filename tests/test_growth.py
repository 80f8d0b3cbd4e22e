"""Twice as many lines are twice the work: counted in executed lines of Python, so that no machine is too slow."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metering import metered
from torchrepro_lint import cards
from torchrepro_lint.dataflow.configured_values import _filled
from torchrepro_lint.engine import Request, Result, check
from torchrepro_lint.kernels.annotations import annotated
from torchrepro_lint.project.search_path import may_set_path
from torchrepro_lint.repair import fix
from torchrepro_lint.report import Context, renderer
from torchrepro_lint.rng import usual_seed
from torchrepro_lint.seeding import seedings
from torchrepro_lint.settings import SettingsResolver
from torchrepro_lint.source.suppressions import find_suppressions
from torchrepro_lint.time_limit import limited

HEAD = "import torch\nfrom torch.utils.data import DataLoader\n\nds = []\n"
LIMIT = 2.3  # of the work for 2n by the work for n: sorting takes a little more than its share


def checked(folder: Path, text: str) -> Result:
    (folder / "pyproject.toml").write_text("")
    (folder / "a.py").write_text(text)
    return check(Request((folder,), SettingsResolver(cards.codes(), isolated=True)))


def work(folder: Path, text: str) -> int:
    """That of a run with its report."""
    with metered() as meter:
        result = checked(folder, text)
        "".join(renderer("full")(result, Context(False, 120, folder, False)))
    return meter.lines


def growth(folder: Path, text: Callable[[int], str], n: int) -> float:
    checked(folder, text(3))  # what is loaded and read once
    return work(folder, text(2 * n)) / work(folder, text(n))


def lines(line: str) -> Callable[[int], str]:
    return lambda n: HEAD + "".join(line.format(i=i) + "\n" for i in range(n))


LINEAR = {
    "harmless": lines("l{i} = foo(ds, shuffle=True, num_workers={i})"),
    "unused noqa": lines("x{i} = {i}  # noqa: TRP201"),
    "plain noqa": lines("x{i} = {i}  # noqa"),
    "used noqa": lines("torch.rand(2, generator=torch.Generator())  # noqa: TRP104"),
    "findings": lines("torch.rand(2, generator=torch.Generator())"),
    "ignore-file and findings": lines("torch.rand(2, generator=torch.Generator())  # torchrepro: ignore-file[TRP104]"),
    "noqa on one line": lambda n: HEAD + "x = 1 " + "#noqa" * n + "\n",
    "ignore on one line": lambda n: HEAD + "x = 1 " + "#torchrepro:ignore[a-b" * n + "\n",
    "the same code": lambda n: HEAD + "x = 1  # noqa: " + ",".join(["TRP201"] * n) + "\n",
    "unknown codes": lambda n: HEAD + "x = 1  # noqa: " + ",".join(f"TRP9{i}" for i in range(n)) + "\n",
    "names": lambda n: HEAD + "x = 1  # torchrepro: ignore[" + ", ".join(f"a-b{i}" for i in range(n)) + "]\n",
    "findings on one line": lambda n: HEAD + "; ".join(["torch.rand(2, generator=torch.Generator())"] * n) + "\n",
    "one statement": lambda n: HEAD + "x = [\n" + "    foo(),  # noqa: TRP201\n" * n + "]\n",
    "estimators of one name": lambda n: HEAD + "from sklearn.cluster import KMeans\n" + "k = KMeans(3)\nk.fit(x)\n" * n,
    "a seed that grows": lines("x{i} = 1; x = x + {i}; seed = x; torch.manual_seed(seed)"),
    "blanks": lambda n: HEAD + "x = 1  #" + " #" * n + " noqa: TRP201\n",
}


@pytest.mark.parametrize("name", LINEAR)
def test_twice_the_lines_are_twice_the_work(name: str, tmp_path: Path) -> None:
    assert growth(tmp_path, LINEAR[name], 200) < LIMIT


SEARCHES = {
    "switches": (lines("torch.backends.cudnn.benchmark = True"), 200),
    "switches to and fro": (lines("torch.backends.cudnn.benchmark = {i} % 2 == 0 or True"), 100),
    "saved switches": (lines("torch.backends.cudnn.benchmark = b; b = torch.backends.cudnn.benchmark"), 40),
    "loaders": (lines("l{i} = DataLoader(ds, shuffle=True, num_workers=2)"), 400),
    "loaders under tests": (lines("if a{i}: l{i} = DataLoader(ds, shuffle=True, num_workers=2)"), 60),
    "loaders before seeds": (
        lambda n: HEAD + "DataLoader(ds, shuffle=True)\n" * n + "torch.manual_seed(0)\n" * n,
        160,
    ),
    "loaders in one statement": (lambda n: HEAD + "x = [\n" + "    DataLoader(ds, shuffle=True),\n" * n + "]\n", 60),
    "generators without a seed": (
        lambda n: HEAD + "import numpy as np\n" + "np.random.default_rng().random()\n" * n,
        120,
    ),
    "data sets with generators": (
        lambda n: (
            HEAD
            + "import numpy as np\nfrom torch.utils.data import Dataset\n"
            + "".join(
                f"class D{i}(Dataset):\n    def __init__(self): self.r = np.random.default_rng(0)\n"
                f"    def __getitem__(self, i): return self.r.random()\nDataLoader(D{i}(), num_workers=2)\n"
                for i in range(n)
            )
        ),
        25,
    ),
    "generators seeded by draws": (
        lambda n: HEAD + "import numpy as np\n" + "r = np.random.default_rng(np.random.randint(9)); f()\n" * n,
        300,
    ),
    "silenced loaders": (lines("l{i} = DataLoader(ds, shuffle=True, num_workers=2)  # noqa: TRP201"), 60),
    "a tensor that is scattered to": (
        lambda n: HEAD + "def f(x, i, s):\n" + "    x = x.scatter_add_(0, i, s)\n" * n + "    return x\n",
        60,
    ),
    "imports of one name": (lines("import torch"), 100),
    "imports of many, and loaders": (
        lambda n: HEAD + "".join(f"import m{i}\nDataLoader(ds, shuffle=True)\n" for i in range(n)),
        200,
    ),
    "handlers": (lines("try:\n    import torch\nexcept ImportError:\n    torch = None"), 60),
    "functions that seed": (lines("def seed{i}(s): torch.manual_seed(s)\nseed{i}(0)"), 40),
    "a function that calls itself": (
        lambda n: HEAD + "def f(x):\n    return DataLoader(x, shuffle=True)\n    f(x)\n" + "    f(f)\n" * n,
        20,
    ),
    "a program that is called": (
        lambda n: HEAD + "def main(x):\n    torch.manual_seed(id(x))\n" + "    main(x)\n" * n,
        20,
    ),
    "loaders in a function": (
        lambda n: HEAD + "def f(x):\n" + "    DataLoader(x, shuffle=True)\n" * n + "def g(x): yield f(x)\n",
        60,
    ),
    "a function that is handed to many": (
        lambda n: HEAD + "def f(x):\n" + "    torch.manual_seed(id(x))\n" * n + "apply(f)\n" * n,
        40,
    ),
    "listings in loops": (
        lines("import os; found{i} = []\nfor f in os.listdir('d{i}'):\n    for g in os.listdir(f): found{i}.append(g)"),
        60,
    ),
    "a dict that is updated": (
        lambda n: HEAD + "kw = {}\n" + "kw.update(a=1)\n" * n + "DataLoader(ds, **kw)\n" * n,
        80,
    ),
    "functions that are spawned": (
        lambda n: (
            HEAD
            + "import torch.multiprocessing as mp\n"
            + "".join(f"def f{i}(r):\n    DataLoader(ds, shuffle=True)\nmp.spawn(f{i})\n" for i in range(n))
        ),
        60,
    ),
    "entries": (lambda n: HEAD + "kw = {}\n" + "kw['a'] = 1\n" * n + "DataLoader(ds, **kw)\n" * n, 200),
    "a tensor that is made of itself": (lambda n: HEAD + "x = x.scatter_(0, i, s)\n" * n, 150),
    "generators of one function": (
        lambda n: (
            HEAD
            + "import numpy as np\ndef f(s, seed=None):\n"
            + "    order = np.random.default_rng(seed).permutation(len(s))\n" * n
            + "    return order\nf(range(9))\n"
        ),
        60,
    ),
    "helpers without a seed": (
        lambda n: "from monai.utils import set_determinism\n\n" + "set_determinism(seed=None)\n" * n,
        80,
    ),
    "options that are declared again": (
        lambda n: (
            "import argparse\n"
            + HEAD
            + "parser = argparse.ArgumentParser()\n"
            + (
                "parser.add_argument('--seed', type=int, default=1)\nargs = parser.parse_args()\n"
                "DataLoader(ds, shuffle=True)\n"
            )
            * n
        ),
        40,
    ),
    "an item that is put again": (lambda n: HEAD + "d = {}\n" + "d['a'] = 1\nDataLoader(ds, d['a'], True)\n" * n, 130),
    "a seed that is added to": (
        lambda n: HEAD + "def f(args):\n" + "    args.seed += 1\n    torch.manual_seed(args.seed)\n" * n,
        250,
    ),
    "layers of one model": (
        lambda n: (
            HEAD
            + "class M(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            + "".join(f"        self.a{i} = torch.nn.ReflectionPad2d(1)\n" for i in range(n))
            + "    def forward(self, x):\n"
            + "".join(f"        x = self.a{i}(x)\n" for i in range(n))
            + "        return x\n"
        ),
        80,
    ),
    "a queue that is read again": (
        lambda n: (
            "import torch.multiprocessing as mp\n"
            + HEAD
            + "def f(jobs):\n    queue = mp.Queue()\n    for job in jobs:\n"
            + "        mp.Process(target=act, args=(job, queue)).start()\n"
            + "    found = []\n    for _ in jobs:\n"
            + "        found.append(queue.get())\n" * n
            + "    return found[0]\n"
        ),
        60,
    ),
    "assignments to places that may repeat": (
        lambda n: (
            HEAD
            + "def f(memory: torch.Tensor, rows: torch.Tensor):\n"
            + "    memory[torch.randint(0, len(memory), (len(rows),))] = rows\n" * n
            + "    return memory.mean().backward()\n"
        ),
        150,
    ),
    "a sampler that is told a constant": (
        lambda n: (
            HEAD
            + "from torch.utils.data.distributed import DistributedSampler\n"
            + "def f(model, epochs):\n    sampler = DistributedSampler(ds)\n"
            + "    loader = DataLoader(ds, sampler=sampler)\n    for epoch in range(epochs):\n"
            + "        sampler.set_epoch(0)\n" * n
            + "        for b in loader: model(b)\n"
        ),
        60,
    ),
    "draws that are put into one dict": (
        lambda n: (
            "import random\n"
            + HEAD
            + "parts, noise = {'a', 'b'}, {}\n"
            + "for part in parts:\n    noise[part] = random.gauss(0, 1)\n" * n
        ),
        300,
    ),
    "a checkpoint that is read again": (
        lambda n: (
            HEAD
            + "torch.manual_seed(0)\nnet = torch.nn.Linear(2, 2)\nadam = torch.optim.Adam(net.parameters())\n"
            + (
                "net.load_state_dict(torch.load('n'))\nadam.load_state_dict(torch.load('a'))\n"
                "for _ in range(9):\n    net(torch.randn(2)).sum().backward()\n    torch.save(adam.state_dict(), 'a')\n"
            )
            * n
        ),
        60,
    ),
    "switches of a function that is told": (
        lambda n: (
            HEAD
            + "def f(model, batch):\n"
            + "    torch.backends.cudnn.deterministic = False\n" * n
            + "    torch.backends.cudnn.deterministic = True\n"
        ),
        100,
    ),
    "experiments of one name": (
        lambda n: (
            HEAD
            + "from sacred import Experiment\n"
            + (
                "ex = Experiment('a')\nmodel = torch.nn.Linear(2, 2)\n@ex.main\ndef main(rate):\n"
                "    model(torch.ones(2)).sum().backward()\nex.run()\n"
            )
            * n
        ),
        100,
    ),
    "classes of one name": (
        lambda n: (
            "import random\nfrom torch.utils.data import Dataset\n"
            + HEAD
            + (
                "class Clips(Dataset):\n    def __getitem__(self, i): return random.random()\n"
                "def main():\n    for b in DataLoader(Clips(), num_workers=2): model(b).backward()\nmain()\n"
            )
            * n
        ),
        80,
    ),
    "programs of one name": (
        lambda n: (
            HEAD
            + "def main():\n    net = torch.nn.Linear(8, 1)\n    torch.manual_seed(0)\n    net(torch.rand(8))\nmain()\n"
            * n
        ),
        80,
    ),
    "methods of one name": (
        lambda n: (
            HEAD
            + "class A:\n    def __init__(self): self.load()\n    def load(self): return DataLoader(ds, shuffle=True)\n"
            * n
        ),
        80,
    ),
    "queues that several processes fill": (
        lambda n: (
            "import torch.multiprocessing as mp\n"
            + HEAD
            + "def act(q): q.put(1)\noptimizer = torch.optim.SGD(net.parameters())\n"
            + "".join(
                f"q{i} = mp.Queue()\nfor r in range(2): mp.Process(target=act, args=(q{i},)).start()\n"
                f"for _ in range(9):\n    net(q{i}.get()).backward()\n    optimizer.step()\n"
                for i in range(n)
            )
        ),
        200,
    ),
    "models that several processes step": (
        lambda n: (
            "import torch.multiprocessing as mp\n"
            + HEAD
            + "def train(m):\n    optimizer = torch.optim.SGD(m.parameters())\n"
            + "    m(x).backward()\n    optimizer.step()\n"
            + "".join(
                f"m{i} = torch.nn.Linear(4, 1)\nm{i}.share_memory()\n"
                f"for r in range(2): mp.Process(target=train, args=(m{i},)).start()\n"
                for i in range(n)
            )
        ),
        40,
    ),
    "loaders with the options of one function": (
        lambda n: (
            HEAD
            + "def options(train): return {'shuffle': train}\ndef logged(count, train): return options(train)\n"
            + "".join(f"l{i} = DataLoader(ds, **logged(0, True))\n" for i in range(n))
        ),
        300,
    ),
    "estimators of one kind": (
        lambda n: (
            "import numpy as np\nfrom sklearn.model_selection import train_test_split\n"
            + "".join(f"def split{i}(data):\n    return train_test_split(data)\n" for i in range(n))
        ),
        600,
    ),
    "functions that switch cuDNN's benchmark on": (
        lambda n: (
            HEAD + "".join(f"def fast{i}(): torch.backends.cudnn.benchmark = True\nfast{i}()\n" for i in range(n))
        ),
        60,
    ),
    "classes beside a seed": (
        lambda n: (
            HEAD
            + "".join(
                f"class C{i}: pass\ndef load{i}(c: C{i}): return DataLoader(ds, shuffle=True)\n"
                f"torch.manual_seed(1)\ntrain(load{i}(C{i}()))\n"
                for i in range(n)
            )
        ),
        60,
    ),
    "loops that are left by themselves": (
        lambda n: "import random\n" + HEAD + "while ready():\n    print(random.random())\n" * n,
        150,
    ),
    "one function that is spawned": (
        lambda n: (
            "import torch.multiprocessing as mp\n"
            + HEAD
            + "def f(rank): torch.nn.Linear(4, 1)\n"
            + "torch.manual_seed(0)\nmp.spawn(f, nprocs=2)\n" * n
        ),
        300,
    ),
    "functions that start workers": (
        lambda n: (
            "import random\n"
            + HEAD
            + "".join(
                f"def start{i}(worker): random.seed(worker)\nDataLoader(ds, num_workers=2, worker_init_fn=start{i})\n"
                for i in range(n)
            )
        ),
        60,
    ),
    "seeds from the clock that are shown": (
        lambda n: (
            "import time\n"
            + HEAD
            + "".join(f"now{i} = time.time()\ntorch.manual_seed(int(now{i}))\nprint(f'{{now{i}}}')\n" for i in range(n))
        ),
        60,
    ),
    "results that are passed in again": (
        lambda n: (
            HEAD
            + "from data import load\nfrom torch import nn\nimport torch.nn.functional as F\n"
            + "class Painter(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            + "        self.layer = nn.Conv2d(3, 3, 3)\n    def forward(self, x):\n"
            + "        return self.layer(F.interpolate(x, scale_factor=2, mode='bilinear'))\n" * n
            + "    def paint(self, x):\n        for _ in range(9): x = self(x)\n        return x\n"
            + "def main():\n    painter = Painter().cuda()\n"
            + "    optimizer = torch.optim.SGD(painter.parameters(), lr=0.1)\n"
            + "    for images, _ in load():\n        painter.paint(painter(images.cuda())).mean().backward()\n"
            + "        optimizer.step()\n"
            + "main()\n"
        ),
        30,
    ),
    "listings for the items of a set that is bound again and again": (
        lambda n: (
            "import glob\nimport numpy as np\ndef f(a, b):\n    names = set(a)\n"
            + "    names = names - b\n" * n
            + "    rows = []\n    for name in names:\n        for path in glob.glob(name):\n"
            + "            rows.append(np.load(path))\n    np.save('rows.npy', rows)\nf(open('a'), set())\n"
        ),
        200,
    ),
    "statements that give options no values, above a draw": (
        lambda n: (
            HEAD
            + "".join(f"x{i} = {i}\nif x{i} > 3: pass\n" for i in range(n))
            + "torch.nn.Linear(2, 2)(torch.ones(2)).sum().backward()\n"
        ),
        100,
    ),
    "classes that are asserted": (
        lambda n: (
            HEAD
            + "class Base: pass\ndef find(name): return eval(name)\n"
            + "".join(
                f"def f{i}(name):\n    kind = find(name)\n    assert issubclass(kind, Base)\n    return kind\n"
                f"f{i}('A')()\n"
                for i in range(n)
            )
            + "torch.rand(3)\n"
        ),
        100,
    ),
    "lists that are filled and read in loops": (
        lambda n: (
            "import os\nimport numpy as np\ndef f(folder):\n    a = []\n"
            + "".join(f"    b{i} = []\n" for i in range(n))
            + "    for name in os.listdir(folder):\n        a.append(name)\n"
            + "".join(f"        b{i}.append(name)\n" for i in range(n))
            + "    for i, name in enumerate(a):\n"
            + "".join(f"        print(name, b{i}[i])\n" for i in range(n))
            + "f('a')\n"
        ),
        60,
    ),
    "epochs that are told a constant": (
        lambda n: (
            HEAD
            + "from torch.utils.data.distributed import DistributedSampler\n"
            + "def f(model, epochs):\n    sampler = DistributedSampler(ds)\n"
            + "    loader = DataLoader(ds, sampler=sampler)\n"
            + "    for epoch in range(epochs):\n        for b in loader: model(b)\n" * n
        ),
        160,
    ),
}


def test_a_pattern_that_is_put_together_of_many_parts(tmp_path: Path) -> None:
    text = "import glob\nprint(open(glob.glob(" + "'a' + " * 900 + "'*.pt')[0]).read())\n"
    assert {f.code for f in checked(tmp_path, text).findings} <= {"TRP204"}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_is_not_done_anew_for_each_finding(name: str, tmp_path: Path) -> None:
    text, n = SEARCHES[name]
    assert growth(tmp_path, text, n) < LIMIT


def test_calls_that_are_written_alike_are_changed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What libcst works out takes as long as reading a page."""
    import libcst as cst

    text = "from ultralytics.utils.torch_utils import init_seeds\n\n" + "init_seeds(\n    7,  # for all\n)\n" * 20
    asked: list[str] = []
    parsed = cst.parse_expression
    monkeypatch.setattr(cst, "parse_expression", lambda code: asked.append(code) or parsed(code))
    assert [f.code for f in checked(tmp_path, text).findings] == ["TRP110"] * 20
    assert sum(code.startswith("init_seeds(") for code in asked) == 1


STEPS = {  # of a line with a finding, with its fix and its report; a harmless call takes 700
    "init_seeds(7)": 1_340,
    "torch.backends.cudnn.benchmark = True": 1_330,
    "torch.rand(2, generator=torch.Generator())": 2_050,
    "torch.manual_seed(int(time.time()))": 2_860,
    "sampler = RandomSampler(ds)": 2_300,
    "loader = DataLoader(ds, shuffle=True, num_workers=2)": 2_830,
    "def warp(x, grid): return F.grid_sample(x, grid)": 2_640,  # with what was measured on a GPU
}


@pytest.mark.parametrize("line", STEPS)
def test_a_finding_takes_no_more_steps_than_it_did(line: str, tmp_path: Path) -> None:
    head = (
        "import time\nimport torch.nn.functional as F\nfrom torch.utils.data import RandomSampler\n"
        "from ultralytics.utils.torch_utils import init_seeds\n" + HEAD + "torch.use_deterministic_algorithms(True)\n"
    )
    checked(tmp_path, head + f"{line}\n" * 3)
    few, many = (work(tmp_path, head + f"{line}\n" * n) for n in (100, 200))
    assert (many - few) / 100 < STEPS[line]


def test_functions_that_make_objects_and_call_each_other_twice(tmp_path: Path) -> None:
    """What a method does rests on how its object was made: in the same run, so that an equal run is not made again."""
    net = (
        "class Net:\n    def __init__(self, gated):\n        self.gated = gated\n"
        "    def step(self):\n        if self.gated:\n            torch.manual_seed(0)\n"
    )
    twice = "def f{0}():\n    net = Net(True)\n    net.step()\n    f{1}()\n    f{1}()\n"

    def program(n: int) -> str:
        functions = "".join(twice.format(i, i + 1) for i in range(n))
        return HEAD + net + functions + f"def f{n}():\n    torch.rand(1)\nf0()\n"

    assert growth(tmp_path, program, 6) < 3


def test_switches_above_many_seeds(tmp_path: Path) -> None:
    """Whether one of the calls below turns a switch off again is asked for the function, not for each switch."""
    head = HEAD + "def set_seed(n):\n    torch.manual_seed(n)\n"

    def program(n: int) -> str:
        return head + "torch.backends.cudnn.benchmark = True\n" * n + "set_seed(0)\n" * n

    assert growth(tmp_path, program, 100) < LIMIT


def test_switches_above_many_losses(tmp_path: Path) -> None:
    """Whether there is anything to learn is asked once for the program, and once for all values of one name."""
    loss = "loss = torch.nn.functional.mse_loss(model(torch.randn(2, 2)), torch.randn(2, 2))\nloss.backward()\n"
    head = HEAD + "model = torch.nn.Linear(2, 2)\n"
    assert growth(tmp_path, lambda n: head + "torch.backends.cudnn.benchmark = True\n" * n + loss * n, 100) < LIMIT


def test_a_function_that_hands_star_arguments_on(tmp_path: Path) -> None:
    """What its callers pass is asked once for all, not in each run of the function."""
    head = HEAD + "def loader(rows, *args, made=DataLoader):\n    return made(rows, *args, shuffle=True)\n"
    assert growth(tmp_path, lambda n: head + "loader([1])\n" * n, 150) < LIMIT


def test_draws_that_are_added_up(tmp_path: Path) -> None:
    """Each is followed through the sums around it, which are nested: as deep as a parser takes."""
    assert growth(tmp_path, lambda n: HEAD + "x = " + " + ".join(["torch.randn(3)"] * n) + "\nprint(x)\n", 60) < 4


def test_one_fix_of_many_places_is_written_once(tmp_path: Path) -> None:
    """Loops over one set are sorted together: of many, none is."""

    def edits(n: int) -> int:
        text = HEAD + "names = {'a', 'b'}\nfound = {}\n" + "for name in names:\n    found[name] = torch.rand(1)\n" * n
        return sum(len(f.fix.edits) for f in checked(tmp_path, text).findings if f.fix is not None)

    assert edits(3) > 0
    assert edits(100) < 10_000


@pytest.mark.parametrize("output_format", ["github", "gitlab", "rdjson", "sarif"])
def test_a_notebook_is_not_read_anew_for_each_of_its_findings(output_format: str, tmp_path: Path) -> None:
    def reported(cells: int) -> int:
        rows = [{"cell_type": "code", "source": ["import torch\n", "torch.seed()"]}] * cells
        (tmp_path / "a.ipynb").write_text(json.dumps({"cells": rows, "nbformat": 4}, indent=1))
        result = check(Request((tmp_path / "a.ipynb",), SettingsResolver(cards.codes(), isolated=True), root=tmp_path))
        assert len(result.findings) >= cells
        with metered() as meter:
            "".join(renderer(output_format)(result, Context(False, 120, tmp_path, False)))
        return meter.lines

    reported(2)
    assert reported(120) / reported(60) < LIMIT


MUTUAL = """\
def cast(t, k=1):
    if t:
        return t


def pick(v, d=None):
    if v:
        return v
    return d() if d else d


def use(v):
    for x in set(cast(v)):
        print(x)


v = cast(pick(v))
for i in y:
    v = pick(v, cast)
use(v)
use(cast(pick(v)))
"""


def test_functions_whose_results_contain_each_other(tmp_path: Path) -> None:
    assert [f.message for f in checked(tmp_path, HEAD + MUTUAL).findings if f.code == "TRP003"] == []


def test_fixing_many_lines(tmp_path: Path) -> None:
    def mended(n: int) -> int:
        (tmp_path / "a.py").write_text(lines("x{i} = {i}  # noqa: TRP201")(n))
        with metered() as meter:
            made = fix(Request((tmp_path,), SettingsResolver(cards.codes(), isolated=True)), unsafe=False, write=False)
        assert made.fixed == n
        return meter.lines

    mended(3)
    assert mended(200) / mended(100) < LIMIT


def test_nested_folders(tmp_path: Path) -> None:
    def nested(n: int) -> int:
        folder = tmp_path / str(n)
        place = folder.joinpath(*["d"] * n)
        place.mkdir(parents=True)
        (place / "a.py").write_text("import torch\n")
        with metered() as meter:
            assert len(checked(folder, "").files) == 2
        return meter.lines

    nested(3)
    assert nested(200) / nested(100) < 3  # the names of the folders have four times as many characters


def test_imports_in_nested_folders(tmp_path: Path) -> None:
    def nested(n: int) -> int:
        place = folder = tmp_path / str(n)
        for _ in range(n):
            place /= "d"
            place.mkdir(parents=True)
            (place / "a.py").write_text("import helper\n\nhelper.run()\n")
        with metered() as meter:
            assert len(checked(folder, "").files) == n + 1
        return meter.lines

    nested(3)
    assert nested(200) / nested(100) < LIMIT


def test_nested_folders_are_each_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[object] = []
    lstat = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path, **more: looked_at.append(path) or lstat(path, **more))

    def nested(n: int) -> int:
        place = (tmp_path / str(n)).joinpath(*["d"] * n)
        place.mkdir(parents=True)
        (place / "a.py").write_text("import torch\ntorch.rand(2)\n")
        looked_at.clear()
        assert len(checked(tmp_path / str(n), "").files) == 2
        return len(looked_at)

    nested(3)
    assert nested(200) / nested(100) < LIMIT


ENDED = 15  # seconds of CPU: each takes less than one, and minutes where every part is compared with every other


@pytest.mark.parametrize(
    ("comment", "number"), [("#noqa", 100_000), ("#torchrepro:ignore[a", 40_000), ("TRP201,", 50_000)]
)
def test_the_time_for_suppressions_on_one_line_grows_with_their_number(comment: str, number: int) -> None:
    with limited(ENDED):
        assert find_suppressions(f"x = 1 # noqa: {comment * number}\n", lambda: [0])


def test_the_time_for_a_long_name_that_may_seed_grows_with_its_length() -> None:
    with limited(ENDED):
        for pattern in (seedings._SEEDS, _filled("cfg")):
            assert pattern.search(b" ".join([b"seed" * 100_000, b".set" * 100_000, b"update" * 60_000])) is None
            assert pattern.search(b"cfg[" * 100_000) is None
        assert usual_seed._KEY.search("'" + "seed" * 100_000) is None
        assert usual_seed._READ.search("." + "seed" * 100_000 + "[ (" * 100_000) is None


def test_the_time_for_imports_that_are_never_closed_grows_with_their_number() -> None:
    with limited(ENDED):
        assert not may_set_path(b"path\n" + b"import (\n" * 300_000)


def test_the_time_for_an_annotation_grows_with_the_length_of_its_words() -> None:
    with limited(ENDED):
        assert annotated(ast.Constant("a" * 300_000 + "!")) is None


def test_arms_that_seed_nothing_are_joined_at_once() -> None:
    from torchrepro_lint.seeding.state import joined

    compared: list[int] = []
    before: Any = tuple(range(1000))

    def level(one: int, other: int) -> int:
        compared.append(one)
        return max(one, other)

    assert joined(before, (*before, 1000), (*before, 1001), level) == (*before, 1000, 1001)
    assert compared == []


def test_the_callers_of_a_function_are_walked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a loop calls it, and whether that loop counts epochs, are one walk where no loop does."""
    from torchrepro_lint.dataflow.call_graph import Callers

    asked: list[str] = []
    passing = Callers.passing
    monkeypatch.setattr(
        Callers, "passing", lambda graph, function: asked.append(function.name) or passing(graph, function)
    )
    text, _ = SEARCHES["functions that are spawned"]
    assert len(checked(tmp_path, text(20)).findings) >= 20
    assert max(map(asked.count, asked)) == 2


def test_the_words_of_a_file_are_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torchrepro_lint.checks import order_doubts

    counted: list[object] = []
    counter = order_doubts.Counter
    monkeypatch.setattr(order_doubts, "Counter", lambda words: counted.append(words) or counter(words))
    text = "".join(
        f"def data{i}(folder): return {{n: i for i, n in enumerate(os.listdir(folder))}}\n" for i in range(20)
    )
    assert len(checked(tmp_path, f"import os\nimport torch\n{text}").findings) == 20
    assert len(counted) == 1


def test_what_may_be_wrapped_is_asked_once_for_each_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torchrepro_lint.dataflow import program

    asked: list[object] = []
    may_wrap = program._may_wrap
    monkeypatch.setattr(program, "_may_wrap", lambda value: asked.append(value) or may_wrap(value))
    checked(tmp_path, LINEAR["a seed that grows"](50))
    assert len(asked) < 500  # of 51 bindings of `x` and of `seed`; each time for each use, there were thousands


def test_a_program_is_not_followed_anew_for_each_file_that_it_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torchrepro_lint.seeding import interpreter

    followed: list[str] = []
    follow = interpreter.seeding_of
    monkeypatch.setattr(
        interpreter, "seeding_of", lambda e, program: followed.append(e.facts.source.rel) or follow(e, program)
    )
    imports = "import torch\n" + "".join(f"import data{i}\n" for i in range(6))
    for i in range(6):
        loading = "from torch.utils.data import DataLoader\ndef load(ds): return DataLoader(ds, shuffle=True)\n"
        (tmp_path / f"data{i}.py").write_text(loading)
        training = f"    torch.rand(3, requires_grad=True).sum().backward()\n    data{i}.load([1])\n"
        start = "if __name__ == '__main__':\n    main()\n"
        (tmp_path / f"train{i}.py").write_text(f"{imports}def main():\n{training}{start}")
    codes = [finding.code for finding in checked(tmp_path, "").findings]
    assert codes.count("TRP201") == codes.count("TRP101") == 6
    assert len(set(followed)) == 6
    assert max(map(followed.count, followed)) <= 2  # for itself, and for the files that it imports


def test_weights_that_many_loops_take_up_by_their_number(tmp_path: Path) -> None:
    """What is read is looked through once, and not for each loop that may begin with a number in its name."""
    load = "net.load_state_dict(torch.load(f'net.{{epoch_{i}}}'))\n"
    loop = (
        "for e in range(epoch_{i}, 9):\n    net(torch.rand(1)).backward()\n    torch.save(net.state_dict(), str(e))\n"
    )

    def program(n: int) -> str:
        return HEAD + "".join(load.format(i=i) for i in range(n)) + "".join(loop.format(i=i) for i in range(n))

    assert growth(tmp_path, program, 60) < 2.2
