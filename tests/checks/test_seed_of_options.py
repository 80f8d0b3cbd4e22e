"""Which expression the fix of TRP101 takes for the program's own seed, however its options are declared and held."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from torchrepro_lint import cards
from torchrepro_lint.engine import Request
from torchrepro_lint.repair import fix
from torchrepro_lint.settings import SettingsResolver

WORK = "    torch.nn.Linear(4, 1)(torch.ones(4)).sum().backward()\n"
PARSE = "    parser = argparse.ArgumentParser()\n    parser.add_argument('--seed', type=int, default=7)\n"
LOOP = "import argparse\nimport torch\n{table}\n\ndef main():\n    parser = argparse.ArgumentParser()\n{loop}"
GUARD = "\n\nif __name__ == '__main__':\n    main()\n"
ENDS = "    args = parser.parse_args()\n" + WORK + GUARD


def main(steps: str) -> str:
    return "import argparse\nimport torch\n\n\ndef main():\n" + PARSE + steps + WORK + GUARD


CHANGED = "def extended(args):\n    args.out = 'x'\n    return args\n\n\n"
CLASSES = (
    "from dataclasses import dataclass, field\n\nimport torch\n{imports}\n\n\n"
    "@dataclass\nclass Model:\n    size: int = 3\n\n\n"
    "@dataclass\nclass Run:\n    rate: float = 0.1\n    seed: int = {seed}\n\n\nif __name__ == '__main__':\n{steps}"
    + WORK
)
COMMAND = (
    "{imports}\nimport torch\n\n\n{decorators}def main({parameter}):\n" + WORK + "\n\nif __name__ == '__main__':\n"
)
CASES = {
    "a loop over a dict": (
        LOOP.format(
            table="\nOPTIONS = {'rate': 0.1, 'seed': 7}\n",
            loop="    for name, value in OPTIONS.items():\n"
            "        parser.add_argument('--' + name, default=value, type=type(value))\n",
        )
        + ENDS,
        "args.seed",
    ),
    "a loop over pairs of a call of dict": (
        LOOP.format(
            table="\nOPTIONS = dict(rate=0.1, seed=7)\n",
            loop="    for k, v in OPTIONS.items():\n        parser.add_argument(f'--{k}', default=v, type=type(v))\n",
        )        + ENDS.replace("args", "opt").replace("parse_opt", "parse_args"),
        "opt.seed",
    ),
    "a loop over texts": (
        LOOP.format(
            table="\nOPTIONS = {'rate': 0.1, 'seed': 7}\n",
            loop="    for name, value in OPTIONS.items():\n        parser.add_argument('--' + name, default=value)\n",
        )
        + ENDS,
        "int(args.seed)",
    ),
    "a loop over a table": (
        LOOP.format(
            table="\nOPTIONS = [('--rate', float, 0.1), ('--seed', int, 7)]\n",
            loop="    for flag, kind, value in OPTIONS:\n        parser.add_argument(flag, type=kind, default=value)\n",
        )
        + ENDS,
        "args.seed",
    ),
    "a loop over descriptions": (
        LOOP.format(
            table="\nOPTIONS = [('--rate', dict(default=0.1)), ('--seed', dict(type=int, default=7))]\n",
            loop="    for flag, how in OPTIONS:\n        parser.add_argument(flag, **how)\n",
        )
        + ENDS,
        "args.seed",
    ),
    "a short name for what declares them": (
        main("    add = parser.add_argument\n    add('--rate', type=float)\n    args = parser.parse_args()\n"),
        "args.seed",
    ),
    "a class of settings": (
        main("    cfg = Config\n    rate = cfg.r\n").replace("def main", "class Config:\n    SEED = 3\n\n\ndef main"),
        "Config.SEED",
    ),
    "a class of settings that objects change": (
        main("    print(3)\n").replace("def main", "class Config(Base):\n    SEED = 3\n\n\ndef main"),
        "3",
    ),
    "the rest of the arguments": (main("    args, rest = parser.parse_known_args()\n"), "args.seed"),
    "the first of what is known": (main("    args = parser.parse_known_args()[0]\n"), "args.seed"),
    "a dict": (main("    args = vars(parser.parse_args())\n"), "args['seed']"),
    "a dict of the same name": (main("    opt = parser.parse_args()\n    opt = vars(opt)\n"), "opt['seed']"),
    "another object": (
        "from easydict import EasyDict\n" + main("    args = parser.parse_args()\n    args = EasyDict(vars(args))\n"),
        "args.seed",
    ),
    "changed by a function of the file": (
        main("    args = parser.parse_args()\n    args = extended(args)\n").replace("def main", CHANGED + "def main"),
        "args.seed",
    ),
    "changed by a function that is not known": (
        "from company import prepare\n" + main("    args = parser.parse_args()\n    args = prepare(args)\n"),
        "args.seed",
    ),
    "a global name": (
        main("    global args\n    args = parser.parse_args()\n"),
        "args.seed",
    ),
    "what a user gives stays a text": (
        main("    args = parser.parse_args()\n").replace("type=int, ", ""),
        "int(args.seed)",
    ),
    "transformers, one class": (
        CLASSES.format(
            imports="from transformers import HfArgumentParser",
            seed="field(default=7)",
            steps="    parser = HfArgumentParser(Run)\n    run = parser.parse_args_into_dataclasses()[0]\n",
        ),
        "run.seed",
    ),
    "transformers, two classes": (
        CLASSES.format(
            imports="from transformers import HfArgumentParser",
            seed="7",
            steps="    parser = HfArgumentParser((Model, Run))\n"
            "    model, run = parser.parse_args_into_dataclasses()\n",
        ),
        "run.seed",
    ),
    "a parser is not what it parses": (
        CLASSES.format(
            imports="from company import ArgumentParser",
            seed="7",
            steps="    parser = ArgumentParser(Run)\n    print(parser.parse())\n",
        ),
        "7",
    ),
    "simple_parsing": (
        CLASSES.format(imports="from simple_parsing import parse", seed="7", steps="    run = parse(Run)\n"),
        "run.seed",
    ),
    "tap": (
        "import torch\nfrom tap import Tap\n\n\nclass Run(Tap):\n    seed: int = 7\n\n\nif __name__ == '__main__':\n"
        "    args = Run().parse_args()\n" + WORK,
        "args.seed",
    ),
    "click": (
        COMMAND.format(
            imports="import click",
            decorators="@click.command()\n@click.option('--seed', default=7)\n",
            parameter="seed",
        )
        + "    main()\n",
        "seed",
    ),
    "fire": (
        COMMAND.format(imports="import fire", decorators="", parameter="seed=7") + "    fire.Fire(main)\n",
        "seed",
    ),
    "typer": (
        COMMAND.format(imports="import typer", decorators="", parameter="seed: int = typer.Option(7)")
        + "    typer.run(main)\n",
        "seed",
    ),
    "one command of typer": (
        COMMAND.format(
            imports="import typer",
            decorators="app = typer.Typer()\n\n\n@app.command()\n",
            parameter="seed: int = 7",
        )
        + "    app()\n",
        "seed",
    ),
}  # fmt: skip


def fixed(folder: Path, *, unsafe: bool = False, **files: str) -> str:
    """The text of `train` after the safe fix of TRP101, or the unsafe one."""
    (folder / "pyproject.toml").write_text("")
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP101"]})
    fix(Request((folder,), resolver), unsafe=unsafe, write=True)
    after = (folder / "train.py").read_text()
    assert isinstance(ast.parse(after), ast.Module)
    return after


@pytest.mark.parametrize(("text", "seed"), CASES.values(), ids=CASES)
def test_the_seed_is_the_program_s_own(text: str, seed: str, tmp_path: Path) -> None:
    assert f"torch.manual_seed({seed})\n" in fixed(
        tmp_path, unsafe=seed.isdecimal(), train=text
    )  # a number, where none can be read


def test_a_module_of_settings_has_the_seed(tmp_path: Path) -> None:
    program = "import torch\nimport config\n\nif __name__ == '__main__':\n    rate = config.RATE\n" + WORK
    assert "manual_seed(config.SEED)" in fixed(tmp_path, train=program, config="RATE = 0.1\nSEED = 7\n")


def test_a_seed_that_is_imported_is_the_program_s(tmp_path: Path) -> None:
    program = "import torch\nfrom config import SEED\n\nif __name__ == '__main__':\n" + WORK
    assert "manual_seed(SEED)" in fixed(tmp_path, train=program, config="SEED = 7\n")
    assert "manual_seed(SEED)" not in fixed(tmp_path, train=program, config="SEED = 'none'\n")


def test_arguments_are_read_before_a_function_that_is_not_known_changes_them(tmp_path: Path) -> None:
    after = fixed(tmp_path, train=CASES["changed by a function that is not known"][0])
    assert after.index("manual_seed") < after.index("args = prepare(args)")


def test_a_negative_default_gives_way_and_a_negative_number_still_turns_seeding_off(tmp_path: Path) -> None:
    parse = PARSE.replace("default=7", "default=-1, help='none below 0 (default: -1)'")
    after = fixed(tmp_path, train=main("    args = parser.parse_args()\n").replace(PARSE, parse))
    assert "type=int, default=0, help='none below 0 (default: 0)')\n" in after
    assert "    if args.seed >= 0:\n        torch.manual_seed(args.seed)\n" in after


def test_a_parameter_has_the_option_that_a_function_reads_which_is_given_it(tmp_path: Path) -> None:
    """Who calls `train` is not known: too many files speak of it."""
    text = "import argparse\nimport torch\n\n\ndef set_seed(args):\n    torch.manual_seed(args.seed)\n\n\n"
    text += "def train(args, data):\n    loader = torch.utils.data.DataLoader(data, shuffle=True)\n    set_seed(args)\n"
    text += "    for x in loader:\n        x.backward()\n\n\nif __name__ == '__main__':\n" + PARSE
    text += "    args = parser.parse_args()\n    set_seed(args)\n    train(args, [])\n"
    for number in range(14):
        (tmp_path / f"other{number}.py").write_text("def train(args):\n    pass\n\n\ntrain(1)\n")
    (tmp_path / "train.py").write_text(text)
    (tmp_path / "pyproject.toml").write_text("")
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP201"]})
    fix(Request((tmp_path,), resolver), unsafe=True, write=True)
    assert "generator=torch.Generator().manual_seed(args.seed))" in (tmp_path / "train.py").read_text()


# -- a function of the project that seeds -----------------------------------------------------------------------------
SEEDER = """\
import random

import numpy as np
import torch


def accuracy(a, b):
    return (a == b).mean()


def set_all(seed=42, strict=False):
    \"\"\"Seed all generators.\"\"\"
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.deterministic = True
    if strict:
        torch.use_deterministic_algorithms(True)
"""
PROGRAM = "import company\nimport numpy as np\nimport torch\n{imports}\n\nif __name__ == '__main__':\n" + WORK.replace(
    "torch.ones", "company.ones"
)


@pytest.mark.parametrize(
    ("imports", "wanted"),
    [
        (
            "from tools import accuracy\n",
            "from tools import accuracy, set_all\n\n\nif __name__ == '__main__':\n    set_all()\n",
        ),
        ("from tools import set_all\n", "from tools import set_all\n\n\nif __name__ == '__main__':\n    set_all()\n"),
        ("import tools\n", "import tools\n\n\nif __name__ == '__main__':\n    tools.set_all()\n"),
        ("\nseed = 3\n", "from tools import set_all\n\nseed = 3\n\n\nif __name__ == '__main__':\n    set_all(seed)\n"),
        ("from tools import accuracy\nseed = 3\n", "    set_all(seed)\n"),
    ],
)
def test_a_seeder_of_the_project_is_called_by_the_name_that_the_file_has_for_it_or_imports(
    imports: str, wanted: str, tmp_path: Path
) -> None:
    assert wanted in fixed(tmp_path, train=PROGRAM.format(imports=imports), tools=SEEDER)


def test_a_seeder_is_imported_as_a_program_beside_does(tmp_path: Path) -> None:
    beside = "from tools import set_all\n\nset_all(3)\n"
    tools = SEEDER.replace("import torch\n", "import torch\n{more}\n", 1)
    assert "    set_all()\n" in fixed(
        tmp_path, train=PROGRAM.format(imports=""), tools=tools.format(more=""), other=beside
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    np.random.seed(seed)\n", ""),  # leaves numpy unseeded
        ("strict=False", "strict=True"),  # may raise
        ("manual_seed(seed)", "manual_seed(seed + 1)"),
        ("set_all(seed=42, ", "set_all(seed, device, "),
        ("    random.seed(seed)\n", "    random.seed(seed)\n    open('log', 'w')\n"),
        ("import torch\n", "import torch\nimport company\n\ncompany.start()\n"),  # runs when it is imported
    ],
)
def test_what_does_less_or_more_than_seed_is_no_seeder(old: str, new: str, tmp_path: Path) -> None:
    tools = SEEDER.replace(old, new, 1) if "manual" not in old else SEEDER.replace(old, new)
    beside = "from tools import set_all\n\nset_all(3)\n"
    after = fixed(tmp_path, train=PROGRAM.format(imports=""), tools=tools, other=beside)
    usual = 42 if "seed=42" in tools else 0
    assert f"torch.manual_seed({usual})\n" in after


# -- programs that share a function -----------------------------------------------------------------------------------
SHARED = "import torch\n\n\ndef run(name):\n" + WORK
WRAPPER = "from train import run\n\nif __name__ == '__main__':\n{before}    run('a')\n"


def test_programs_that_begin_with_one_function_are_seeded_in_it(tmp_path: Path) -> None:
    one, two = WRAPPER.format(before=""), WRAPPER.format(before="")
    assert "def run(name):\n    torch.manual_seed(0)\n" in fixed(tmp_path, train=SHARED, one=one, two=two)
    assert (tmp_path / "one.py").read_text() == one


def test_a_script_without_a_guard_begins_with_the_function_too(tmp_path: Path) -> None:
    train = SHARED + "\n\nif __name__ == '__main__':\n    run('b')\n"
    script = "from train import run\n\nname = 'a'\nrun(name)\n"
    after = fixed(tmp_path, train=train, one=script)
    assert "def run(name):\n    torch.manual_seed(0)\n" in after
    assert after.count("torch.manual_seed(0)") == 1
    assert (tmp_path / "one.py").read_text() == script


def test_a_program_that_seeds_by_itself_keeps_its_seed(tmp_path: Path) -> None:
    own = "import torch\n" + WRAPPER.format(before="    torch.manual_seed(3)\n")
    assert fixed(tmp_path, train=SHARED, one=WRAPPER.format(before=""), two=own) == SHARED
    assert "    torch.manual_seed(3)\n    run('a')" in (tmp_path / "one.py").read_text()


def test_a_function_that_is_a_command_is_seeded_in_it(tmp_path: Path) -> None:
    text = SHARED.replace("run(name)", "run()") + "\n\nif __name__ == '__main__':\n    run()\n"
    (tmp_path / "train.py").write_text(text)
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'a'\n[project.scripts]\na = 'train:run'\n")
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP101"]})
    fix(Request((tmp_path,), resolver), unsafe=False, write=True)
    assert "def run():\n    torch.manual_seed(0)\n" in (tmp_path / "train.py").read_text()


def test_the_default_of_an_option_that_the_program_draws_stays(tmp_path: Path) -> None:
    """It may be written down with the other options."""
    config = "def add_options(parser):\n    parser.add_argument('--seed', type=int, default=None)\n    return parser\n"
    head = "import argparse\nimport random\n\nimport torch\nfrom config import add_options\n\n\ndef main():\n"
    parse = "    args = add_options(argparse.ArgumentParser()).parse_args()\n"
    drawn = "    if args.seed is None:\n        args.seed = random.randint(0, 2**31)\n"
    (tmp_path / "config.py").write_text(config)
    text = head + parse + drawn + "    random.seed(args.seed)\n    torch.manual_seed(args.seed)\n" + WORK + GUARD
    assert fixed(tmp_path, train=text) == text
    assert (tmp_path / "config.py").read_text() == config


def test_the_default_of_an_option_of_installed_commands_stays(tmp_path: Path) -> None:
    option = "    parser.add_argument('--seed', type=int, default=None)\n    args = parser.parse_args()\n"
    seeds = "    if args.seed is not None:\n        torch.manual_seed(args.seed)\n"
    head = "import argparse\nimport torch\n\n\ndef main():\n    parser = argparse.ArgumentParser()\n"
    (tmp_path / "train.py").write_text(head + option + seeds + WORK + GUARD)
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP101"]})
    request = Request((tmp_path,), resolver)
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'a'\n[project.scripts]\na = 'train:main'\n")
    fix(request, unsafe=False, write=True)
    assert "default=None" in (tmp_path / "train.py").read_text()
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'a'\n")
    fix(request, unsafe=False, write=True)
    assert "default=0" in (tmp_path / "train.py").read_text()


# -- seeds that the program sets elsewhere ----------------------------------------------------------------------------
LATER = """\
import random

import torch


def main():
    work(random.random())
{later}
    torch.nn.Linear(4, 1)(torch.ones(4)).sum().backward()


if __name__ == '__main__':
    main()
"""


@pytest.mark.parametrize(
    ("later", "seed"),
    [
        ("    torch.manual_seed(123)\n", "123"),
        ("    torch.cuda.manual_seed_all(123)\n    torch.manual_seed(123)\n", "123"),
        ("    if torch.cuda.is_available():\n        torch.manual_seed(7)\n", "7"),
        ("    start = 9\n    torch.manual_seed(start)\n", "9"),
        ("    torch.manual_seed(123)\n    torch.nn.Linear(4, 1)\n    torch.manual_seed(7)\n", "123"),  # the first
        ("    torch.manual_seed(-5)\n", "0"),  # is none for numpy
    ],
)
def test_the_number_that_the_program_seeds_another_generator_with_is_its_seed(
    later: str, seed: str, tmp_path: Path
) -> None:
    assert f"    random.seed({seed})\n" in fixed(tmp_path, train=LATER.format(later=later))


ENGINE = """\
import random

import numpy as np
import torch


def train(settings):
    np.random.seed(settings.general.seed)
    torch.manual_seed(settings.general.seed)
    torch.nn.Linear(4, 1)(torch.ones(random.randint(4, 4))).sum().backward()
"""


def test_a_seed_stands_beside_those_of_the_function_in_another_file_that_leads_to_the_draw(tmp_path: Path) -> None:
    train = (
        "from engine import train\nfrom settings import settings\n\nif __name__ == '__main__':\n    train(settings)\n"
    )
    assert fixed(tmp_path, train=train, engine=ENGINE) == train
    wanted = "    torch.manual_seed(settings.general.seed)\n    random.seed(settings.general.seed)\n"
    assert wanted in (tmp_path / "engine.py").read_text()


STARRED = PROGRAM.format(imports="from tools import *\n")


@pytest.mark.parametrize(
    ("train", "tools", "call"),
    [
        (STARRED, SEEDER, "    set_all()\n"),
        (STARRED, SEEDER.replace("set_all", "_set_all"), "    random.seed(42)\n"),
        (STARRED.replace("from tools import *\n", "") + "from tools import *\n", SEEDER, "    set_all()\n"),
    ],
)
def test_a_seeder_is_known_where_all_names_of_its_file_are_imported_above(
    train: str, tools: str, call: str, tmp_path: Path
) -> None:
    assert "if __name__ == '__main__':\n" + call in fixed(tmp_path, train=train, tools=tools)


@pytest.mark.parametrize(
    ("train", "tools"),
    [
        (STARRED, "__all__ = ['accuracy']\n" + SEEDER),
        (STARRED.replace("import numpy", "set_all = print\nimport numpy", 1), SEEDER),
    ],
)
def test_beside_a_seeder_that_nothing_calls_nor_can_call_a_person_decides(
    train: str, tools: str, tmp_path: Path
) -> None:
    assert fixed(tmp_path, train=train, tools=tools) == train
    after = fixed(tmp_path, train=train, tools=tools, unsafe=True)
    assert "if __name__ == '__main__':\n    random.seed(42)\n" in after


def test_of_several_seeders_the_one_that_the_file_imports_is_called_or_the_project_calls(tmp_path: Path) -> None:
    tools = SEEDER + SEEDER[SEEDER.index("\n\ndef set_all") :].replace("set_all(seed=42, ", "start_with(seed, ")
    imported = PROGRAM.format(imports="from tools import start_with\n")
    assert "    start_with(42)\n" in fixed(tmp_path, train=imported, tools=tools)
    other = "from tools import start_with\n\nstart_with(3)\n"
    beside = PROGRAM.format(imports="from tools import accuracy\n")
    assert "    start_with(42)\n" in fixed(tmp_path, train=beside, tools=tools, other=other)
    assert "    set_all()\n" in fixed(tmp_path, train=beside, tools=tools, other="")


def test_an_option_with_a_text_of_digits_as_its_default_is_a_number(tmp_path: Path) -> None:
    """A parser reads its default as what a user gives, where that is a text."""
    text = main("    args = parser.parse_args()\n")
    assert "manual_seed(args.seed)\n" in fixed(tmp_path, train=text.replace("default=7", "default='0925'"))
    for other in ("default='x1'", "default='-1'"):
        assert "manual_seed(0)\n" in fixed(tmp_path, unsafe=True, train=text.replace("default=7", other))
    text = text.replace("type=int, default=7", "default='7'")
    assert "manual_seed(0)\n" in fixed(tmp_path, unsafe=True, train=text)


@pytest.mark.parametrize(("test", "number"), [("> 0", 1), ("", 1), ("is not None", 0)])
def test_the_default_of_an_option_that_was_off_is_a_seed_where_0_is_none(
    test: str, number: int, tmp_path: Path
) -> None:
    text = "import argparse\nimport random\nimport torch\n\nif __name__ == '__main__':\n" + PARSE
    text = text.replace("default=7", "default=None") + "    args = parser.parse_args()\n"
    text += f"    if args.seed {test}:\n        random.seed(args.seed)\n        torch.manual_seed(args.seed)\n" + WORK
    assert f"default={number})" in fixed(tmp_path, train=text)


@pytest.mark.parametrize("number", ["random.randint(1, 10000)", "3"])
def test_a_default_is_left_alone_where_the_program_chooses_another_number_itself(number: str, tmp_path: Path) -> None:
    """The program always seeds; that it may choose the number anew each time is another finding."""
    text = "import argparse\nimport random\nimport numpy as np\nimport torch\n\nif __name__ == '__main__':\n" + PARSE
    text = text.replace("default=7", "help='seed'") + "    args = parser.parse_args()\n"
    chosen = f"    if args.seed is None:\n        args.seed = {number}\n"
    seeds = "    random.seed(args.seed)\n    torch.manual_seed(args.seed)\n"
    draws = "    torch.nn.Linear(4, 1)(torch.ones(np.random.randint(4, 5))).sum().backward()\n"
    assert "type=int, default=0, help" not in fixed(tmp_path, train=text + chosen + seeds + draws)
    assert seeds + "    np.random.seed(args.seed)\n" in fixed(tmp_path, train=text + chosen + seeds + draws)
    assert "default=0" in fixed(tmp_path, train=text + seeds + draws)


@pytest.mark.parametrize(
    ("above", "below", "wanted"),
    [
        ("", "", "    seed = args.seed or 0\n    random.seed(seed)\n"),
        ("from tools import *\n", "", "    seed = args.seed or 0\n    random.seed(seed)\n"),
        ("from tools import *\n", "    print(seed)\n", "    random.seed(args.seed or 0)\n"),
        ("", "    seed = 'a'\n", "    random.seed(args.seed or 0)\n"),
    ],
)
def test_what_is_worked_out_is_written_once_where_its_name_is_free(
    above: str, below: str, wanted: str, tmp_path: Path
) -> None:
    work = WORK.replace("torch.ones", "company.ones")
    text = main("    args = parser.parse_args()\n").replace(", default=7", "").replace(WORK, work + below)
    assert wanted in fixed(tmp_path, unsafe=True, train=f"import company\n{above}{text}")
