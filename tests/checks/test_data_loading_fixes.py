"""Fixes of the data loading rules in layouts that a card need not show."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from torchrepro_lint import cards
from torchrepro_lint.engine import Request
from torchrepro_lint.repair import fix
from torchrepro_lint.settings import SettingsResolver


def fixed(folder: Path, code: str, text: str, *, unsafe: bool = False) -> str:
    """The text after the fixes of one rule."""
    (folder / "pyproject.toml").write_text("")
    path = folder / "train.py"
    path.write_bytes(text.encode())
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": [code]})
    fix(Request((folder,), resolver), unsafe=unsafe, write=True)
    after = path.read_bytes().decode()
    assert isinstance(ast.parse(after), ast.Module)
    return after


HEAD = "import torch\nfrom torch.utils.data import *\n"
SAFE = {
    "name taken": (
        "TRP201",
        HEAD + "generator = None\nwhile True:\n    DataLoader(d, shuffle=True)\n",
        HEAD + "generator = None\nloader_generator = torch.Generator().manual_seed(0)\nwhile True:\n"
        "    DataLoader(d, shuffle=True, generator=loader_generator)\n",
    ),
    "two in a loop": (
        "TRP201",
        HEAD + "while True:\n    a = DataLoader(d, shuffle=True)\n    real_loader = DataLoader(e, shuffle=True)\n",
        HEAD + "generator = torch.Generator().manual_seed(0)\nreal_generator = torch.Generator().manual_seed(1)\n"
        "while True:\n    a = DataLoader(d, shuffle=True, generator=generator)\n"
        "    real_loader = DataLoader(e, shuffle=True, generator=real_generator)\n",
    ),
    "two of one name in a loop": (
        "TRP201",
        HEAD + "a = DataLoader(c, shuffle=True)\nwhile True:\n    b = DataLoader(d, shuffle=True)\n"
        "    b = DataLoader(e, shuffle=True)\n",
        HEAD + "a = DataLoader(c, shuffle=True, generator=torch.Generator().manual_seed(0))\n"
        "b_generator = torch.Generator().manual_seed(1)\nb_generator_2 = torch.Generator().manual_seed(2)\n"
        "while True:\n    b = DataLoader(d, shuffle=True, generator=b_generator)\n"
        "    b = DataLoader(e, shuffle=True, generator=b_generator_2)\n",
    ),
    "above the comment of a loop": (
        "TRP201",
        HEAD + "n = 2\n\n# the training\nwhile True:\n    DataLoader(d, shuffle=True)\n",
        HEAD + "n = 2\n\ngenerator = torch.Generator().manual_seed(0)\n\n# the training\nwhile True:\n"
        "    DataLoader(d, shuffle=True, generator=generator)\n",
    ),
    "seeded above, with a name that is passed on": (
        "TRP201",
        "import argparse\n" + HEAD + "def extend(args, d):\n    args.size = len(d)\n    return args\n"
        "def f(args):\n    torch.manual_seed(args.seed)\n    args = extend(args, d)\n    DataLoader(d, shuffle=True)\n"
        "f(argparse.ArgumentParser().parse_args())\n",
        "import argparse\n" + HEAD + "def extend(args, d):\n    args.size = len(d)\n    return args\n"
        "def f(args):\n    torch.manual_seed(args.seed)\n    args = extend(args, d)\n"
        "    DataLoader(d, shuffle=True, generator=torch.Generator().manual_seed(args.seed))\n"
        "f(argparse.ArgumentParser().parse_args())\n",
    ),
    "seeded where the configuration is read": (
        "TRP201",
        "import sys, yaml\n" + HEAD + "def load(config):\n    return DataLoader(d, config.n, shuffle=True)\n"
        "def main():\n    with open(sys.argv[1]) as f:\n        cfg = yaml.safe_load(f)\n"
        "    torch.manual_seed(cfg['SEED'])\n    load(cfg)\nmain()\n",
        "import sys, yaml\n" + HEAD + "def load(config):\n"
        "    return DataLoader(d, config.n, shuffle=True,\n"
        "                      generator=torch.Generator().manual_seed(config['SEED']))\n"
        "def main():\n    with open(sys.argv[1]) as f:\n        cfg = yaml.safe_load(f)\n"
        "    torch.manual_seed(cfg['SEED'])\n    load(cfg)\nmain()\n",
    ),
    "options that an object holds": (
        "TRP201",
        "import argparse\n"
        + HEAD
        + "class Runner:\n    def __init__(self, args):\n        self.args, self.x = args, 1\n"
        "    def run(self):\n        args, x = self.args, self.x\n        DataLoader(d, shuffle=True)\n"
        "def parse():\n    parser = argparse.ArgumentParser()\n    parser.add_argument('--seed', type=int, default=3)\n"
        "    args = parser.parse_args()\n    return args, 1\nargs, _ = parse()\nRunner(args).run()\n",
        "import argparse\n"
        + HEAD
        + "class Runner:\n    def __init__(self, args):\n        self.args, self.x = args, 1\n"
        "    def run(self):\n        args, x = self.args, self.x\n"
        "        DataLoader(d, shuffle=True, generator=torch.Generator().manual_seed(args.seed))\n"
        "def parse():\n    parser = argparse.ArgumentParser()\n    parser.add_argument('--seed', type=int, default=3)\n"
        "    args = parser.parse_args()\n    return args, 1\nargs, _ = parse()\nRunner(args).run()\n",
    ),
    "seeded above": (
        "TRP201",
        HEAD + "def f(params):\n    torch.manual_seed(params['seed'])\n    DataLoader(d, shuffle=True)\nf(g)\n",
        HEAD + "def f(params):\n    torch.manual_seed(params['seed'])\n"
        "    DataLoader(d, shuffle=True, generator=torch.Generator().manual_seed(params['seed']))\nf(g)\n",
    ),
    "arguments on lines of their own": (
        "TRP201",
        HEAD + f"loader = DataLoader(d,\n    batch_size={'x' * 50}, shuffle=True)\n",
        HEAD + f"loader = DataLoader(d,\n    batch_size={'x' * 50}, shuffle=True,\n"
        "    generator=torch.Generator().manual_seed(0))\n",
    ),
    "too long for its line": (
        "TRP201",
        HEAD + f"# about it\nx = DataLoader(d, shuffle=True) if {'d' * 36} else e\n",
        HEAD + "# about it\ngenerator = torch.Generator().manual_seed(0)\n"
        f"x = DataLoader(d, shuffle=True, generator=generator) if {'d' * 36} else e\n",
    ),
    "from-import": (
        "TRP201",
        "from torch import Generator\nfrom torch.utils.data import DataLoader\nDataLoader(d, shuffle=True)\n",
        "from torch import Generator\nfrom torch.utils.data import DataLoader\n"
        "DataLoader(d, shuffle=True, generator=Generator().manual_seed(0))\n",
    ),
    "CRLF": (
        "TRP203",
        "import torch\r\nfrom torch.utils.data import *\r\nfor k in ks:\r\n\ta, b = random_split(d, [1, 2])\r\n",
        "import torch\r\nfrom torch.utils.data import *\r\ngenerator = torch.Generator().manual_seed(0)\r\n"
        "for k in ks:\r\n\ta, b = random_split(d, [1, 2], generator=generator)\r\n",
    ),
    "called in a loop": (
        "TRP201",
        HEAD + "def f():\n    return DataLoader(d, shuffle=True)\nfor e in es:\n    f()\n",
        HEAD + "def f():\n    return DataLoader(d, shuffle=True)\nfor e in es:\n    f()\n",
    ),
    "names of entries": (
        "TRP204",
        "import os\nspeakers = [f.name for f in os.scandir(d) if f.is_dir()]\n"
        "n = {s: i for i, s in enumerate(speakers)}\n",
        "import os\nspeakers = sorted(f.name for f in os.scandir(d) if f.is_dir())\n"
        "n = {s: i for i, s in enumerate(speakers)}\n",
    ),
    "the first or none": (
        "TRP204",
        "from pathlib import Path\nx = next(Path(d).rglob('*.onnx'), None)\n",
        "from pathlib import Path\nx = min(Path(d).rglob('*.onnx'), default=None)\n",
    ),
    "given from outside": (
        "TRP203",
        HEAD + "def f(g=None):\n    return RandomSampler(d, generator=g)\nf()\n",
        HEAD + "def f(g=None):\n    return RandomSampler(d, generator=g)\nf()\n",
    ),
    "tabs and comments": (
        "TRP202",
        HEAD + "import random\nclass D(Dataset):\n\tdef __init__(self):\n\t\tself.rng = random.Random(0)\n"
        "\tdef __getitem__(self, i):\n\t\treturn self.rng.random()\n\n# What is loaded,\n# and how.\n"
        "def f():\n\treturn DataLoader(D(), num_workers=n)\n",
        HEAD + "import random\nclass D(Dataset):\n\tdef __init__(self):\n\t\tself.rng = random.Random(0)\n"
        "\tdef __getitem__(self, i):\n\t\treturn self.rng.random()\n\n\ndef seed_rng(worker_id):\n"
        "\ttorch.utils.data.get_worker_info().dataset.rng = random.Random(torch.initial_seed())\n\n\n"
        "# What is loaded,\n# and how.\ndef f():\n\treturn DataLoader(D(), num_workers=n, worker_init_fn=seed_rng)\n",
    ),
    "name in use": (
        "TRP202",
        HEAD + "import random\nseed_worker = 1\nDataLoader(read(), num_workers=2)\n",
        HEAD + "import random\nseed_worker = 1\nDataLoader(read(), num_workers=2)\n",
    ),
    "generator inside a subset": (
        "TRP202",
        HEAD + "import random\n\n\nclass D(Dataset):\n    def __init__(self):\n        self._rng = random.Random(0)\n\n"
        "    def __getitem__(self, i):\n        return self._rng.random()\n\n\n"
        "a, b = random_split(D(), [1, 2])\nDataLoader(a, num_workers=2)\n",
        HEAD + "import random\n\n\nclass D(Dataset):\n    def __init__(self):\n        self._rng = random.Random(0)\n\n"
        "    def __getitem__(self, i):\n        return self._rng.random()\n\n\na, b = random_split(D(), [1, 2])\n\n\n"
        "def seed_rng(worker_id):\n    torch.utils.data.get_worker_info().dataset.dataset._rng = "
        "random.Random(torch.initial_seed())\n\n\nDataLoader(a, num_workers=2, worker_init_fn=seed_rng)\n",
    ),
    "list": (
        "TRP204",
        "import glob\nx = list( glob.glob(p) )\ny = x[0]\n",
        "import glob\nx = sorted( glob.glob(p) )\ny = x[0]\n",
    ),
    "iterator advanced by hand": (
        "TRP204",
        "from pathlib import Path\nx = Path(d).iterdir()\ny = next(x)\n",
        "from pathlib import Path\nx = iter(sorted(Path(d).iterdir()))\ny = next(x)\n",
    ),
    "two walks": (
        "TRP204",
        "import os\nx = []\nfor r, d, f in os.walk(a):\n    x += f\nfor r, d, f in os.walk(b):\n    x += f\ny = x[0]\n",
        "import os\nx = []\nfor r, d, f in sorted(os.walk(a)):\n    x += sorted(f)\n"
        "for r, d, f in sorted(os.walk(b)):\n    x += sorted(f)\ny = x[0]\n",
    ),
    "walk, shuffled": (
        "TRP204",
        "import os, random\nrandom.seed(0)\nx = []\nfor r, _, files in sorted(os.walk(a)):\n    random.shuffle(files)\n"
        "    x += files[:9]\n",
        "import os, random\nrandom.seed(0)\nx = []\nfor r, _, files in sorted(os.walk(a)):\n    files.sort()\n"
        "    random.shuffle(files)\n    x += files[:9]\n",
    ),
    "walk, names read twice": (
        "TRP204",
        "import os\nx, y = [], []\nfor r, _, files in sorted(os.walk(a)):\n    x += files\n    y.append(files[0])\n"
        "z = x[0]\n",
        "import os\nx, y = [], []\nfor r, _, files in sorted(os.walk(a)):\n    files.sort()\n    x += files\n"
        "    y.append(files[0])\nz = x[0]\n",
    ),
    "top folder": (
        "TRP204",
        "import os\n_, dirs, _ = next(os.walk(d))\nx = {c: i for i, c in enumerate(dirs)}\n",
        "import os\n_, dirs, _ = next(os.walk(d))\nx = {c: i for i, c in enumerate(sorted(dirs))}\n",
    ),
    "starred set": ("TRP205", "x = {'a', 'b'}\ny = [*x][0]\n", "x = {'a', 'b'}\ny = sorted(x)[0]\n"),
}


@pytest.mark.parametrize(("code", "before", "after"), SAFE.values(), ids=SAFE)
def test_the_fix_writes_what_reads_best_there(code: str, before: str, after: str, tmp_path: Path) -> None:
    assert fixed(tmp_path, code, before, unsafe=code == "TRP204") == after


def test_a_seed_that_is_set_after_the_configuration_is_read_is_not_known_there(tmp_path: Path) -> None:
    text = "import sys, yaml\n" + HEAD + "def load(config):\n    return DataLoader(d, config.n, shuffle=True)\n"
    text += "def main():\n    with open(sys.argv[1]) as f:\n        cfg = yaml.safe_load(f)\n"
    text += "    load(cfg)\n    cfg['SEED'] = 3\n    torch.manual_seed(cfg['SEED'])\nmain()\n"
    assert fixed(tmp_path, "TRP201", text) == text
    assert "generator=torch.Generator().manual_seed(0))" in fixed(tmp_path, "TRP201", text, unsafe=True)


@pytest.mark.parametrize(
    ("arguments", "mended"), [("", True), ("shuffle=False, ", False), ("sampler=s, shuffle=False, ", True)]
)
def test_a_loader_that_is_told_not_to_shuffle_keeps_the_program_s_seed(
    arguments: str, mended: bool, tmp_path: Path
) -> None:
    data = "import random\nclass D(Dataset):\n    def __getitem__(self, i):\n        return random.random()\n"
    before = f"{HEAD}{data}loader = DataLoader(D(), {arguments}num_workers=2)\n"
    assert (fixed(tmp_path, "TRP202", before) != before) is mended


@pytest.mark.parametrize(
    "before",
    [
        "def f():\n    return DataLoader(d, shuffle=True)\nfor e in es:\n    f()\n",
        "def f():\n    for batch in DataLoader(d, shuffle=True):\n        yield batch\n",
        "class Data(Base):\n    def test_dataloader(self):\n        return DataLoader(d, shuffle=True)\n",
        "def train_epoch():\n    return DataLoader(d, shuffle=True)\n",
    ],
    ids=["called in a loop", "a generator", "a hook", "of an epoch"],
)
def test_no_generator_is_made_where_it_would_begin_anew(before: str, tmp_path: Path) -> None:
    assert fixed(tmp_path, "TRP201", HEAD + before, unsafe=True) == HEAD + before


def test_a_generator_in_a_function_that_nobody_in_sight_calls_needs_a_person(tmp_path: Path) -> None:
    before = HEAD + "def f():\n    return DataLoader(d, shuffle=True)\n"
    assert fixed(tmp_path, "TRP201", before) == before
    assert "manual_seed" in fixed(tmp_path, "TRP201", before, unsafe=True)


@pytest.mark.parametrize(
    ("wanted", "safe", "unsafe"),
    [
        ("", True, True), (">=1.6", True, True), ("<2.5", True, True), ("==2.4.1", True, True),
        (">=1.4", False, True), ("==1.4.0", False, False), ("~=1.5.0", False, False),
    ],
)  # fmt: skip
def test_an_argument_is_passed_to_releases_that_have_it(wanted: str, safe: bool, unsafe: bool, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(f"torch{wanted}\n")
    before = HEAD + "loader = DataLoader(d, shuffle=True)\n"
    assert (fixed(tmp_path, "TRP201", before) != before) is safe
    assert (fixed(tmp_path, "TRP201", before, unsafe=True) != before) is unsafe


def test_lines_are_as_long_as_the_formatter_lets_them_be(tmp_path: Path) -> None:
    before = HEAD + "loader = DataLoader(\n    d, batch_size=16, drop_last=True, shuffle=True\n)\n"
    assert "shuffle=True, generator=" in fixed(tmp_path, "TRP201", before)
    (tmp_path / "ruff.toml").write_text("line-length = 79\n")
    assert "    shuffle=True,\n    generator=" in fixed(tmp_path, "TRP201", before)


def test_tensors_made_on_the_gpu_need_a_person(tmp_path: Path) -> None:
    before = HEAD + "torch.set_default_device('cuda')\nDataLoader(d, shuffle=True)\n"
    assert fixed(tmp_path, "TRP201", before) == before
    alone = HEAD + "DataLoader(d, shuffle=True)\n"
    (tmp_path / "setup_gpu.py").write_text("import torch\n\ntorch.set_default_device('cuda')\n")
    assert fixed(tmp_path, "TRP201", alone) == alone
    (tmp_path / "setup_gpu.py").rename(tmp_path / "test_gpu.py")
    assert fixed(tmp_path, "TRP201", alone) == alone  # no test, but for its name
    (tmp_path / "test_gpu.py").write_text("import pytest\nimport torch\n\ntorch.set_default_device('cuda')\n")
    assert "manual_seed(0)" in fixed(tmp_path, "TRP201", alone)


EACH_EPOCH = {
    "a sampler": "class S(Sampler):\n    def __iter__(self):\n        return iter(RandomSampler(d))\n",
    "through a method": "class S(Sampler):\n    def __iter__(self):\n        yield from self.drawn()\n\n"
    "    def drawn(self):\n        return RandomSampler(d)\n",
    "through a base": "class B:\n    def __iter__(self):\n        return iter(self.drawn())\n\n"
    "class S(B):\n    def drawn(self):\n        return RandomSampler(d)\n",
    "in a loop": "class S(Sampler):\n    def __iter__(self):\n        for b in self.buckets:\n"
    "            yield from SubsetRandomSampler(b)\n",
}


@pytest.mark.parametrize("text", EACH_EPOCH.values(), ids=EACH_EPOCH)
def test_a_sampler_made_for_each_epoch_needs_a_person(text: str, tmp_path: Path) -> None:
    assert fixed(tmp_path, "TRP203", HEAD + text, unsafe=True) == HEAD + text


COMPREHENDED = {
    "its first source": ("it = [i for i in RandomSampler(d)]\n",
                         "it = [i for i in RandomSampler(d, generator=torch.Generator().manual_seed(0))]\n"),
    "in a class": ("class C:\n    all = [RandomSampler(d) for d in ds]\n",
                   "class C:\n    all = [RandomSampler(d, generator=torch.Generator().manual_seed(0)) for d in ds]\n"),
    "its items": ("all = {d: RandomSampler(d) for d in ds}\n",
                  "generator = torch.Generator().manual_seed(0)\n"
                  "all = {d: RandomSampler(d, generator=generator) for d in ds}\n"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), COMPREHENDED.values(), ids=COMPREHENDED)
def test_samplers_of_a_comprehension_share_a_generator(before: str, after: str, tmp_path: Path) -> None:
    assert fixed(tmp_path, "TRP203", HEAD + before) == HEAD + after


PLACES = {
    "a list that unpacks it": ("[*os.listdir(d)]", "sorted(os.listdir(d))"),
    "a sort of the list around it": ("sorted([os.listdir(d)])[0]", "[sorted(os.listdir(d))][0]"),
    "an iterator": ("tuple(os.listdir(d))", "tuple(sorted(os.listdir(d)))"),
    "a list that keeps it": ("[os.listdir(d)][0]", "[sorted(os.listdir(d))][0]"),
    "a sort of several": (
        "sorted([os.listdir(d), os.listdir(e)], key=len)[0]",
        "sorted([sorted(os.listdir(d)), sorted(os.listdir(e))], key=len)[0]",
    ),
}


@pytest.mark.parametrize(("before", "after"), PLACES.values(), ids=PLACES)
def test_a_listing_is_sorted_where_it_reads_best(before: str, after: str, tmp_path: Path) -> None:
    text = "import os\nnames = {}\nnames[0]\n"
    assert fixed(tmp_path, "TRP204", text.format(before), unsafe=True) == text.format(after)


WIDE = {
    "a condition": (
        "TRP201",
        HEAD + "x = DataLoader(d, shuffle=True) if dddddddddd else eeeeee\n",
        HEAD + "x = (\n    DataLoader(d, shuffle=True, generator=torch.Generator().manual_seed(0))\n"
        "    if dddddddddd\n    else eeeeee\n)\n",
    ),
    "a comment about the last argument": (
        "TRP201",
        HEAD + "x = DataLoader(\n    d, shuffle=True,\n    drop_last=True)  # batches have one size\n",
        HEAD + "x = DataLoader(\n    d, shuffle=True,\n    drop_last=True,  # batches have one size\n"
        "    generator=torch.Generator().manual_seed(0))\n",
    ),
    "an argument": (
        "TRP203",
        HEAD + "x = BatchSampler(RandomSampler(train_dataset), batch_size, False)\n",
        HEAD + "generator = torch.Generator().manual_seed(0)\n"
        "x = BatchSampler(RandomSampler(train_dataset, generator=generator), batch_size, False)\n",
    ),
    "a listing": (
        "TRP204",
        "import os\nnames = [os.path.join(d, name) for name in os.listdir(d)]\nnames[0]\n",
        "import os\nnames = [\n    os.path.join(d, name) for name in sorted(os.listdir(d))\n]\nnames[0]\n",
    ),
    "a listing and its parts": (
        "TRP204",
        "import os\nn = [join(d, name) for name in os.listdir(d) if isfile(name) if nn]\nn[0]\n",
        "import os\nn = [\n    join(d, name)\n    for name in sorted(os.listdir(d))\n"
        "    if isfile(name)\n    if nn\n]\nn[0]\n",
    ),
    "an item stays on its line": (
        "TRP204",
        "import os\nname = [os.path.join(d, name) for name in os.listdir(d)][0]\n",
        "import os\nname = [os.path.join(d, name) for name in sorted(os.listdir(d))][0]\n",
    ),
    "a line that was too long before": (
        "TRP204",
        f"import os\nnames = [os.path.join(d, name) for name in os.listdir(d) if {'d' * 30}]\nnames[0]\n",
        f"import os\nnames = [os.path.join(d, name) for name in sorted(os.listdir(d)) if {'d' * 30}]\nnames[0]\n",
    ),
    "a call": (
        "TRP204",
        "import glob\nimage_names = glob.glob(folder + '/images/images/*.jpg')\nimage_names[0]\n",
        "import glob\nimage_names = sorted(\n    glob.glob(folder + '/images/images/*.jpg')\n)\nimage_names[0]\n",
    ),
}


@pytest.mark.parametrize(("code", "before", "after"), WIDE.values(), ids=WIDE)
def test_a_line_that_grows_too_long_is_broken_as_a_formatter_does(
    code: str, before: str, after: str, tmp_path: Path
) -> None:
    width = 90 if code == "TRP203" else 75 if code == "TRP201" else 70 if "if nn" in before else 62
    (tmp_path / ".flake8").write_text(f"[flake8]\nmax-line-length = {width}\n")
    assert fixed(tmp_path, code, before, unsafe=code == "TRP204") == after


CLIENTS = """\
import torch
from torch.utils.data import DataLoader


class Client:
    def __init__(self, data):
        self.data = data

    def train(self, model, optimizer):
        for batch in DataLoader(self.data, shuffle=True):
            model(batch).sum().backward()


def main(data, model, optimizer):
    clients = {{}}
    for number in range(9):
        clients[number] = Client(data)
    {call}
"""


@pytest.mark.parametrize(
    ("call", "is_fixed"),
    [
        ("for number in range(9):\n        clients[number].train(model, optimizer=optimizer)", False),
        ("for number in range(9):\n        clients[number].train()\n    clients[0].train(model, optimizer)", True),
    ],
)
def test_a_method_that_a_loop_may_call_runs_more_than_once(call: str, is_fixed: bool, tmp_path: Path) -> None:
    """Each call would begin with the same order."""
    assert ("generator=" in fixed(tmp_path, "TRP201", CLIENTS.format(call=call))) is is_fixed


@pytest.mark.parametrize("old", ["total += loss.data[0]", "batch = Variable(batch, volatile=True)"])
def test_a_program_for_a_pytorch_of_long_ago_gets_no_generator(old: str, tmp_path: Path) -> None:
    text = f"{HEAD}for batch in DataLoader(d, shuffle=True):\n    loss = net(batch)\n    {{}}\n"
    assert "generator=" not in fixed(tmp_path, "TRP201", text.format(old))
    assert "generator=" in fixed(tmp_path, "TRP201", text.format("total += loss.item()"))


OWN_SEEDER = """\
import random
import torch
from torch.utils.data import DataLoader

START = 17


def fix(seed):
    random.seed(seed)
    torch.manual_seed(seed)


def main(data):
    {above}
    loader = DataLoader(data, shuffle=True)
    {below}
    train(loader)
"""


@pytest.mark.parametrize(
    ("above", "below", "seed"), [("fix(21)", "", "21"), ("", "fix(START)", "START"), ("", "fix(21)", "0")]
)
def test_the_seed_that_a_function_of_the_project_is_given(above: str, below: str, seed: str, tmp_path: Path) -> None:
    text = fixed(tmp_path, "TRP201", OWN_SEEDER.format(above=above, below=below))
    assert f"generator=torch.Generator().manual_seed({seed})" in text


GIVEN = """\
import sys
import numpy as np
import pytorch_lightning as pl
import torch
import yaml
from torch.utils.data import DataLoader

FLAGS = load_flags(sys.argv)
OTHER = load_flags(sys.argv)


def load(data, config, batch):
    return DataLoader(data, config["batch"], shuffle=True)


def run(data, settings):
    load(data, settings, 3)


def main(settings, data):
    {seeds}
    run(data, settings)


main(yaml.safe_load(open(sys.argv[1])), range(9))
"""


@pytest.mark.parametrize(
    ("seeds", "seed"),
    [
        ("torch.manual_seed(settings['seed'])", "config['seed']"),
        ("np.random.seed(settings['seed'])\n    torch.manual_seed(settings['seed'])", "config['seed']"),
        ("torch.manual_seed(FLAGS.seed)", "FLAGS.seed"),
        ("np.random.seed(settings['seed'])", "0"),  # None is a seed of numpy, and none of a generator
        ("pl.seed_everything(settings['seed'])", "0"),
        ("torch.manual_seed(settings['seed'])\n    settings['seed'] = None", "0"),
        ("if settings['seed'] is not None:\n        torch.manual_seed(settings['seed'])", "0"),
        ("number = settings['seed']\n    torch.manual_seed(number)", "0"),  # is not passed on
        ("torch.manual_seed(3)", "3"),
    ],
)
def test_what_callers_seed_with_before_is_the_seed_of_a_generator(seeds: str, seed: str, tmp_path: Path) -> None:
    text = fixed(tmp_path, "TRP201", GIVEN.format(seeds=seeds), unsafe=seed == "0")  # a seed that cannot be read
    assert f"generator=torch.Generator().manual_seed({seed})" in text


MAY_BE_NONE = """\
import argparse
import torch
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int)


def main(data):
    args = parser.parse_args()
    {above}
    train(DataLoader(data, shuffle=True))
"""


@pytest.mark.parametrize(
    ("above", "seed"),
    [
        ("", "args.seed or 0"),
        ("torch.manual_seed(args.seed)", "args.seed"),
        ("if args.seed is None:\n        args.seed = 3\n    torch.manual_seed(args.seed)", "args.seed"),
        ("if args.seed is not None:\n        torch.manual_seed(args.seed)", "args.seed or 0"),
    ],
)
def test_what_a_function_seeds_with_is_no_longer_none(above: str, seed: str, tmp_path: Path) -> None:
    text = fixed(tmp_path, "TRP201", MAY_BE_NONE.format(above=above), unsafe=" or " in seed)  # none was wanted
    assert f"generator=torch.Generator().manual_seed({seed})" in text


def test_a_comment_that_heads_the_body_of_a_loop_stays_apart(tmp_path: Path) -> None:
    text = f"{HEAD}from torch.utils.data.distributed import DistributedSampler\nsampler = DistributedSampler(d)\n"
    text += "loader = DataLoader(d, sampler=sampler)\nfor epoch in range(9):\n\n    # train\n    for b in loader:\n"
    text += "        net(b).backward()\n"
    assert "\n\n    sampler.set_epoch(epoch)\n\n    # train\n" in fixed(tmp_path, "TRP301", text)


WORKERS = """\
import random
from pytorch_lightning import Trainer, seed_everything
from torch.utils.data import DataLoader, Dataset

class Noise(Dataset):
    def __getitem__(self, index):
        return random.random()

seed_everything(0)
Trainer(gpus=8{older}).fit(model, DataLoader(Noise(), num_workers=2))
"""


@pytest.mark.parametrize(("older", "seeder"), [(", early_stop_callback=stop", "(0)"), ("", "(0, workers=True)")])
def test_a_lightning_of_long_ago_gets_no_argument_that_it_lacks(older: str, seeder: str, tmp_path: Path) -> None:
    assert f"seed_everything{seeder}\n" in fixed(tmp_path, "TRP601", WORKERS.format(older=older))


@pytest.mark.parametrize(("variable", "is_fixed"), [("_", False), ("__", False), ("epoch", True)])
def test_a_number_that_is_thrown_away_is_given_to_no_sampler(variable: str, is_fixed: bool, tmp_path: Path) -> None:
    text = f"{HEAD}from torch.utils.data.distributed import DistributedSampler\nsampler = DistributedSampler(d)\n"
    text += f"loader = DataLoader(d, sampler=sampler)\nfor {variable} in range(epochs):\n    for batch in loader:\n"
    text += "        net(batch).backward()\n"
    assert ("set_epoch" in fixed(tmp_path, "TRP301", text)) is is_fixed


RANKS = """\
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

def load(data, sampler):
    return DataLoader(data, sampler=sampler, shuffle=sampler is None, num_workers=2)

def main(data, sampler):
    dist.init_process_group("gloo")
    torch.manual_seed({seed})
    return load(data, sampler)

main(data, sampler)
"""


@pytest.mark.parametrize(("seed", "is_safe"), [("1", True), ("1 + dist.get_rank()", False)])
def test_ranks_with_seeds_of_their_own_keep_them(seed: str, is_safe: bool, tmp_path: Path) -> None:
    """One generator for all would make their workers draw alike."""
    text = RANKS.format(seed=seed)
    assert ("generator" in fixed(tmp_path, "TRP201", text)) is is_safe
    assert "generator" in fixed(tmp_path, "TRP201", text, unsafe=True)


def test_a_worker_is_not_given_a_seed_that_nobody_chose(tmp_path: Path) -> None:
    """The copies that several workers hold begin alike each time; what PyTorch gives the workers may not."""
    text = (
        HEAD + "import numpy as np\nclass Noisy(Dataset):\n    def __init__(self):\n"
        "        self.rng = np.random.RandomState(42)\n"
        "    def __getitem__(self, i):\n        return self.rng.normal()\n"
        "loader = DataLoader(Noisy(), shuffle=False, num_workers=4)\n"
    )
    assert fixed(tmp_path, "TRP202", text) == text
    assert "worker_init_fn=seed_rng" in fixed(tmp_path, "TRP202", text, unsafe=True)


@pytest.mark.parametrize(("beside", "is_safe"), [("images.py", False), ("other/images.py", True)])
def test_one_function_that_seeds_workers_is_shared_by_a_folder(beside: str, is_safe: bool, tmp_path: Path) -> None:
    text = (
        HEAD + "import numpy as np\nclass Noisy(Dataset):\n    def __getitem__(self, i):\n"
        "        return np.random.normal()\nloader = DataLoader(Noisy(), shuffle=True, num_workers=4)\n"
    )
    (tmp_path / "requirements.txt").write_text("torch==1.8.0\n")
    (tmp_path / beside).parent.mkdir(exist_ok=True)
    (tmp_path / beside).write_text(text)
    assert ("def seed_worker" in fixed(tmp_path, "TRP202", text)) is is_safe
    assert "def seed_worker" in fixed(tmp_path, "TRP202", text, unsafe=True)


def test_what_trains_nothing_may_ask_for_another_seed(tmp_path: Path) -> None:
    text = "import random\nrandom.seed()\nplay(random.randint(0, 9))\n"
    assert fixed(tmp_path, "TRP102", text) == text


@pytest.mark.parametrize(("comment", "is_fixed"), [("  # or a specific number", False), ("", True)])
def test_a_comment_may_say_that_a_seed_is_drawn_on_purpose(comment: str, is_fixed: bool, tmp_path: Path) -> None:
    text = (
        f"import random\nimport torch\nseed = random.randint(0, 1000){comment}\ntorch.manual_seed(seed)\n"
        "model = torch.nn.Linear(2, 2)\nmodel(torch.ones(2)).sum().backward()\n"
    )
    assert (fixed(tmp_path, "TRP102", text) != text) is is_fixed


@pytest.mark.parametrize(
    ("seeds", "passed"),
    [
        ("def load(d, seed=None):\n", None),
        ("def load(d):\n", "0"),
        ("def load(d, args):\n    with timer():\n        torch.manual_seed(args.seed)\n", "args.seed"),
    ],
)
def test_no_number_stands_in_for_the_seed_that_a_function_is_given(
    seeds: str, passed: str | None, tmp_path: Path
) -> None:
    text = HEAD + seeds + "    return DataLoader(d, shuffle=True)\nload(*unseen)\n"
    after = fixed(tmp_path, "TRP201", text)
    assert after == text if passed is None else f"manual_seed({passed})))" not in after and f"({passed}))" in after


LOADED = """\
import random

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __getitem__(self, index):
        return {drawn}


{begin}
model = torch.nn.Linear(4, 1)
{step}
for batch in DataLoader(Pairs(), shuffle=shuffles, num_workers=2):
    model(batch).sum(){more}
"""


@pytest.mark.parametrize(
    ("drawn", "begin", "step", "more", "is_safe"),
    [
        ("random.random()", "torch.manual_seed(3)", "", ".backward()", True),
        ("random.random()", "# torch.manual_seed(3)", "", ".backward()", False),  # its author has turned seeds off
        ("random.random()", "dist.init_process_group('nccl')", "", ".backward()", False),  # all ranks would draw alike
        ("index", "torch.manual_seed(3)", "model.eval()", "", False),  # an evaluation
    ],
)
def test_a_generator_is_safe_where_it_decides_what_is_trained(
    drawn: str, begin: str, step: str, more: str, is_safe: bool, tmp_path: Path
) -> None:
    text = LOADED.format(drawn=drawn, begin=begin, step=step, more=more)
    assert ("generator=" in fixed(tmp_path, "TRP201", text)) is is_safe
    assert "generator=" in fixed(tmp_path, "TRP201", text, unsafe=True)


@pytest.mark.parametrize(
    ("name", "is_safe"),
    [("train_loader", True), ("latest", True), ("values", True), ("devices", True), ("val_loader", False)]
    + [(name, False) for name in ("validate_data_loader", "visual_loader")]
    + [(name, False) for name in ("testloader", "loader_test", "self.valid_sampler", "dev_dl", "data_loader_val")],
)
def test_an_evaluation_would_better_not_shuffle(name: str, is_safe: bool, tmp_path: Path) -> None:
    text = HEAD + f"{name} = DataLoader(d, shuffle=True)\nfor x in {name}:\n    model(x).backward()\n"
    assert ("generator=" in fixed(tmp_path, "TRP201", text)) is is_safe
    assert "generator=" in fixed(tmp_path, "TRP201", text, unsafe=True)


@pytest.mark.parametrize(("name", "is_safe"), [("sampler", True), ("eval_sampler", False)])
def test_a_sampler_within_another_is_called_after_what_holds_both(name: str, is_safe: bool, tmp_path: Path) -> None:
    text = HEAD + f"{name} = BatchSampler(RandomSampler(d), 4, False)\nfor x in DataLoader(d, sampler={name}):\n"
    text += "    model(x).backward()\n"
    assert ("generator=" in fixed(tmp_path, "TRP203", text)) is is_safe


@pytest.mark.parametrize(("draws", "is_safe"), [("", True), ("np.random.shuffle(texts)\n", False)])
def test_words_of_texts_that_are_drawn_without_a_seed_differ_in_any_order(
    draws: str, is_safe: bool, tmp_path: Path
) -> None:
    text = f"import numpy as np\n\ntexts = open('a').read().split()\n{draws}words = list(set(texts[:9]))\n"
    text += "numbers = {w: i for i, w in enumerate(words)}\n"
    assert ("sorted(" in fixed(tmp_path, "TRP205", text)) is is_safe


@pytest.mark.parametrize(("seeds", "is_safe"), [("", False), ("torch.manual_seed(3)\n", True)])
def test_a_generator_is_not_all_that_is_seeded_of_a_program_with_files_of_its_own(
    seeds: str, is_safe: bool, tmp_path: Path
) -> None:
    (tmp_path / "training.py").write_text("import torch\nfrom layers import Trainer\n")
    text = HEAD + f"import training\n{seeds}loader = DataLoader(d, shuffle=True)\ntraining.Trainer(loader).start()\n"
    assert ("generator=" in fixed(tmp_path, "TRP201", text)) is is_safe


RENEWS = "import torch\n\n\ndef init(worker_id):\n    torch.utils.data.get_worker_info().dataset.{} = None\n"


@pytest.mark.parametrize(("attribute", "is_safe"), [("rng", False), ("other", True)])
def test_workers_that_the_project_knows_how_to_renew_are_for_a_person(
    attribute: str, is_safe: bool, tmp_path: Path
) -> None:
    (tmp_path / "starting.py").write_text(RENEWS.format(attribute))
    text = "import numpy as np\nfrom torch.utils.data import DataLoader, Dataset\n\n\nclass Data(Dataset):\n"
    text += "    def __init__(self):\n        self.rng = np.random.RandomState(0)\n\n    def __getitem__(self, i):\n"
    text += "        return self.rng.rand()\n\n\nloader = DataLoader(Data(), shuffle=True, num_workers=2)\n"
    assert ("worker_init_fn" in fixed(tmp_path, "TRP202", text)) is is_safe


def test_a_loader_that_is_made_where_no_gradients_are_kept_evaluates(tmp_path: Path) -> None:
    text = HEAD + "with torch.inference_mode():\n    seen = DataLoader(d, shuffle=True)\n    for x in seen:\n"
    text += "        y += model(x)\nfor x in d:\n    model(x).backward()\n"
    assert fixed(tmp_path, "TRP201", text) == text


def test_who_has_sacred_seed_each_run_gets_no_number_beside_that(tmp_path: Path) -> None:
    text = HEAD + "from sacred import Experiment\n\nex = Experiment()\n\n\n@ex.automain\ndef run(seed=3):\n"
    text += "    for x in DataLoader(d, shuffle=True):\n        model(x).backward()\n"
    assert fixed(tmp_path, "TRP201", text.replace("seed=3", "")) == text.replace("seed=3", "")


TRAINED = (
    HEAD
    + """\
{seeds}
loader = DataLoader(d, shuffle=True)
{used}
"""
)
STEP = "for x in loader:\n    model(x).backward()"


@pytest.mark.parametrize(
    ("seeds", "used", "is_safe"),
    [
        ("torch.manual_seed(1)", STEP, True),
        ("", "for seed in range(5):\n    torch.manual_seed(seed)\n    train(loader)", False),
        (
            "torch.manual_seed(1)\nclass D:\n    def __getitem__(self, i):\n        torch.manual_seed(i)",
            "d = D()\nd[1]\n" + STEP,
            True,
        ),
        ("torch.manual_seed(1)", "train(loader)\nevaluate(loader)", True),
        ("torch.manual_seed(1)", STEP + "\nloader = DataLoader(d, shuffle=True)\n" + STEP, False),
        ("torch.manual_seed(1)", "evaluate(model, loader=loader)", False),
        ("torch.manual_seed(1)", "print(invariance_unit_test(model, loader))", False),
    ],
)
def test_a_generator_is_safe_where_one_seed_decides_one_training(
    seeds: str, used: str, is_safe: bool, tmp_path: Path
) -> None:
    text = TRAINED.format(seeds=seeds, used=used)
    assert ("generator=" in fixed(tmp_path, "TRP201", text)) is is_safe
    assert "generator=" in fixed(tmp_path, "TRP201", text, unsafe=True)


def test_a_loader_that_draws_for_its_samples_alone_stands_beside_others(tmp_path: Path) -> None:
    text = (
        HEAD + "import random\nclass Noisy(Dataset):\n    def __getitem__(self, i):\n        return random.random()\n"
        "more = DataLoader(d, shuffle=True)\nloader = DataLoader(Noisy(), batch_sampler=batches, num_workers=4)\n"
        + STEP
    )
    assert "generator=torch.Generator().manual_seed(1)" in fixed(tmp_path, "TRP202", text, unsafe=True)


@pytest.mark.parametrize(
    ("seeds", "is_safe"),
    [
        ("torch.manual_seed(args.seed)", True),
        ("seed = args.seed\n    torch.manual_seed(seed)", True),
        ("torch.manual_seed(args.runseed)", False),
    ],
)
def test_what_is_seeded_with_something_else_may_want_that(seeds: str, is_safe: bool, tmp_path: Path) -> None:
    text = (
        HEAD + "import argparse\ndef main():\n    parser = argparse.ArgumentParser()\n"
        "    parser.add_argument('--seed', type=int, default=0)\n"
        "    parser.add_argument('--runseed', type=int, default=0)\n"
        f"    args = parser.parse_args()\n    {seeds}\n"
        "    for x in DataLoader(d, shuffle=True):\n        model(x).backward()\nmain()\n"
    )
    assert ("generator=" in fixed(tmp_path, "TRP201", text)) is is_safe


def test_a_loader_in_the_place_of_another_cell_s_gets_the_same_number(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    head, made = HEAD.splitlines(keepends=True), ["loader = DataLoader(d, shuffle=True)\n", STEP]
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": lines}
        for lines in (head, made, ["d = more()\n", *made], ["other = DataLoader(d, shuffle=True)\n", "run(other)"])
    ]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP201"]})
    fix(Request((tmp_path,), resolver), unsafe=True, write=True)
    after = (tmp_path / "a.ipynb").read_text()
    assert [after.count(f"manual_seed({number})") for number in range(3)] == [2, 1, 0]


@pytest.mark.parametrize(("home", "is_there"), [("helpers", True), ("train_utils", True), ("log_helper", False)])
def test_a_function_that_seeds_workers_lives_with_its_kind(home: str, is_there: bool, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==1.8.0\n")
    (tmp_path / f"{home}.py").write_text("def say(x):\n    print(x)\n")
    text = (
        HEAD + f"import numpy as np\nfrom {home} import say\nclass Noisy(Dataset):\n    def __getitem__(self, i):\n"
        "        return np.random.normal()\nloader = DataLoader(Noisy(), shuffle=True, num_workers=4)\nsay(loader)\n"
    )
    assert ("def seed_worker" in fixed(tmp_path, "TRP202", text)) is not is_there
    assert ("def seed_worker" in (tmp_path / f"{home}.py").read_text()) is is_there


@pytest.mark.parametrize(("name", "is_safe"), [("train_loader", True), ("valloader", False)])
def test_workers_that_evaluate_are_not_seeded_unasked(name: str, is_safe: bool, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==1.8.0\n")
    text = (
        HEAD + "import numpy as np\nclass Noisy(Dataset):\n    def __getitem__(self, i):\n"
        f"        return np.random.normal()\n{name} = DataLoader(Noisy(), num_workers=4)\n"
    )
    assert ("def seed_worker" in fixed(tmp_path, "TRP202", text)) is is_safe
    assert "def seed_worker" in fixed(tmp_path, "TRP202", text, unsafe=True)


@pytest.mark.parametrize(
    ("reads", "says", "is_safe"),
    [
        ("import yaml", "trainer:\n  seed: 3\n", False),
        ("import yaml", "trainer:\n  lr: 3\n", True),
        ("import json", "trainer:\n  seed: 3\n", True),
    ],
)
def test_no_number_stands_beside_the_seed_of_a_configuration_file(
    reads: str, says: str, is_safe: bool, tmp_path: Path
) -> None:
    (tmp_path / "config.yaml").write_text(says)
    text = HEAD + f"{reads}\nfor x in DataLoader(d, shuffle=True):\n    model(x).backward()\n"
    assert ("generator=" in fixed(tmp_path, "TRP201", text)) is is_safe


@pytest.mark.parametrize("name", ["benchmark", "test_loading"])
def test_what_only_measures_or_tests_needs_no_order_of_its_own(name: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    path = tmp_path / f"{name}.py"
    path.write_text(
        HEAD + "import pytest\n" * (name == "test_loading") + "for x in DataLoader(d, shuffle=True):\n    f(x)\n"
    )
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP201"]})
    fix(Request((tmp_path,), resolver), unsafe=False, write=True)
    assert "generator=" not in path.read_text()


def test_entries_are_sorted_within_the_length_of_a_line(tmp_path: Path) -> None:
    (tmp_path / "setup.cfg").write_text("[flake8]\nmax-line-length = 60\n")
    text = "import os\n\nfor one in os.scandir('a'):\n    files.append(one.path)\nfirst = files[0]\n"
    after = fixed(tmp_path, "TRP204", text)
    assert after == text or "lambda e: e.name" in after


DATA = "import os\nimport torch\n"
WHOSE_ORDER = {
    "samples": (DATA + "names = os.listdir('a')\ntrain = names[:9]\n", True),
    "one, and the others": (DATA + "names = os.listdir('a')\nprint(names[0])\ntrain = names[:9]\n", True),
    "one of several": (DATA + "name = os.listdir('a')[0]\n", False),
    "the last that fits": (DATA + "for n in os.listdir('a'):\n    if 'x' in n:\n        name = n\nload(name)\n", False),
    "an evaluation": (DATA + "model.eval()\nfor n in os.listdir('a')[:9]:\n    print(model(read(n)))\n", False),
    "data for a training": (
        DATA + "codec = torch.load('codec')\nfor n in os.listdir('a')[:9]:\n    torch.save(codec(n), n)\n",
        True,
    ),
    "a test": (DATA + "import pytest\nnames = os.listdir('a')[:9]\n", False),
    "what a model makes of them": (
        DATA
        + "net = torch.load('m')\nwith torch.no_grad():\n    for n in os.listdir('a')[:9]:\n        write(net(n))\n",
        False,
    ),
    "parts that nobody asks for": (DATA + "def parts_of(a):\n    return use(os.listdir(a)[:9])\nuse(torch)\n", False),
    "folders, where names are sorted": (
        DATA
        + "for r, d, names in os.walk('a'):\n    names.sort()\n    for n in names:\n        x.append(n)\ny = x[:9]\n",
        False,
    ),
    "what nobody calls": (DATA + "def data_in(a):\n    return [n for n in os.listdir(a)]\n", False),
    "a stream of data": (
        DATA + "class Data(torch.utils.data.IterableDataset):\n    def rows(self):\n"
        "        for n in os.listdir('a'):\n            yield from open(n)\n",
        True,
    ),
    "what is drawn": (DATA + "import random\nrandom.seed(1)\nname = random.choice(os.listdir('a'))\nuse(name)\n", True),
    "what is drawn by chance": (DATA + "import random\nname = random.choice(os.listdir('a'))\nuse(name)\n", False),
    "what is split by chance": (
        "import os\nimport random\nnames = os.listdir('a')\nchosen = random.sample(range(9), 3)\n"
        "open('b', 'w').write([names[i] for i in chosen])\n",
        False,
    ),
    "what is printed": ("import os\nnames = os.listdir('a')\nfor i in range(9):\n    print(names[i], i)\n", False),
    "results": (
        DATA + "def read_results(a):\n    return [load(n) for n in os.listdir(a)][:9]\nread_results(1)\n",
        False,
    ),
    "what a plotter reads": (
        DATA + "def run_plotter(a):\n    write([load(n) for n in os.listdir(a)][:9])\nrun_plotter(1)\n",
        False,
    ),
    "runs of a plot": (DATA + "def plot(a):\n    draw([load(n) for n in os.listdir(a)][:9])\nplot(1)\n", False),
    "what is written": ("import os\nnames = os.listdir('a')[:9]\nopen('b', 'w').write(names)\n", True),
}


@pytest.mark.parametrize(("text", "is_safe"), WHOSE_ORDER.values(), ids=WHOSE_ORDER)
def test_a_sorted_listing_is_safe_where_an_order_is_all_that_is_wanted(
    text: str, is_safe: bool, tmp_path: Path
) -> None:
    assert ("sorted(" in fixed(tmp_path, "TRP204", text)) is is_safe
    assert "sort" in fixed(tmp_path, "TRP204", text, unsafe=True)


@pytest.mark.parametrize(("name", "is_sorted"), [("deploy_model.py", False), ("serve.py", False), ("model.py", True)])
def test_a_program_that_serves_a_model_trains_nothing(name: str, is_sorted: bool, tmp_path: Path) -> None:
    (tmp_path / name).write_text(DATA + "for name in os.listdir('a')[:9]:\n    write(use(torch.load(name)))\n")
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP204"]})
    fix(Request((tmp_path,), resolver), unsafe=False, write=True)
    assert ("sorted(" in (tmp_path / name).read_text()) is is_sorted


@pytest.mark.parametrize(("package", "is_sorted"), [("torch", True), ("tensorflow", False)])
def test_a_notebook_without_torch_may_show_any_files(package: str, is_sorted: bool, tmp_path: Path) -> None:
    lines = ["import os\n", f"import {package}\n", "names = os.listdir('images')[:9]\n", "show(names)"]
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": lines}
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "show.ipynb").write_text(json.dumps(book))
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP204"]})
    fix(Request((tmp_path,), resolver), unsafe=False, write=True)
    assert ("sorted(" in (tmp_path / "show.ipynb").read_text()) is is_sorted


UNPACKED = """\
import argparse

import torch
from torch.utils.data import DataLoader, DistributedSampler


def load(dataset, args):
    sampler = DistributedSampler(dataset) if args.distributed else None
    loader = DataLoader(dataset, sampler=sampler, shuffle=sampler is None)
    return loader, DataLoader(dataset)


def train(loaders, model):
    train_loader, test_loader = loaders
    for epoch in range(9):
        for batch in train_loader:
            model.step(batch)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--distributed", action="store_true")
    loaders = load(open("items.txt"), parser.parse_args())
    train(loaders, make_model())
"""


@pytest.mark.parametrize(
    ("other", "is_fixed"), [("train(1)\n", True), ("from train import train\n\ntrain(*given())\n", False)]
)
def test_a_loader_that_unseen_callers_pass_in_a_tuple_may_be_several(
    other: str, is_fixed: bool, tmp_path: Path
) -> None:
    for number in range(60):  # more than are read
        (tmp_path / f"other{number}.py").write_text(other)
    assert ("set_epoch" in fixed(tmp_path, "TRP301", UNPACKED)) is is_fixed


@pytest.mark.parametrize("is_shuffled", [True, False])
def test_workers_get_no_generator_where_no_caller_shuffles(tmp_path: Path, is_shuffled: bool) -> None:
    text = (
        "import random\nimport torch\nfrom torch.utils.data import *\n\n\nclass Rows(Dataset):\n"
        "    def __getitem__(self, index):\n        return random.random()\n\n\ndef load(is_train=True):\n"
        "    shuffle = is_train\n    return DataLoader(Rows(), 4, shuffle=shuffle, num_workers=2)\n\n\n"
        f"torch.manual_seed(0)\nloader = load(is_train={is_shuffled})\nfor row in loader:\n    model(row).backward()\n"
    )
    assert ("generator=" in fixed(tmp_path, "TRP202", text)) is is_shuffled


def test_a_split_beside_a_loader_has_a_generator_of_another_name(tmp_path: Path) -> None:
    text = HEAD + "while True:\n    a, b = random_split(d, [3, 3])\n    DataLoader(a, shuffle=True)\n"
    assert "generator=split_generator)" in fixed(tmp_path, "TRP203", text, unsafe=True)


STEP_LATER = "run(loader)\ndef step():\n    model(x).backward()\n"  # not called now


@pytest.mark.parametrize(("last", "is_safe"), [("run(loader)\n", False), (STEP, True), (STEP_LATER, True)])
def test_a_notebook_that_trains_nothing_may_measure_its_loaders(last: str, is_safe: bool, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    runs = "def run(loader):\n    for batch in loader:\n        pass\n"
    sources = [HEAD, runs, "torch.manual_seed(0)\nloader = DataLoader(d, shuffle=True)\n", last]
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": source} for source in sources]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP201"]})
    fix(Request((tmp_path,), resolver), unsafe=False, write=True)
    assert ("generator=" in (tmp_path / "a.ipynb").read_text()) is is_safe


def test_a_loader_that_is_only_looked_at_takes_no_number_from_the_next(tmp_path: Path) -> None:
    shown = "first = DataLoader(d, 8, shuffle=True)\nprint(next(iter(first)))\n"
    text = f"{HEAD}torch.manual_seed(42)\n{shown}loader = DataLoader(e, 8, shuffle=True)\n{STEP}\n"
    assert "(e, 8, shuffle=True, generator=torch.Generator().manual_seed(42))" in fixed(tmp_path, "TRP201", text)


def test_no_import_is_put_below_a_comment_that_names_another(tmp_path: Path) -> None:
    head = "# For arrays\nimport math\nimport numpy as np\n\n# Import JAX\nimport jax\nimport jax.numpy as jnp\n\n"
    text = f"{head}class Rows:\n    pass\n\n\nfrom torch.utils import data\n\ndata.DataLoader(d, shuffle=True)\n"
    after = fixed(tmp_path, "TRP201", text, unsafe=True)
    assert "import numpy as np\nimport torch\n\n# Import JAX\nimport jax\n" in after


def test_files_that_import_from_one_another_share_one_function_that_seeds_workers(tmp_path: Path) -> None:
    data_set = "class Noisy(Dataset):\n    def __getitem__(self, i):\n        return np.random.normal()\n"
    loads = "def {}():\n    return DataLoader(Noisy(), num_workers=4)\n{}()\n"
    (tmp_path / "requirements.txt").write_text("torch==1.8.0\n")
    (tmp_path / "kinds.py").write_text(HEAD + "import numpy as np\n" + data_set + loads.format("first", "first"))
    (tmp_path / "data_utils.py").write_text(HEAD + "from kinds import Noisy\n" + loads.format("second", "second"))
    text = HEAD + "from kinds import Noisy\nfrom data_utils import second\n" + loads.format("third", "third")
    after = fixed(tmp_path, "TRP202", text, unsafe=True)
    shared = (tmp_path / "data_utils.py").read_text()
    assert "from data_utils import second, seed_worker\n" in after
    assert shared.count("def seed_worker") == 1
    assert "import Noisy\n" in shared
