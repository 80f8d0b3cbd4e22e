"""Values that are made of the rank of a process, and tests that only the first process passes."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint.rng.ranks import is_chosen_by_ranks, passes_first_only, rank_in


def rank(folder: Path, text: str) -> str | None:
    """The rank in the argument of the only `op(...)`."""
    project = SmallProject(folder, {"train.py": "import os\nimport torch\n" + textwrap.dedent(text)})
    node, scope = project.call("op", "train.py")
    found = rank_in(node.args[0], scope, project.program)
    return ast.unparse(found) if found is not None else None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("op(7 + torch.distributed.get_rank())", "torch.distributed.get_rank()"),
        ("def f(args):\n    op((args.seed + args.local_rank) % 2**32)", "args.local_rank"),
        ("seed = 3\nseed += int(os.environ['RANK'])\nop(seed)", "int(os.environ['RANK'])"),
        ("def f(seed):\n    op(seed)\ndef g(rank):\n    f(1 + rank)", "rank"),
        ("op(7)", None),
        ("op(7 + int(os.environ.get('LOCAL_RANK', 0)))", "int(os.environ.get('LOCAL_RANK', 0))"),
        ("op(7 + int(os.getenv('SLURM_PROCID')))", "int(os.getenv('SLURM_PROCID'))"),
        ("op(7 + int(os.environ.get('WORLD_SIZE', 1)))", None),
        ("op(7 + int(os.getenv('SEED')))", None),
        ("op(7 + int(os.environ['WORLD_SIZE']))", None),
        ("def f(config):\n    op(7 + config['rank'])", "config['rank']"),
        ("def f(config):\n    op(7 + config['width'])", None),
        ("def f(seed, rank):\n    op(seed - rank)", None),
        ("def f(seed, rank):\n    op(seed + rank // 8)", None),
        ("def f(seed, tp_rank):\n    op(seed + tp_rank)", None),
        ("def f(seed, rank):\n    op(seed)\n    seed = seed + rank", None),
        ("a = b\nb = a\nop(a)", None),
    ],
)
def test_rank_in_a_value(text: str, found: str | None, tmp_path: Path) -> None:
    assert rank(tmp_path, text) == found


@pytest.mark.parametrize(
    ("test", "first"),
    [
        ("rank == 0", True),
        ("rank != 0", False),
        ("not rank", True),
        ("args.local_rank in (-1, 0)", True),
        ("accelerator.is_main_process", True),
        ("not is_main_process()", False),
        ("dist.get_rank() == 0 and args.verbose", True),
        ("not args.distributed or args.rank == 0", True),
        ("args.debug or args.rank == 0", None),
        ("not args.distributed", None),
        ("rank", False),
        ("rank == 1", None),
        ("rank >= 0", None),
        ("world_size > 1", None),
        ("is_main_process(group)", None),
    ],
)
def test_which_tests_only_the_first_rank_passes(test: str, first: bool | None, tmp_path: Path) -> None:
    project = SmallProject(tmp_path, {"train.py": f"op({test})"})
    node, scope = project.call("op", "train.py")
    assert passes_first_only(node.args[0], scope, project.program) is first


@pytest.mark.parametrize(
    ("value", "first"),
    [
        ("torch.distributed.get_rank()", True),
        ("int(os.environ['RANK'])", True),
        ("torch.distributed.get_rank(group)", None),
        ("torch.distributed.get_rank(group=group)", None),
        ("torch.distributed.get_world_size()", None),
    ],
)
def test_a_variable_is_a_rank_by_what_it_holds(value: str, first: bool | None, tmp_path: Path) -> None:
    text = f"import os\nimport torch\ndef f(group):\n    number = {value}\n    op(number == 0)"
    project = SmallProject(tmp_path, {"train.py": text})
    node, scope = project.call("op", "train.py")
    assert passes_first_only(node.args[0], scope, project.program) is first


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("if args.distributed:\n    op(x)", True),
        ("if args.verbose:\n    op(x)", False),
        ("def f(rank):\n    if rank > 3:\n        return\n    op(x)", False),
    ],
)
def test_whether_a_test_around_a_call_asks_for_the_processes(text: str, chosen: bool, tmp_path: Path) -> None:
    assert is_chosen_by_ranks(*SmallProject(tmp_path, {"train.py": text}).call("op")) is chosen
