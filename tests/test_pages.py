"""What docs/tutorial.md, editors.md, agents.md and determinism.md tell people to do, is done."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from torchrepro_lint import cards, check
from torchrepro_lint.cli import COMMANDS
from torchrepro_lint.cli.program import program

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NEW = ("tutorial", "editors", "agents", "determinism", "faq")


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page(name), re.M | re.S)


def lint(*arguments: str) -> Result:
    """A command in the current folder, run in this process."""
    return CliRunner().invoke(program, arguments, prog_name="torchrepro-lint")


def test_the_tutorial_finds_and_mends_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "flowers"
    shutil.copytree(ROOT / "examples" / "flowers", folder)
    monkeypatch.chdir(folder)
    lines = [shlex.split(line) for block in blocks("tutorial", "console") for line in block.splitlines()]
    ours = [words[1:] for words in lines if words[0] == "torchrepro-lint" and words[1] != "rerun"]
    assert ours == [["."], [".", "--diff"], [".", "--fix"], [".", "--output-format", "concise"]]
    done = [lint(*words) for words in ours]
    assert "9 certain and 3 likely problems" in done[0].stdout and "9 certain and 3 likely problems" in page("tutorial")
    assert "would fix 9 problems" in done[1].stderr
    assert "Fixed 9 problems, 2 certain problems and 2 notes remain" in done[2].stdout
    assert re.findall(r"TRP\d{3}(?= warning)", done[3].stdout) == ["TRP201", "TRP109"]


def test_every_command_option_and_rule_that_is_named_exists() -> None:
    helps = {name: lint(name, "--help").stdout for name in ("check", "rerun", "env", "verify", "ops", "rule")}
    known = {option for text in helps.values() for option in re.findall(r"--[a-z][a-z-]+", text)}
    for name in NEW:
        text = re.sub("--(nproc-per-node|seed)", "", page(name))  # of torchrun, and of the tutorial's program
        assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) <= known, name
        assert set(re.findall(r"TRP\d{3}", text)) <= set(cards.codes()), name


def written_commands(text: str) -> Iterator[list[str]]:
    """The words of each command line of ours in a page: a line of a block, a code span, an example of a help."""
    for found in re.finditer(r"^ *(?:- )?torchrepro-lint (.+)$|`torchrepro-lint ([^`\n]+)`", text, re.M):
        line = re.split(r" {2,}| [|<#] | \\\| |\s#", found[1] or found[2])[0]
        yield shlex.split(line.replace("$CI_DEFAULT_BRANCH", "main"))


@pytest.mark.parametrize("where", [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *COMMANDS], ids=str)
def test_every_command_that_is_written_has_options_and_values_that_exist(where: Path | str) -> None:
    text = where.read_text(encoding="utf-8") if isinstance(where, Path) else lint(where, "--help").stdout
    for words in written_commands(text):
        name, rest = (words[0], words[1:]) if words[0] in COMMANDS else ("check", words)
        command = program.get_command(click.Context(program), name)
        assert command is not None
        try:
            command.make_context(name, rest).close()
        except click.exceptions.Exit:
            continue  # --help
        except click.UsageError as error:
            is_absent = re.search("does not exist|No such file", error.format_message())
            assert is_absent, f"torchrepro-lint {shlex.join(words)}: {error.format_message()}"


def test_the_problem_matcher_reads_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = next(json.loads(block) for block in blocks("editors", "json") if "problemMatcher" in block)
    (tmp_path / "seeds.py").write_text("import torch\ntorch.seed()\n")
    monkeypatch.chdir(tmp_path)
    command = tasks["tasks"][0]["command"].split()
    printed = lint(*command[1:]).stdout.splitlines()
    pattern = tasks["tasks"][0]["problemMatcher"]["pattern"]
    found = [re.fullmatch(pattern["regexp"], line) for line in printed]
    places = [
        tuple(match[pattern[key]] for key in ("file", "line", "column", "code", "severity")) for match in found if match
    ]
    assert len(places) == len(printed) and ("seeds.py", "2", "1", "TRP102", "warning") in places


def test_the_page_on_determinism_says_what_is_reported() -> None:
    seeded = next(block for block in blocks("determinism", "python") if "manual_seed" in block)
    imports = "import random\nimport numpy\nimport torch\n"
    training = "torch.nn.Linear(1, 1).weight.sum().backward()\nprint(random.random(), numpy.random.rand())\n"
    found = [
        [f.code for f in check("train.py", text=f"{imports}seed = 0\n{text}{training}", isolated=True).findings]
        for text in (seeded, "")
    ]
    assert found == [[], ["TRP101"]]
