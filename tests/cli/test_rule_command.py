"""`rule`: the pages of the rules, from any folder."""

from __future__ import annotations

import json

import pytest
from command_line import Run

from torchrepro_lint import cards


@pytest.mark.parametrize("name", ["TRP002", "trp002", "unused-suppression"])
def test_a_rule_by_code_or_name(run: Run, name: str) -> None:
    done = run("rule", name)
    assert done.exit_code == 0
    assert done.stdout.startswith("TRP002 unused-suppression\n")
    assert "\nFix safety\n" in done.stdout
    assert "\nWhy it matters\n" not in done.stdout


def test_the_whole_page_is_shown_when_asked_for(run: Run) -> None:
    page = run("rule", "TRP201", "--full").stdout
    assert [page.index(f"\n{heading}\n") for heading in cards.HEADINGS]
    assert len(page.splitlines()) > 100 > len(run("rule", "TRP201").stdout.splitlines())


def test_a_prefix_lists_its_rules(run: Run) -> None:
    for names, wanted in ((["trp3"], ["TRP301", "TRP302", "TRP303"]), (["TRP60", "TRP301"], ["TRP601", "TRP301"])):
        done = run("rule", *names)
        assert done.exit_code == 0
        listed = [line.split()[0] for line in done.stdout.splitlines() if line.startswith("  TRP")]
        assert set(wanted) <= set(listed) < set(cards.codes())


def test_several_rules_come_in_the_order_asked_for(run: Run) -> None:
    done = run("rule", "TRP002", "TRP001")
    assert done.stdout.index("TRP002 unused-suppression\n") < done.stdout.index("TRP001 syntax-error\n")


def test_all_lists_every_rule(run: Run) -> None:
    done = run("rule", "--all")
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.stdout.splitlines() if line.startswith("  TRP")] == list(cards.codes())


def test_all_as_json_holds_every_card(run: Run) -> None:
    listed = json.loads(run("rule", "--all", "--output-format", "json").stdout)
    assert [card["code"] for card in listed] == list(cards.codes())
    assert tuple(listed[0]["sections"]) == cards.HEADINGS


def test_an_unknown_rule_exits_with_2_and_the_nearest(run: Run) -> None:
    done = run("rule", "unused-supression")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "torchrepro-lint: no rule 'unused-supression'; did you mean unused-suppression?\n"


@pytest.mark.parametrize("arguments", [(), ("TRP001", "--all")])
def test_either_a_rule_or_all(run: Run, arguments: tuple[str, ...]) -> None:
    done = run("rule", *arguments)
    assert done.exit_code == 2
    assert "name a rule, such as TRP201, or give --all" in done.stderr


def test_a_page_is_coloured_when_asked(run: Run) -> None:
    assert "\x1b[1mUse instead\x1b[0m" in run("rule", "TRP002", "--color", "always").stdout
    assert "\x1b[1mWhy it matters\x1b[0m" in run("rule", "TRP002", "--full", "--color", "always").stdout
    assert "\x1b[" not in run("rule", "TRP002").stdout
