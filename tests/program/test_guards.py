"""Every way in which a program keeps a place from running is understood alike, whatever is asked of the place.

Each question has a program with one place and a fact that changes the answer there; each guard is a way of writing that
the place runs only where the fact holds. One table, all pairs.
"""

from __future__ import annotations

import textwrap
from typing import NamedTuple

import pytest

from torchrepro_lint import cards
from torchrepro_lint.engine import Request, check
from torchrepro_lint.settings import SettingsResolver

# {fact}: an expression; {subject} and {pattern}: the same as a `case`; {place}: the expression that is asked about.
GUARDS = {
    "if": """
        if {fact}:
            {place}
        """,
    "else": """
        if not ({fact}):
            pass
        else:
            {place}
        """,
    "elif": """
        if spare == 17:
            pass
        elif {fact}:
            {place}
        """,
    "nested not": """
        if not (not ({fact})):
            {place}
        """,
    "and in the test": """
        if spare and {fact}:
            {place}
        """,
    "or in the test of the other arm": """
        if spare or not ({fact}):
            pass
        else:
            {place}
        """,
    "De Morgan": """
        if not (spare or not ({fact})):
            {place}
        """,
    "early return": """
        if not ({fact}):
            return
        {place}
        """,
    "early raise": """
        if not ({fact}):
            raise ValueError
        {place}
        """,
    "early continue": """
        for _ in range(2):
            if not ({fact}):
                continue
            {place}
        """,
    "early break": """
        for _ in range(2):
            if not ({fact}):
                break
            {place}
        """,
    "early exit of the program": """
        if not ({fact}):
            sys.exit(1)
        {place}
        """,
    "early return in the other arm": """
        if {fact}:
            pass
        else:
            return
        {place}
        """,
    "early return in an elif": """
        if spare == 17:
            return
        elif not ({fact}):
            raise ValueError
        else:
            pass
        {place}
        """,
    "both ways of leaving": """
        if not ({fact}):
            if spare:
                return
            else:
                raise ValueError
        {place}
        """,
    "early return before an inner block": """
        if not ({fact}):
            return
        try:
            with open("log") as log:
                {place}
        finally:
            pass
        """,
    "early return inside with": """
        with open("log") as log:
            if not ({fact}):
                return
        {place}
        """,
    "assert": """
        assert {fact}
        {place}
        """,
    "case": """
        match {subject}:
            case {pattern}:
                {place}
        """,
    "case that returns": """
        match {subject}:
            case {pattern}:
                pass
            case _:
                return
        {place}
        """,
    "guard of a case": """
        match spare:
            case 17 if {fact}:
                {place}
        """,
    "and": """
        spare and {fact} and {place}
        """,
    "or": """
        not ({fact}) or {place}
        """,
    "conditional expression": """
        y = {place} if {fact} else x
        """,
    "other arm of a conditional expression": """
        y = x if not ({fact}) else {place}
        """,
    "while": """
        while {fact}:
            {place}
        """,
    "after while": """
        while not ({fact}):
            spare = spare + 1
        {place}
        """,
    "comprehension": """
        y = [{place} for _ in range(2) if {fact}]
        """,
}
UNGUARDED = {
    "nothing": "{place}",
    "the other arm": """
        if {fact}:
            pass
        else:
            {place}
        """,
    "a branch that does not leave": """
        if not ({fact}):
            spare = 1
        {place}
        """,
    "either of two": """
        if spare or {fact}:
            {place}
        """,
    "a raise that is caught": """
        try:
            if not ({fact}):
                raise ValueError
        except ValueError:
            pass
        {place}
        """,
    "another case": """
        match {subject}:
            case {pattern}:
                pass
            case _:
                {place}
        """,
    "a loop that was left": """
        while not ({fact}):
            if spare:
                break
        {place}
        """,
}

NET = """
    import sys

    import torch
    from torch import nn
    from torch.nn import functional as F


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 3, 1)

        def forward(self, x, mode, spare):
            x = self.conv(x)
            {body}
    """
SCRIPT = """
    import argparse
    import sys

    import numpy as np
    import torch
    import torch.distributed as dist


    def main(args, x, rank, spare):
        {body}


    if __name__ == "__main__":
        dist.init_process_group("nccl")
        parser = argparse.ArgumentParser()
        parser.add_argument("--seed", type=int, default=None)
        main(parser.parse_args(), torch.randn(3), dist.get_rank(), input())
    """
RESIZE = 'F.interpolate(x, scale_factor=2, mode="bilinear")'


class Question(NamedTuple):
    """`code` is reported at the place, but not where `fact` holds; or, where `is_wrong`, just there."""

    code: str
    program: str
    place: str
    fact: str
    subject: str
    pattern: str
    is_wrong: bool = False


QUESTIONS = {
    "training mode of kernels": Question("TRP502", NET, RESIZE, "not self.training", "self.training", "False"),
    "training mode of draws": Question(
        "TRP101",
        NET
        + """

    if __name__ == "__main__":
        net = Net()
        net.load_state_dict(torch.load("weights.pt"))
        print(net(torch.zeros(3), "x", input()))
    """,
        "print(torch.randn_like(x))",
        "self.training",
        "self.training",
        "True",
    ),
    "gradients": Question(
        "TRP502", NET, RESIZE, "not torch.is_grad_enabled()", "torch.is_grad_enabled()", "False"
    ),
    "device": Question("TRP502", NET, RESIZE, 'x.device.type == "cpu"', "x.device.type", '"cpu"'),
    "scripting": Question("TRP502", NET, RESIZE, "torch.jit.is_scripting()", "torch.jit.is_scripting()", "True"),
    "value of the mode": Question(
        "TRP502", NET, "F.pad(x, (1, 1, 1, 1), mode=mode)", 'mode == "constant"', "mode", '"constant"'
    ),
    "determinism": Question(
        "TRP401", SCRIPT, 'setattr(torch.backends.cudnn, "benchmark", True)',
        "not args.deterministic", "args.deterministic", "False",
    ),
    "seed by default": Question("TRP102", SCRIPT, "np.random.seed()", "args.seed == 5", "args.seed", "5"),
    "rank": Question(
        "TRP106", SCRIPT, "torch.manual_seed(0)", "rank == 0", "rank", "0", is_wrong=True,
    ),
}  # fmt: skip
NOT_KNOWN = ("seed by default", "either of two")  # where a test about a seed may come out either way, it is silent
PAIRS = [
    (question, guard) for question in QUESTIONS for guard in (*GUARDS, *UNGUARDED) if (question, guard) != NOT_KNOWN
]


def _name(question: str, guard: str) -> str:
    return f"{question} {guard}".replace(" ", "_").lower() + ".py"


def _written(question: Question, guard: str) -> str:
    body = textwrap.dedent((GUARDS | UNGUARDED)[guard]).strip("\n").format(**question._asdict())
    program = textwrap.dedent(question.program)
    indent = next(line for line in program.splitlines() if "{body}" in line).partition("{")[0]
    return program.replace("{body}", textwrap.indent(body, indent).strip())


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> set[tuple[str, str]]:
    """The code of each finding with the file that it is in."""
    folder = tmp_path_factory.mktemp("guards")
    (folder / "pyproject.toml").write_text("")
    for question, guard in PAIRS:
        (folder / _name(question, guard)).write_text(_written(QUESTIONS[question], guard))
    codes = sorted({question.code for question in QUESTIONS.values()})
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": codes})
    result = check(Request((folder,), resolver))
    assert not result.problems
    return {(finding.code, finding.location.path) for finding in result.findings}


@pytest.mark.parametrize(("question", "guard"), PAIRS, ids=[f"{q} - {g}" for q, g in PAIRS])
def test_each_guard_is_understood_by_each_question(question: str, guard: str, reported: set[tuple[str, str]]) -> None:
    code, is_wrong = QUESTIONS[question].code, QUESTIONS[question].is_wrong
    expected = is_wrong if guard in GUARDS else not is_wrong
    assert ((code, _name(question, guard)) in reported) is expected
