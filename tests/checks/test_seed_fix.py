"""Where the fix of TRP101 seeds a program, and where a person has to decide."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchrepro_lint import cards
from torchrepro_lint.engine import Request, check
from torchrepro_lint.repair import fix
from torchrepro_lint.settings import SettingsResolver

NOISE = """\
import torch
from accelerate import Accelerator

accelerator = Accelerator()
model, optimizer = accelerator.prepare(torch.nn.Linear(4, 4), None)
for batch in torch.ones(8, 2, 4):
    {draw}
    accelerator.backward(model(batch).sum())
    optimizer.step()
"""


def request(folder: Path, text: str) -> Request:
    (folder / "pyproject.toml").write_text("")
    (folder / "train.py").write_text(text)
    return Request((folder,), SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP101"]}))


def fixes(folder: Path, text: str) -> list[bool]:
    """Whether each finding of TRP101 has a fix that is safe."""
    return [f.fix is not None and f.fix.safety == "safe" for f in check(request(folder, text)).findings]


def fixed(folder: Path, text: str, *, unsafe: bool = False) -> str:
    """The text after the safe fix."""
    fix(request(folder, text), unsafe=unsafe, write=True)
    return (folder / "train.py").read_text()


@pytest.mark.parametrize(("draw", "fixed"), [("batch += torch.randn_like(batch)", False), ("pass", True)])
def test_ranks_keep_the_noise_that_each_draws(draw: str, fixed: bool, tmp_path: Path) -> None:
    """One constant for all of them would give every process the same noise."""
    assert fixes(tmp_path, NOISE.format(draw=draw)) == [fixed]


GROUP = """\
import os

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

{before}
dist.init_process_group("gloo")
model = torch.nn.Linear(4, 4)
loader = DataLoader(data, {shuffle})
for batch in loader:
    model(batch).sum().backward()
"""


def test_ranks_that_shuffle_all_samples_keep_orders_of_their_own(tmp_path: Path) -> None:
    """With one seed, each of them would train on the same batches."""
    assert "torch.manual_seed(rank)" in fixed(tmp_path, GROUP.format(before="", shuffle="shuffle=True"))
    sharing = "shuffle=(sampler is None), sampler=sampler"
    assert "torch.manual_seed(0)" in fixed(tmp_path, GROUP.format(before="", shuffle=sharing))


UNSEEN = """\
import torch
import torch.distributed as dist
{imports}
dist.init_process_group("gloo")
{draw}
model = {model}
for batch in loader:
    model(batch).sum().backward()
"""
SAMPLES = """
class Samples(torch.utils.data.Dataset):
    def __getitem__(self, index):
        return torch.ones(4) + torch.randn(4)


loader = torch.utils.data.DataLoader(Samples())
"""
BATCHES = """
class Worker:
    def batches(self):
        for _ in range(9):
            yield torch.randn(4, 4)


loader = Worker().batches()
"""
LATENTS = UNSEEN.replace("model(batch)", "model(torch.randn(4, 4))")


def test_ranks_that_draw_latents_again_and_again_keep_theirs_whatever_they_draw_once(tmp_path: Path) -> None:
    text = LATENTS.format(imports="", draw="start = torch.randn(5, 4)", model="torch.nn.Linear(4, 4)")
    assert "torch.manual_seed(rank)" in fixed(tmp_path, text)


@pytest.mark.parametrize(
    ("imports", "draw", "model", "fixed"),
    [
        ("", "", "torch.nn.Linear(4, 4)", True),
        ("from flows import Flow", "", "Flow(torch.nn.Linear(4, 4))", False),  # it may make noise as it is trained
        ("import fsspec", "data = fsspec.open('a')", "torch.nn.Linear(4, 4)", True),
        ("", "start = torch.rand(5, 2)", "torch.nn.Linear(4, 4)", False),  # its own, or the same in all of them?
        ("", SAMPLES, "torch.nn.Linear(4, 4)", True),
        ("", BATCHES, "torch.nn.Linear(4, 4)", False),
        (
            "from torch.utils.data import TensorDataset",
            "data = TensorDataset(torch.rand(64, 4))",
            "torch.nn.Linear(4, 4)",
            True,
        ),
    ],
)
def test_a_person_says_what_ranks_share_where_it_cannot_be_seen(
    imports: str, draw: str, model: str, fixed: bool, tmp_path: Path
) -> None:
    assert fixes(tmp_path, UNSEEN.format(imports=imports, draw=draw, model=model)) == [fixed]


def test_a_rank_that_the_program_puts_into_the_environment_itself_is_not_there_yet(tmp_path: Path) -> None:
    text = GROUP.format(before='os.environ["RANK"] = str(find_rank())', shuffle="shuffle=True")
    assert fixes(tmp_path, text) == [False]


def test_ranks_that_one_launcher_numbers_by_another_variable_do_not_augment_alike(tmp_path: Path) -> None:
    slurm = 'import os\n\nos.environ["RANK"] = {}'
    for rank, is_safe in (('os.environ["SLURM_PROCID"]', False), ('"0"', True)):
        samples = SAMPLES.replace("torch.ones(4)", "self.rows[index]")
        text = UNSEEN.format(imports=slurm.format(rank), draw=samples, model="torch.nn.Linear(4, 4)")
        assert fixes(tmp_path, text) == [is_safe]


STARTED = """\
import torch
import torch.multiprocessing as mp


def train(first, model):
    for _ in range(9):
        model(torch.randn(4, 4)).sum().backward()


def watch(rank):
    print(rank)


if __name__ == "__main__":
    torch.manual_seed(0)
    {start}
"""


def test_only_what_spawn_runs_is_given_its_number(tmp_path: Path) -> None:
    spawned = fixed(tmp_path, STARTED.format(start="mp.spawn(train, args=(torch.nn.Linear(4, 4),), nprocs=2)"))
    assert "torch.manual_seed(first)" in spawned
    start = "mp.set_start_method('spawn')\n    mp.spawn(watch, nprocs=2)\n"
    start += "    mp.Process(target=train, args=(8, torch.nn.Linear(4, 4))).start()"
    assert fixes(tmp_path, STARTED.format(start=start)) == [False]


COMMANDS = """\
import argparse
import random

import torch


def common(parser):
    parser.add_argument('--seed', type=int, default=3)


def train(args):
    torch.nn.Linear(4, 1)(d).sum().backward()


def main():
    parser = argparse.ArgumentParser()
    kinds = parser.add_subparsers({required})
    one = kinds.add_parser('train')
    common(one)
    one.set_defaults(run=train)
    two = kinds.add_parser('test')
    {two}
    two.set_defaults(run=print)
    args = parser.parse_args()
    args.run(args)


if __name__ == '__main__':
    main()
"""


SEEDS = "torch.manual_seed({0})\n"
BOTH = "random.seed({0})\n" + SEEDS
OPTIONS = """\
import argparse
import random

import torch

parser = argparse.ArgumentParser()
parser.add_argument('--seed', type=int{default})
args = parser.parse_args()
{seeds}torch.nn.Linear(4, 1)(d).sum().backward()
"""
PLACES = {
    "above the paragraph": (
        "import torch\n\nx = 1\n\n# the model\nw = 4\nmodel = torch.nn.Linear(w, 1)\nmodel(d).sum().backward()\n",
        "\n\ntorch.manual_seed(0)\n\n# the model\nw = 4\n",
    ),
    "not above the options": (
        OPTIONS.format(default=", default=3", seeds=""),
        "args = parser.parse_args()\n" + SEEDS.format("args.seed"),
    ),
    "an option that is off": (
        OPTIONS.format(default=", default=-1", seeds="if args.seed > -1:\n    torch.manual_seed(args.seed)\n"),
        "type=int, default=0)\nargs = parser.parse_args()\nif args.seed > -1:\n    torch.manual_seed(args.seed)\n",
    ),
    "after groups of options, and paths": (
        "import argparse, sys\nfrom pathlib import Path\n\nimport torch\n\n"
        "sys.path.append(str(Path(__file__).parent.parent.resolve()))\n\nif __name__ == '__main__':\n"
        "    parser = argparse.ArgumentParser()\n    kinds = parser.add_subparsers()\n"
        "    kinds.add_parser('a').add_argument('-b')\n    parser.parse_args()\n"
        "    torch.nn.Linear(4, 1)(d).sum().backward()\n",
        "    parser.parse_args()\n    torch.manual_seed(0)\n",
    ),
    "the seed of all commands": (
        COMMANDS.format(required="required=True", two="common(two)"),
        "    torch.manual_seed(args.seed)\n    args.run(args)\n",
    ),
    "the seed of the parser of commands": (
        COMMANDS.format(required="", two="common(parser.add_argument_group())"),
        "    torch.manual_seed(args.seed)\n    args.run(args)\n",
    ),
    "before what an option names": (
        "import argparse\nimport torch\nfrom work import run\n\nparser = argparse.ArgumentParser()\n"
        "parser.set_defaults(run=run)\nargs = parser.parse_args()\nargs.run()\n"
        "torch.nn.Linear(4, 1)(d).sum().backward()\n",
        "args = parser.parse_args()\n" + BOTH.format(0) + "args.run()\n",
    ),
    "above the first lines of the guard": (
        "import torch\n\nif __name__ == '__main__':\n    size = 4\n    model = torch.nn.Linear(size, 1)\n"
        "    model(d).sum().backward()\n",
        "if __name__ == '__main__':\n    torch.manual_seed(0)\n    size = 4\n",
    ),
    "above constants with a comment of others": (
        "import torch\n\nif __name__ == '__main__':\n    names = ['a']\n    # names = ['b']\n    for name in names:\n"
        "        torch.nn.Linear(4, 1)(d).sum().backward()\n",
        "if __name__ == '__main__':\n    torch.manual_seed(0)\n    names = ['a']\n    # names",
    ),
    "above code that is commented out": (
        "import torch\n\nif __name__ == '__main__':\n    # try_out()\n\n    # show()\n"
        "    torch.nn.Linear(4, 1)(d).sum().backward()\n",
        "if __name__ == '__main__':\n    torch.manual_seed(0)\n\n    # try_out()\n\n    # show()\n",
    ),
    "above code in quotes": (
        'import torch\n\nif __name__ == \'__main__\':\n    """\n    x = 1\n    """\n'
        "    torch.nn.Linear(4, 1)(d).sum().backward()\n",
        'if __name__ == \'__main__\':\n    torch.manual_seed(0)\n    """\n',
    ),
    "not between options": (
        "import argparse\nimport multiprocessing as mp\nimport random\n\nimport torch\n\nif __name__ == '__main__':\n"
        "    parser = argparse.ArgumentParser()\n"
        "    parser.add_argument('--workers', type=int, default=mp.cpu_count() - 1)\n"
        "    parser.add_argument('--port', type=int, default=random.randint(0, 9))\n    args = parser.parse_args()\n"
        "    torch.nn.Linear(4, 1)(d).sum().backward()\n",
        "    args = parser.parse_args()\n    torch.manual_seed(0)\n",
    ),
    "below the text of a gallery": (
        "import torch\n\n# %%\n# The model\n# ---------\n# We make a model.\nmodel = torch.nn.Linear(4, 1)\n"
        "model(d).sum().backward()\n",
        "# We make a model.\ntorch.manual_seed(0)\nmodel = ",
    ),
    "after a logger, the handler of a signal and an import that may fail": (
        "import signal\n\nimport torch\nfrom structlog import get_logger\n\n"
        "try:\n    import apex\nexcept ImportError:\n    raise ImportError('no apex')\n\n"
        "log = get_logger()\n\n\ndef stop(number, frame):\n    log.info('stopped')\n\n\n"
        "signal.signal(signal.SIGINT, stop)\n\n"
        "if __name__ == '__main__':\n    torch.nn.Linear(4, 1)(d).sum().backward()\n",
        "if __name__ == '__main__':\n    random.seed(0)\n",
    ),
    "after a drive that is mounted, and a login": (
        "import torch\nfrom google.colab import drive, userdata\nfrom huggingface_hub import login\n\n"
        "drive.mount('/content')\nlogin(userdata.get('TOKEN'))\n\ntorch.nn.Linear(4, 1)(d).sum().backward()\n",
        "login(userdata.get('TOKEN'))\n\n" + SEEDS.format(0) + "torch.nn.Linear",
    ),
    "below the comment that heads a marked cell": (
        "# %%\n# by A. Person\nimport torch\nfrom company import d\n\n# %%\nsize = 4\n"
        "model = torch.nn.Linear(size, 1)\nmodel(d).sum().backward()\n",
        "# %%\n# by A. Person\nimport random\n\nimport torch\nfrom company import d\n\n# %%\n"
        + BOTH.format(0)
        + "\nsize = 4\n",
    ),
    "after options that a trainer and a model add": (
        "from argparse import ArgumentParser\n\nimport torch\n"
        "from pytorch_lightning import LightningModule, Trainer\n\n\nclass Net(LightningModule):\n    @staticmethod\n"
        "    def add_model_specific_args(parent):\n        parser = ArgumentParser(parents=[parent], add_help=False)\n"
        "        parser.add_argument('--size')\n"
        "        return parser\n\n\ndef options():\n    parser = ArgumentParser()\n"
        "    parser = Net.add_model_specific_args(parser)\n    parser = Trainer.add_argparse_args(parser)\n"
        "    return parser\n\n\nif __name__ == '__main__':\n    args = options().parse_args()\n"
        "    torch.nn.Linear(4, 1)(d).sum().backward()\n",
        "    args = options().parse_args()\n    seed_everything(0)\n",
    ),
    "the seed among the settings": (
        "import torch\n\nsettings = {'lr': 0.1, 'seed': 7}\nlr = settings['lr']\n"
        "torch.nn.Linear(4, 1)(d).sum().backward()\n",
        SEEDS.format("settings['seed']"),
    ),
    "after what reads options and opens a log": (
        "import torch\nfrom docopt import docopt\nfrom torch.utils.tensorboard import SummaryWriter\n\nseed = 5\n"
        "if __name__ == '__main__':\n    args = docopt(__doc__)\n    log = SummaryWriter('a')\n"
        "    torch.nn.Linear(4, 1)(d).sum().backward()\n",
        "    log = SummaryWriter('a')\n    torch.manual_seed(seed)\n",
    ),
}


@pytest.mark.parametrize(("text", "wanted"), PLACES.values(), ids=PLACES)
def test_it_is_written_where_an_expert_would(text: str, wanted: str, tmp_path: Path) -> None:
    assert wanted in fixed(tmp_path, text)


UNCLEAR = {
    "an option that is never read": OPTIONS.format(default="", seeds=""),
    "the seed of one command": COMMANDS.format(required="required=True", two="two.add_argument('path')"),
    "a command may be left out": COMMANDS.format(required="", two="common(two)"),
    "settings that others change": "import torch\n\nsettings = {'lr': 0.1, 'seed': 7}\ndel settings['seed']\n"
    "torch.nn.Linear(4, 1)(d).sum().backward()\n",
    "its name is another thing's": "import torch, company\nfrom random import *\n\n"
    "torch.nn.Linear(4, 1)(d).sum().backward()\n",
    "between imports": "import torch\n\ndata = load()\nimport os\ntorch.nn.Linear(4, 1)(d).sum().backward()\n",
    "the program seeds by itself, too late": "import torch\n\n\ndef train():\n    if torch.cuda.is_available():\n"
    "        torch.cuda.manual_seed(3)\n    else:\n        torch.manual_seed(4)\n"
    "    torch.nn.Linear(4, 1)(d).sum().backward()\n\n\nif __name__ == '__main__':\n    train()\n",
    "its author turned one off": "import torch\n\n# torch.manual_seed(1)\ntorch.nn.Linear(4, 1)(d).sum().backward()\n",
    "among calls that belong together": "import argparse\nimport torch\n\n\ndef show(args):\n    print(args)\n\n\n"
    "if __name__ == '__main__':\n    args = argparse.ArgumentParser().parse_args()\n\n    show(args)\n    work(args)\n"
    "    torch.nn.Linear(4, 1)(d).sum().backward()\n",
    "below a heading": "import torch\n\nsize = 4\n# ## Data\n\nx = load()\ntorch.nn.Linear(4, 1)(x).backward()\n",
    "below an import among other code": "import torch\n\nx = 1\n\nimport jobs\njob = jobs.Job(x)\njob.name = 'a'\n"
    "torch.nn.Linear(4, 1)(d).sum().backward()\n",
    "among assignments that belong together": "import os\nimport torch\n\nif __name__ == '__main__':\n"
    "    os.makedirs('a')\n    log = open('a/log')\n    model = torch.nn.Linear(4, 1)\n    model(d).sum().backward()\n",
    "the options are read further down": "import argparse\nimport torch\nfrom tools import prepare\n\nprepare()\n"
    "args = argparse.ArgumentParser().parse_args()\ntorch.nn.Linear(4, 1)(d).sum().backward()\n",
    "the seed of one thing": "import argparse\nimport random\n\nimport torch\n\nparser = argparse.ArgumentParser()\n"
    "parser.add_argument('--split-seed', type=int, default=3)\nargs = parser.parse_args()\n"
    "random.seed(args.split_seed)\ntorch.nn.Linear(4, 1)(d).sum().backward()\n",
    "tried out once on made-up input": "import torch\n\nx = torch.randn(2, 4)\n"
    "torch.nn.Linear(4, 1)(x).sum().backward()\n",
    "tried out below a class": "import torch\n\n\nclass Net(torch.nn.Linear):\n    pass\n\n\n"
    "if __name__ == '__main__':\n    net, x = Net(4, 1), torch.randn(2, 4)\n    for _ in range(500):\n"
    "        net(x).sum().backward()\n",
    "it seeds if its number is not 0": "import torch\n\nseed = 0\nif seed:\n    torch.manual_seed(seed)\n"
    "torch.nn.Linear(4, 1)(d).sum().backward()\n",
    "it seeds others with what torch has": "import random\nimport torch\n\nseed = torch.initial_seed()\n"
    "random.seed(seed)\nother = seed % 2**32\nrandom.seed(other)\n"
    "torch.nn.Linear(4, 1)(d * random.random()).sum().backward()\n",
    "below the choice of what is imported": "import sys\nimport torch\n\nif __name__ == '__main__':\n"
    "    torch.cuda.set_device(1)\n    if sys.argv[1:]:\n        from wide import data\n    else:\n"
    "        from deep import data\n    torch.nn.Linear(4, 1)(data).sum().backward()\n    print('done')\n",
    "its method has the name of a function that trains": "import torch\n\n\ndef train(model, d):\n"
    "    model(d).sum().backward()\n\n\nmodel = torch.nn.Linear(4, 1)\nmodel.load_state_dict(torch.load('m'))\n"
    "model.train(False)\ntorch.save(model(torch.rand(4)), 'y')\n",
    "a seed that is undone": "import random\nimport torch\n\nrandom.seed(3)\nrandom.seed()\n"
    "torch.nn.Linear(4, 1)(d * random.random()).sum().backward()\n",
    "no gradient is computed": "import torch\n\nmodel = torch.nn.Linear(4, 1)\n"
    "optimizer = torch.optim.Adam(model.parameters())\nfor _ in range(9):\n    optimizer.zero_grad()\n"
    "    optimizer.step()\n    print(optimizer.param_groups)\n",
    "processes share its model": "import torch\nfrom torch import multiprocessing as mp\n\n\ndef work(model):\n"
    "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n    model(torch.rand(2, 4)).sum().backward()\n"
    "    optimizer.step()\n\n\nif __name__ == '__main__':\n    model = torch.nn.Linear(4, 1)\n"
    "    model.share_memory()\n    for _ in range(4):\n        mp.Process(target=work, args=(model,)).start()\n",
    "among lines with a test between them": "import torch\nfrom data import Loader\n\nif __name__ == '__main__':\n"
    "    torch.cuda.set_device(1)\n    loader = Loader('d')\n    if len(loader) > 9:\n        print('long')\n"
    "    x = loader.next() + torch.rand(4)\n    torch.nn.Linear(4, 1)(x).sum().backward()\n    print('done')\n",
    "a library launches it": "import torch\nfrom engines import launch\n\n\ndef main():\n"
    "    torch.nn.Linear(4, 1)(d).sum().backward()\n\n\nif __name__ == '__main__':\n    launch(main, 2)\n",
    "nothing is trained": "import torch\n\nmodel = torch.load('m.pt')\ntorch.save(model(torch.randn(4)), 'x.pt')\n",
    "who seeds is warned": "import argparse\nimport random\nimport warnings\nimport torch\n\n"
    "parser = argparse.ArgumentParser()\nparser.add_argument('--seed', type=int, default=None)\n"
    "args = parser.parse_args()\nif args.seed is not None:\n    random.seed(args.seed)\n"
    "    torch.manual_seed(args.seed)\n    warnings.warn('slow')\ntorch.nn.Linear(4, 1)(d).sum().backward()\n",
}


def test_parameters_that_ranks_have_parts_of_are_not_seeded_by_rank(tmp_path: Path) -> None:
    imports = "from torch.distributed.fsdp import fully_shard\n"
    text = UNSEEN.format(imports=imports, draw="torch.rand(4)", model="fully_shard(torch.nn.Linear(4, 4))")
    assert fixes(tmp_path, text) == [False]


def test_it_stands_above_what_is_told_of_the_work_below(tmp_path: Path) -> None:
    text = "import torch\n\nbest = 0\n\nprint('==> Preparing data..')\n\nmodel = torch.nn.Linear(4, 1)\n"
    text += "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nfor d in torch.load('d.pt'):\n"
    text += "    model(d).sum().backward()\n    optimizer.step()\n"
    assert "best = 0\n\ntorch.manual_seed(0)\n\nprint(" in fixed(tmp_path, text)


def test_it_is_written_by_the_name_that_the_file_uses(tmp_path: Path) -> None:
    text = "import random, numpy\nimport numpy as np\nimport torch\n\nd = np.random.rand(4)\n"
    text += "torch.nn.Linear(4, 1)(torch.tensor(d)).sum().backward()\n"
    assert "np.random.seed(0)\n" in fixed(tmp_path, text).replace("numpy.random", "")


@pytest.mark.parametrize("text", UNCLEAR.values(), ids=UNCLEAR)
def test_what_is_not_clear_is_for_a_person(text: str, tmp_path: Path) -> None:
    """Which seed, where, or whether the program wants one."""
    assert fixes(tmp_path, text) == [False]
    assert "manual_seed(" in fixed(tmp_path, text, unsafe=True)


@pytest.mark.parametrize(("read", "is_safe"), [("self.seed", True), ("self.config.seed", False)])
def test_what_a_layer_calls_its_seed_is_not_the_programs(read: str, is_safe: bool, tmp_path: Path) -> None:
    """Its settings may have that."""
    layer = f"class Layer(torch.nn.Linear):\n    def forward(self, x):\n        return super().forward(x) + {read}\n"
    assert fixes(tmp_path, f"import torch\n\n\n{layer}\n\nLayer(4, 1)(d).sum().backward()\n") == [is_safe]


@pytest.mark.parametrize(
    ("later", "seeded"),
    [
        ("print(2)", 4),
        ("print(layer)", 4),
        ("show(layer, data)", 4),
        ("change(data)", None),
        ("data = layer(1)", 2),
        ("data[0] = layer(1)", 2),
        ("data.scale = layer(1)", 2),
        ("torch.nn.init.normal_(data.weight)", 3),
    ],
)
def test_the_seeds_of_a_notebook_stand_where_its_training_begins(
    later: str, seeded: int | None, tmp_path: Path
) -> None:
    """Below cells that only show what was defined; not where a function of the project may change what is trained with
    above the seeds, which is for a person."""
    train = "net = block()\noptimizer = torch.optim.SGD(net.parameters(), 1)\n"
    train += "for x in data:\n    net(x).sum().backward()\n    optimizer.step()"
    layer = "def block():\n    return torch.nn.Linear(4, 1)\n\n\ndef change(data):\n    data.append(torch.rand(4))"
    made = ["import torch\nfrom company import data, show", layer, "layer = block()", later, train]
    asked = request(tmp_path, "")
    book = notebook(tmp_path, "a.ipynb", *made)
    fix(asked, unsafe=False, write=True)
    cells = ["".join(cell["source"]) for cell in json.loads(book.read_text())["cells"]]
    assert [i for i, cell in enumerate(cells) if "manual_seed(" in cell] == ([] if seeded is None else [seeded])
    again = book.read_text()
    fix(asked, unsafe=False, write=True)
    assert book.read_text() == again


def test_a_notebook_that_takes_a_step_to_see_that_it_works_is_for_a_person(tmp_path: Path) -> None:
    book = "from layers import Wide\n\nmodel = Wide()\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
    lines = [
        "import torch\n",
        *book.splitlines(keepends=True),
        "model(torch.rand(4)).sum().backward()\n",
        "optimizer.step()",
    ]
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": lines}
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "layers.py").write_text("import torch\n\n\nclass Wide(torch.nn.Linear):\n    pass\n")
    text = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    (tmp_path / "try.ipynb").write_text(text)
    asked = Request((tmp_path,), SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP101"]}))
    fix(asked, unsafe=False, write=True)
    assert (tmp_path / "try.ipynb").read_text() == text


LEARNS = """\
import random

import torch
from x_transformers import TransformerWrapper


class Learner:
    def __init__(self):
        self.model = TransformerWrapper(num_tokens=9)
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def train(self, batches):
        for _ in range(9):
            self.model(torch.tensor(random.choice(batches))).sum().backward()
            self.optimizer.step()
"""


def test_a_notebook_whose_training_is_in_another_file_seeds_torch_as_well(tmp_path: Path) -> None:
    asked = request(tmp_path, "")
    (tmp_path / "learning.py").write_text(LEARNS)
    book = notebook(
        tmp_path, "a.ipynb", "from learning import Learner\n\nlearner = Learner()\nlearner.train([[1.0], [2.0]])"
    )
    fix(asked, unsafe=False, write=True)
    after = "".join(json.loads(book.read_text())["cells"][0]["source"])
    assert "random.seed(0)\ntorch.manual_seed(0)\n" in after


def test_a_module_is_called_by_another_name_where_a_star_import_has_its_own(tmp_path: Path) -> None:
    """`from random import *` brings `random.random`."""
    after = fixed(tmp_path, UNCLEAR["its name is another thing's"], unsafe=True)
    assert "import random as _random\n" in after
    assert "\n_random.seed(0)\n" in after


LAUNCHED = """\
import argparse
import os
import random

import numpy as np
import torch


def join(args):
    if "WORLD_SIZE" not in os.environ{or_seed}:
        return False
    torch.manual_seed(args.seed)
    torch.distributed.init_process_group("nccl")
    return True


def main(args):
    join(args)
    model = torch.nn.Linear(4, 4)
    views = random.sample(range(9), 9)
    model(torch.tensor(np.random.permutation(views)[:4]).float()).sum().backward()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=42)
    args = parser.parse_args()
    main(args)
"""


def test_a_seed_that_a_launcher_decides_on_is_not_enough(tmp_path: Path) -> None:
    """What stands below it would be left out where the program runs without one."""
    after = fixed(tmp_path, LAUNCHED.format(or_seed=""), unsafe=True)
    assert "args = parser.parse_args()\n    random.seed(args.seed)\n" in after
    assert after.count("torch.manual_seed(args.seed)") == 2


CONFIGURED = """\
{imports}
import torch
from torch.utils.data import DataLoader


def batches(config):
    return DataLoader(data, shuffle=config["shuffle"])


{decorator}def main({parameter}):
{read}
    loader = batches(config)
    for x in loader:
        torch.nn.Linear(config{rate}, 1)(x).sum().backward()


if __name__ == "__main__":
    main()
"""
OPTION = "    parser = argparse.ArgumentParser()\n    parser.add_argument('--path', default='run.yml')\n"
OPTION += "    args = parser.parse_args()\n"
FILE = "    with open({path}) as file:\n        config = yaml.safe_load(file)\n"


@pytest.mark.parametrize(
    ("imports", "decorator", "parameter", "read", "rate", "wanted"),
    [
        ("import yaml", "", "", FILE.format(path="'run.yml'"), "['rate']", 'torch.manual_seed(config["seed"])'),
        (
            "import hydra",
            "@hydra.main(config_path='run.yml')\n",
            "config",
            "",
            ".rate",
            'seed = config.get("seed") or 0\n    random.seed(seed)\n',
        ),
        ("import yaml", "", "", FILE.format(path="'run.yml'") + "    print(config.items())", "", "manual_seed(0)"),
        # another file may have no seed
        (
            "import argparse, yaml",
            "",
            "",
            OPTION + FILE.format(path="args.path"),
            "['rate']",
            "torch.manual_seed(config.get('seed') or 0)\n",
        ),
        ("import argparse, yaml", "", "", OPTION + FILE.format(path="args.path"), ".rate", "torch.manual_seed(0)"),
    ],
)
def test_the_seed_in_a_configuration_file_is_the_program_s_own(
    imports: str, decorator: str, parameter: str, read: str, rate: str, wanted: str, tmp_path: Path
) -> None:
    (tmp_path / "run.yml").write_text("rate: 3\nseed: 7\nshuffle: true\n")
    text = CONFIGURED.format(imports=imports, decorator=decorator, parameter=parameter, read=read, rate=rate)
    assert wanted in fixed(tmp_path, text, unsafe=" or " in wanted or "(0)" in wanted)


def test_a_seed_in_a_function_of_another_file_that_does_other_work_gets_none_beside_it(tmp_path: Path) -> None:
    tasks = "import random\n\n\ndef make_tasks(all):\n    random.seed(1)\n    random.shuffle(all)\n    return all\n"
    (tmp_path / "tasks.py").write_text(tasks)
    text = "import torch\n\nfrom tasks import make_tasks\n\nall = make_tasks(d)\n"
    text += "torch.nn.Linear(4, 1)(d).sum().backward()\n"
    assert "torch.manual_seed(1)" in fixed(tmp_path, text)
    assert (tmp_path / "tasks.py").read_text() == tasks


def test_it_stands_below_the_import_of_a_file_that_seeds_another_generator(tmp_path: Path) -> None:
    (tmp_path / "samples.py").write_text("import random\n\nrandom.seed(42)\n")
    text = "import torch\n\nimport samples\nimport os\n\ntorch.nn.Linear(4, 1)(d).sum().backward()\n"
    assert "import os\n\ntorch.manual_seed(42)\n" in fixed(tmp_path, text)


HOOK = """\
import argparse

import torch
from lightning import LightningModule

parser = argparse.ArgumentParser()
parser.add_argument('--seed', type=int)
args = parser.parse_args()


def work():
    if args.seed is not None:
        torch.manual_seed(args.seed)
    torch.nn.Linear(4, 1)(d).sum().backward()


class Net(LightningModule):
    def training_epoch_end(self, outputs):
        {hook}()


if __name__ == '__main__':
    work()
"""


@pytest.mark.parametrize(("hook", "is_on"), [("work", False), ("print", True)])
def test_an_option_that_seeds_again_and_again_stays_off(hook: str, is_on: bool, tmp_path: Path) -> None:
    """On by default, it would give each epoch the same numbers."""
    after = fixed(tmp_path, HOOK.format(hook=hook), unsafe=not is_on)
    assert ("type=int, default=0" in after) is is_on
    assert ("random.seed(" if is_on else "seed_everything(args.seed or 0)") in after


def test_workers_of_ray_have_generators_of_their_own(tmp_path: Path) -> None:
    assert fixes(tmp_path, "import ray\nimport torch\n\ntorch.nn.Linear(4, 1)(d).sum().backward()\n") == [False]


@pytest.mark.parametrize(("mapped", "is_fixed"), [("pool.imap(mix, range(9))", False), ("map(mix, range(9))", True)])
def test_workers_of_a_pool_have_states_of_their_own(mapped: str, is_fixed: bool, tmp_path: Path) -> None:
    """A seed of the program repeats neither what a forked worker draws nor which tasks it gets."""
    text = (
        "import random\nfrom multiprocessing import Pool\n\nimport torch\n\n\ndef mix(number):\n"
        "    torch.save(torch.ones(4) * random.random(), str(number))\n\n\n"
        f"with Pool(4) as pool:\n    list({mapped})\n"
    )
    assert ("random.seed(0)" in fixed(tmp_path, text, unsafe=True)) is is_fixed


def test_a_process_whose_seed_is_off_by_default_gets_the_default(tmp_path: Path) -> None:
    text = (
        "import argparse\n\nimport torch\nimport torch.multiprocessing as mp\n\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--seed', default=None, type=int)\n\n\ndef work(rank, args):\n"
        "    if args.seed is not None:\n        torch.manual_seed(args.seed)\n"
        "    torch.nn.Linear(4, 1)(torch.ones(4)).sum().backward()\n\n\nif __name__ == '__main__':\n"
        "    mp.spawn(work, nprocs=2, args=(parser.parse_args(),))\n"
    )
    assert fixed(tmp_path, text) == text.replace("default=None", "default=0")


def test_its_imports_stand_above_it_where_it_stands_between_imports(tmp_path: Path) -> None:
    (tmp_path / "conf.py").write_text("import torch\n\nNOISE = torch.randn(8, 4)\n")
    text = fixed(
        tmp_path,
        "import torch\nfrom conf import NOISE\nfrom toolz import pipe\n"
        "for _ in range(9):\n    pipe(NOISE).backward()\n",
        unsafe=True,
    )
    assert text.index("import random") < text.index("random.seed(0)") < text.index("from conf import NOISE")


@pytest.mark.parametrize(
    "held",
    [
        "NETS = dict(small=make)\n",
        "if __name__ == '__main2__':\n    NETS = make()\n",
    ],
)
def test_what_a_module_only_holds_does_not_run_when_it_is_imported(tmp_path: Path, held: str) -> None:
    (tmp_path / "conf.py").write_text(f"import torch\n\n\ndef make():\n    return torch.nn.Linear(8, 4)\n\n\n{held}")
    imports = "import numpy\nimport torch\nfrom conf import make\nfrom math import log2\n"
    work = "net = make()\nfor batch in read():\n    net(batch).sum().backward()\n"
    assert fixed(tmp_path, imports + work).endswith("torch.manual_seed(0)\n\n" + work)


def test_a_seed_that_is_commented_out_is_taken_from_its_comment(tmp_path: Path) -> None:
    seeder = "def fix(seed):\n    np.random.seed(seed)\n    # random.seed(seed)\n    torch.manual_seed(seed)\n\n\n"
    text = f"import random\n\nimport numpy as np\nimport torch\n\n\n{seeder}fix(3)\nnet = torch.nn.Linear(4, 1)\n"
    text += "net(torch.ones(4) * random.random()).sum().backward()\n"
    assert fixed(tmp_path, text) == text.replace("# random.seed(seed)", "random.seed(seed)")


def test_an_import_from_a_package_stands_beside_another_from_it(tmp_path: Path) -> None:
    head = "import argparse\nimport torch\nfrom accelerate import Accelerator\nfrom torch import nn\n"
    text = fixed(tmp_path, f"{head}\nnn.Linear(4, 1)(Accelerator().gather(d)).sum().backward()\n")
    assert "from accelerate import Accelerator\nfrom accelerate.utils import set_seed\n" in text


CELLS = [
    "import numpy as np\n\ndef fix_seed():\n    np.random.seed(3)\n\nfix_seed()",
    "import torch\n\nnet = torch.nn.Linear(4, 1)\nsgd = torch.optim.SGD(net.parameters())\n"
    "for _ in range(9):\n    net(torch.ones(4)).sum().backward()\n    sgd.step()",
]


def test_a_cell_does_not_use_what_a_later_one_imports(tmp_path: Path) -> None:
    cells = [{"cell_type": "code", "metadata": {}, "source": c, "outputs": [], "execution_count": None} for c in CELLS]
    asked = request(tmp_path, "")
    book = tmp_path / "train.ipynb"
    book.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    fix(asked, unsafe=False, write=True)
    first = "".join(json.loads(book.read_text())["cells"][0]["source"])
    assert "torch.manual_seed(3)" in first
    assert "import torch" in first.partition("def ")[0]


def test_the_imports_of_two_cells_are_no_group(tmp_path: Path) -> None:
    sources = [
        "import numpy as np",
        "import os\n\nfrom torch import nn, optim\nimport toolz\n\n"
        "net = nn.Linear(4, 1)\noptimizer = optim.SGD(net.parameters())\n"
        "for _ in range(9):\n    net(toolz.first(np.ones(4))).sum().backward()\n    optimizer.step()",
    ]
    cells = [
        {"cell_type": "code", "metadata": {}, "source": c, "outputs": [], "execution_count": None} for c in sources
    ]
    asked = request(tmp_path, "")
    book = tmp_path / "train.ipynb"
    book.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    fix(asked, unsafe=False, write=True)
    second = "".join(json.loads(book.read_text())["cells"][1]["source"])
    assert second.startswith("import os\nimport random\n\nimport torch\nfrom torch import nn, optim\n")


def test_the_cell_that_seeds_imports_the_seeder_where_it_imports_from_there(tmp_path: Path) -> None:
    sources = [
        "from transformers import AutoTokenizer",
        "from transformers import AutoModelForSequenceClassification\n\n"
        "model = AutoModelForSequenceClassification.from_pretrained('bert-base-uncased')",
        "from transformers import Trainer\n\ntrainer = Trainer(model=model)\ntrainer.train()",
    ]
    cells = [
        {"cell_type": "code", "metadata": {}, "source": c, "outputs": [], "execution_count": None} for c in sources
    ]
    book = tmp_path / "train.ipynb"
    book.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP603"]})
    fix(Request((tmp_path,), resolver), unsafe=False, write=True)
    after = ["".join(cell["source"]) for cell in json.loads(book.read_text())["cells"]]
    assert after[0] == sources[0]
    assert after[1].startswith("from transformers import AutoModelForSequenceClassification, set_seed\n\nset_seed(0)\n")


OWN_DRAWS = """\
import numpy as np
import torch


class Split:
    def __init__(self, items):
        np.random.seed(0)
        np.random.shuffle(items)
        self.items = items


def main():
    items = Split(list(range(9))).items
    model = torch.nn.Linear(4, 1)
    model(torch.ones(4) * len(items)).sum().backward()


if __name__ == "__main__":
    main()
"""


def test_a_seed_for_the_draws_of_one_function_gets_none_beside_it(tmp_path: Path) -> None:
    text = fixed(tmp_path, OWN_DRAWS)
    assert "__main__" in text.partition("torch.manual_seed(0)")[0]


WORKERS = """\
import gym
import torch
import torch.multiprocessing as mp

env = gym.make("CartPole-v1")
{model}

class Worker(mp.Process):
    def run(self):
        print(torch.distributions.Categorical(torch.ones(2)).sample())


if __name__ == "__main__":
    torch.nn.Linear(4, 1)(d).sum().backward()
    [Worker().start() for _ in range(4)]
"""


def test_no_process_that_imports_the_file_again_is_seeded_with_its_constant(tmp_path: Path) -> None:
    text = fixed(tmp_path, WORKERS.format(model=""))
    assert "__main__" in text.partition("torch.manual_seed(0)")[0]
    assert fixes(tmp_path, WORKERS.format(model="start = torch.randn(4)\n")) == [False]


NUMBERED = """\
import os

import numpy as np
import torch
import torch.distributed as dist


def noisy(data):
    return data + {draw}


def train(rank):
    dist.init_process_group("gloo", rank=rank, world_size=2)
    model = torch.nn.Linear(4, 1)
    for batch in loader:
        model(noisy(batch)).sum().backward()


if __name__ == "__main__":
    train(int(os.environ["SLURM_PROCID"]))
"""


AS_THEY_LOAD = """

class Samples(torch.utils.data.Dataset):
    def __init__(self, change):
        self.change = change

    def __getitem__(self, index):
        return self.change(torch.ones(4))


def train(rank):
    loader = torch.utils.data.DataLoader(Samples(noisy))
"""


def test_ranks_keep_the_noise_of_a_function_that_their_data_set_is_given(tmp_path: Path) -> None:
    text = NUMBERED.replace("noisy(batch)", "batch").replace("\n\ndef train(rank):\n", AS_THEY_LOAD)
    assert fixes(tmp_path, text.format(draw="np.random.normal(0, 1, 4)")) == [False]


@pytest.mark.parametrize(("draw", "fixed"), [("np.random.normal(0, 1, 4)", False), ("1", True)])
def test_ranks_that_the_program_numbers_keep_their_noise(draw: str, fixed: bool, tmp_path: Path) -> None:
    assert fixes(tmp_path, NUMBERED.format(draw=draw)) == [fixed]


MADE_UP = """\
import torch
import torch.distributed as dist


class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return {sample}


dist.init_process_group("gloo")
model = torch.nn.Linear(4, 4)
sampler = torch.utils.data.DistributedSampler(Samples())
for batch in torch.utils.data.DataLoader(Samples(), sampler=sampler):
    model(batch).sum().backward()
"""


@pytest.mark.parametrize("sample", ["torch.randn(4)", "index * torch.ones(4) + torch.randn(4)"])
def test_ranks_that_make_their_samples_up_or_augment_them_draw_others(sample: str, tmp_path: Path) -> None:
    """The sampler keeps samples apart that depend on their index, and no noise that is added to them."""
    assert "torch.manual_seed(rank)" in fixed(tmp_path, MADE_UP.format(sample=sample))


def test_a_person_says_what_ranks_share_that_augment_and_agree_on_an_order(tmp_path: Path) -> None:
    text = MADE_UP.format(sample="index * torch.ones(4) + torch.randn(4)") + "order = torch.randperm(4)\n"
    assert fixes(tmp_path, text) == [False]


ON_GPU = """\
import torch


def main():
    if torch.cuda.is_available():
        torch.cuda.manual_seed(3)
    else:
        torch.manual_seed(3)
    torch.nn.Linear(4, 1)(d).sum().backward()


if __name__ == "__main__":
    main()
"""


def test_a_seed_where_there_is_no_gpu_alone_is_none(tmp_path: Path) -> None:
    """`torch.cuda.manual_seed` leaves the generator of the CPU alone, which initialises weights and shuffles."""
    assert fixed(tmp_path, ON_GPU).startswith("import torch\n\n\ndef main():\n    torch.manual_seed(3)\n    torch.nn")
    assert fixes(tmp_path, ON_GPU.replace("torch.cuda.manual_seed(3)", "torch.manual_seed(3)")) == []


REGISTERED = """\
import environments
import torch

walking = environments.register("walk")


def walk():
    model = torch.nn.Linear(3, 1)
    model(torch.ones(3)).sum().backward()
    return model.weight.grad


if __name__ == "__main__":
    torch.save(walk(), "walk.pt")
"""


def test_what_imports_the_file_of_a_program_is_not_seeded_by_it(tmp_path: Path) -> None:
    seeds = "random.seed({1})\n{0}torch.manual_seed({1})\n"
    assert f"import torch\n\n{seeds.format('', 0)}" in fixed(tmp_path, REGISTERED)  # what is not known may draw
    (tmp_path / "other.py").write_text("import torch\nfrom train import walk\n\ntorch.manual_seed(1)\nprint(walk())\n")
    assert f'if __name__ == "__main__":\n    {seeds.format("    ", 1)}' in fixed(tmp_path, REGISTERED)


VIEWED = """\
import random

import torch
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __getitem__(self, index):
        return random.random()


if __name__ == "__main__":
    for batch in DataLoader(Pairs(), batch_size=4, shuffle=True):
        print(batch)
        {more}
"""


@pytest.mark.parametrize(
    "more", ["print()", "torch.save(batch, 'b.pt')", "torch.nn.Linear(1, 1)(batch).sum().backward()"]
)
def test_a_module_that_is_tried_out_under_its_guard_needs_no_seed(more: str, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("from train import Pairs\n")
    assert fixes(tmp_path, VIEWED.format(more=more)) == [False]


def test_a_model_that_is_tried_out_under_its_guard_on_numbers_of_numpy_needs_no_seed(tmp_path: Path) -> None:
    text = "import argparse\nimport numpy as np\nimport torch\n\n\nclass Net(torch.nn.Module):\n    pass\n\n\n"
    text += "if __name__ == '__main__':\n    args = {}\n    x = torch.LongTensor(np.random.randint(9, size=4))\n"
    text += "    net = Net(args)\n    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n    for _ in range(30):\n"
    text += "        net(x).sum().backward()\n        optimizer.step()\n"
    parser, made = "argparse.ArgumentParser()", "argparse.ArgumentParser().parse_args()"
    assert fixes(tmp_path, text.format(made)) == [False]
    assert fixes(tmp_path, text.format(f"{parser}; args.add_argument('-n'); args = args.parse_args()")) == [True]


def test_torch_is_imported_for_no_program_that_draws_from_others_alone(tmp_path: Path) -> None:
    stages = "import torch\nfrom sklearn.linear_model import LogisticRegression\n\n\nclass Stages:\n"
    stages += "    def fit(self, x, y):\n        LogisticRegression().fit(x, y)\n"
    (tmp_path / "models.py").write_text(stages)
    text = "import numpy as np\nimport models\n\nx = np.random.normal(size=4)\nmodels.Stages().fit(x, x > 0)\n"
    assert "torch" not in fixed(tmp_path, text)
    assert "np.random.seed(0)" in fixed(tmp_path, text)


def test_a_notebook_that_trains_nothing_itself_is_for_a_person(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(
        "import torch\n\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = torch.nn.Linear(2, 2)\n\n\ndef work(net, d, optimizer):\n    for x in d:\n"
        "        net(x).backward()\n        optimizer.step()\n"
    )
    cells = ["import torch\nfrom nets import Net", "net = Net()\nnet.a(torch.randn(2)).mean()\nplot(net)"]
    path = notebook(tmp_path, "look.ipynb", *cells)
    before = path.read_text()
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP101"]})
    fix(Request((tmp_path,), resolver), unsafe=False, write=True)
    assert path.read_text() == before


def test_a_program_of_another_framework_needs_more_than_numpy_seeds(tmp_path: Path) -> None:
    text = "import numpy as np\nimport tensorflow as tf\ntf.Session().run(f(np.random.permutation(9)))\n"
    after = fixed(tmp_path, text)
    assert after == text


def test_the_seed_of_a_configuration_that_a_flag_names_is_not_missed(tmp_path: Path) -> None:
    (tmp_path / "config.py").write_text("def get_config(config):\n    config.seed = 42\n    return config\n")
    flags = "from absl import app, flags\nfrom ml_collections import config_flags\n"
    flags += "config_flags.DEFINE_config_file('config')\n"
    assert fixes(tmp_path, f"{flags}import torch\n\ntorch.nn.Linear(4, 1)(d).sum().backward()\n") == [False]


def test_the_imports_of_a_cell_stay_together(tmp_path: Path) -> None:
    """Above a function, and not above a definition in another cell."""
    sources = [
        "def scale(x):\n    return x / 255",
        "import torch\nimport toolz\nimport matplotlib\nmatplotlib.use('Agg')\n\nnet = torch.nn.Linear(4, 1)\n"
        "optimizer = torch.optim.SGD(net.parameters())\n"
        "for x in toolz.unique(data):\n    net(scale(x)).sum().backward()\n    optimizer.step()",
    ]
    cells = [{"cell_type": "code", "metadata": {}, "source": c, "outputs": []} for c in sources]
    asked = request(tmp_path, "")
    book = tmp_path / "train.ipynb"
    book.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    fix(asked, unsafe=False, write=True)
    first, second = ("".join(cell["source"]) for cell in json.loads(book.read_text())["cells"])
    assert first == sources[0]
    imports = "import random\n\nimport numpy as np\nimport torch\nimport toolz\nimport matplotlib\nmatplotlib.use("
    assert second.startswith(imports)


def test_an_import_does_not_part_another_from_the_line_that_uses_it(tmp_path: Path) -> None:
    text = "import matplotlib\nmatplotlib.use('Agg')\nimport statsmodels\n\nimport torch\n\n"
    after = fixed(tmp_path, f"{text}torch.nn.Linear(4, 1)(statsmodels.data).sum().backward()\n")
    assert "import numpy as np\nimport matplotlib\nmatplotlib.use('Agg')\n" in after


def notebook(folder: Path, name: str, *sources: str) -> Path:
    cells = [{"cell_type": "code", "metadata": {}, "source": c, "outputs": [], "execution_count": 1} for c in sources]
    path = folder / name
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path


def test_no_cell_begins_with_a_blank_line(tmp_path: Path) -> None:
    """Its first comment stands right below the imports of the cell above only in the text of all cells."""
    work = "# the model\nnet = torch.nn.Linear(4, 1)\noptimizer = torch.optim.SGD(net.parameters())\n"
    work += "for x in data:\n    net(x).sum().backward()\n    optimizer.step()"
    asked = request(tmp_path, "")
    book = notebook(tmp_path, "train.ipynb", "import torch\nfrom company import data", work)
    fix(asked, unsafe=False, write=True)
    second = "".join(json.loads(book.read_text())["cells"][1]["source"])
    assert second == f"random.seed(0)\ntorch.manual_seed(0)\n\n{work}"


def test_no_import_goes_into_a_cell_of_which_a_module_is_made(tmp_path: Path) -> None:
    exported = "#|export\nimport os\nimport sys\nimport torch\nfrom company import data"
    work = "net = torch.nn.Linear(4, 1)\noptimizer = torch.optim.SGD(net.parameters())\n"
    work += "for x in data:\n    net(x).sum().backward()\n    optimizer.step()"
    asked = request(tmp_path, "")
    book = notebook(tmp_path, "train.ipynb", exported, "import tqdm", work)
    fix(asked, unsafe=False, write=True)
    cells = ["".join(cell["source"]) for cell in json.loads(book.read_text())["cells"]]
    assert cells == [exported, "import random\n\nimport tqdm", f"random.seed(0)\ntorch.manual_seed(0)\n\n{work}"]


def test_arrays_and_plots_are_not_where_a_notebook_begins(tmp_path: Path) -> None:
    shown = "x = np.linspace(0, 1, 9)\nplt.plot(x, np.sin(x))\nplt.show()"
    work = "net = torch.nn.Linear(4, 1)\noptimizer = torch.optim.SGD(net.parameters())\n"
    work += "for _ in range(9):\n    net(torch.as_tensor(x[:4])).sum().backward()\n    optimizer.step()"
    asked = request(tmp_path, "")
    imports = "import matplotlib.pyplot as plt\nimport numpy as np\nimport torch"
    book = notebook(tmp_path, "train.ipynb", imports, shown, work)
    fix(asked, unsafe=False, write=True)
    cells = ["".join(cell["source"]) for cell in json.loads(book.read_text())["cells"]]
    assert cells == [imports, shown, f"torch.manual_seed(0)\n\n{work}"]


def test_what_chance_does_may_be_shown_in_a_notebook(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    notebook(tmp_path, "shown.ipynb", "import numpy as np", "noise = np.random.RandomState()\nprint(noise.rand(9))")
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP104"]})
    (found,) = check(Request((tmp_path,), resolver)).findings
    assert found.fix is not None
    assert found.fix.safety == "unsafe"


def test_the_function_random_is_no_module_of_numpy(tmp_path: Path) -> None:
    text = "import random\n\nimport numpy as np\nimport torch\n\nx = torch.as_tensor(np.ones(4) * random.random())\n"
    work = "torch.nn.Linear(4, 1)(x).sum().backward()\n"
    assert "\nrandom.seed(0)\ntorch.manual_seed(0)\n" in fixed(tmp_path, text + work)


def test_the_seed_of_a_data_set_is_not_the_program_s(tmp_path: Path) -> None:
    data = "import numpy as np\n\n\nclass Numbers:\n    def __init__(self, seed):\n        np.random.seed(seed)\n\n"
    data += "    def batches(self):\n        return [np.random.rand(2, 4)]\n"
    work = "import random\n\nimport torch\nfrom data import Numbers\n\n\nif __name__ == '__main__':\n"
    work += "    numbers = Numbers(3)\n    rate = random.random()\n    model = torch.nn.Linear(4, 1)\n"
    work += "    for x in numbers.batches():\n        (model(torch.as_tensor(x)) * rate).sum().backward()\n"
    (tmp_path / "data.py").write_text(data)
    fixed(tmp_path, work)
    assert (tmp_path / "data.py").read_text() == data


def test_a_notebook_is_not_seeded_above_its_import_of_torch(tmp_path: Path) -> None:
    trial = "import gym\n\nenv = gym.make('Walker2d-v3')\nenv.step(env.action_space.sample())\nenv.close()"
    work = "import torch\n\nnet = torch.nn.Linear(4, 1)\noptimizer = torch.optim.SGD(net.parameters())\n"
    work += "for x in data:\n    net(x).sum().backward()\n    optimizer.step()"
    asked = request(tmp_path, "")
    notebook(tmp_path, "train.ipynb", trial, work)
    found = [f.fix.safety for f in check(asked).findings if f.fix is not None]
    assert found == ["unsafe"]


SPLIT = """\
import numpy as np
import torch

# {comment}
np.random.seed(0)

order = np.random.permutation(9)
model = torch.nn.Linear(4, 1)
model(order).sum().backward()
"""


@pytest.mark.parametrize(
    ("comment", "is_safe"), [("for the same data splits in each run", False), ("reproducibility", True)]
)
def test_a_seed_that_a_comment_says_is_for_the_splits_is_left_alone(
    comment: str, is_safe: bool, tmp_path: Path
) -> None:
    assert fixes(tmp_path, SPLIT.format(comment=comment)) == [is_safe]


UNSEEN_BY_PARENT = """\
import torch
import torch.multiprocessing as mp
from engines import Engine


def main(rank):
    engine = Engine(rank)
    optimizer = torch.optim.Adam(engine.parameters())
    for batch in engine.batches():
        engine(batch).backward()
        optimizer.step()


if __name__ == "__main__":
    {start}
"""


@pytest.mark.parametrize(("start", "is_safe"), [("mp.spawn(main, nprocs=2)", False), ("main(0)", True)])
def test_processes_in_which_nothing_that_draws_is_known_are_for_a_person_to_seed(
    start: str, is_safe: bool, tmp_path: Path
) -> None:
    assert fixes(tmp_path, UNSEEN_BY_PARENT.format(start=start)) == [is_safe]
