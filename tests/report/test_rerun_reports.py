"""The reports of a rerun: for a person at a terminal, as JSON, and as a page that a browser shows without an error."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from browser import DESK, PHONE, fits, needs_chromium, opened
from rerun.outcomes import IDENTICAL, PARTED, SOURCE
from torchrepro_lint.report import rerun_html, rerun_json, rerun_text
from torchrepro_lint.rerun.results import Proof

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/rerun.schema.json").read_text(encoding="utf-8"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(SOURCE)
    return tmp_path


def test_the_story_at_a_terminal(root: Path) -> None:
    assert "".join(rerun_text.render(PARTED, root, False)) == (
        "PARTED at step 3 of 8 steps\n"
        "1. UNSEEDED: the torch generator, never seeded before aten::uniform_ draws from it\n"
        "   --> train.py:4\n"
        "     4 | model = nn.Linear(8, 1)\n"
        "   = step 3\n"
        "   = shown: with the torch generator pinned the runs agree here\n"
        "   = predicted by TRP101 at train.py:4: Seed it\n"
        "2. OPERATION: aten::index_put_, the result, of equal inputs\n"
        "   --> train.py:5\n"
        "     5 | x = table[index]  # <b>&amp;\n"
        "   = step 4, rank1, called from train.py:6\n"
        "   = float32 (1000, 64), 25 % of its elements differ, by up to 12 ulp\n"
        "   = under deterministic algorithms: agrees\n"
        "   = no rule saw this\n"
        "  note: a note\n"
        "  compared: 8 losses; not compared: printed text, files, and what happens after the last step\n"
        "  linter: 1 of 2 causes predicted; 2 findings: 1 observed, 1 not reached\n"
    )


def test_the_story_never_takes_more_than_forty_lines(root: Path) -> None:
    many = replace(PARTED, causes=PARTED.causes * 10, notes=("note",) * 50)
    assert len("".join(rerun_text.render(many, root, False)).splitlines()) <= 40


def test_identical_says_which_share_of_runs_may_still_differ(root: Path) -> None:
    first = next(iter(rerun_text.render(IDENTICAL, root, False)))
    assert first == "IDENTICAL over 8 steps in 60 runs (95 % sure that fewer than 5 % of runs differ)\n"


def test_identical_in_one_pair_of_runs_says_how_to_know_more(root: Path) -> None:
    first = next(iter(rerun_text.render(replace(IDENTICAL, comparisons=1), root, False)))
    assert first == (
        "IDENTICAL over 8 steps in 2 runs (what differs only now and then takes more of them to show: --pairs 20)\n"
    )


@pytest.mark.parametrize(("runs", "told"), [(1, "1 run"), (59, "59 runs")])
def test_a_recorded_run_is_none_of_the_runs_that_were_made(root: Path, runs: int, told: str) -> None:
    outcome = replace(IDENTICAL, against_recording=True, comparisons=runs, runs=runs)
    first = next(iter(rerun_text.render(outcome, root, False)))
    assert first.startswith(f"IDENTICAL over 8 steps in {told} and the recorded one (")
    page = "".join(rerun_html.render(outcome, root))
    assert "run once</p>" in page if runs == 1 else "run 59 times</p>" in page
    parted = replace(PARTED, against_recording=True, comparisons=runs)
    first = next(iter(rerun_text.render(parted, root, False)))
    assert first.removeprefix("PARTED at step 3 of 8 steps") == ("\n" if runs == 1 else ", first in run 59\n")


def test_json_is_as_the_schema_says() -> None:
    for outcome in (PARTED, IDENTICAL):
        document = json.loads("".join(rerun_json.render(outcome)))
        jsonschema.validate(document, SCHEMA)
        assert document["schema"] == 1


def test_what_safe_fixes_change_is_part_of_the_json_and_of_the_page(root: Path) -> None:
    proof = Proof(IDENTICAL, 3, root)
    document = json.loads("".join(rerun_json.render(PARTED, proof)))
    jsonschema.validate(document, SCHEMA)
    assert (document["verdict"], document["with_fixes"]["verdict"]) == ("PARTED", "IDENTICAL")
    assert document["with_fixes"]["fixes"] == 3
    page = "".join(rerun_html.render(PARTED, root, proof))
    assert "<h2>With 3 safe fixes</h2><p class=identical>IDENTICAL over 8 steps" in page
    left = "".join(rerun_html.render(PARTED, root, replace(proof, outcome=PARTED)))
    assert left.count("<li class=left>") == len(PARTED.causes)
    jsonschema.validate(json.loads("".join(rerun_json.render(PARTED, replace(proof, outcome=PARTED)))), SCHEMA)


def test_the_page_escapes_what_comes_from_the_program_and_needs_no_network(root: Path) -> None:
    page = "".join(rerun_html.render(PARTED, root))
    assert "# &lt;b&gt;&amp;amp;" in page
    assert "never seeds &lt;torch&gt;" in page
    assert not re.search(r"https?:|src=|href=|@import|url\(", page)
    assert "prefers-color-scheme" in page or "color-scheme: light dark" in page
    assert page.count("<i class=equal") == 3
    assert page.count("<i class=different") == 5
    assert page.count("<polyline") == 2


@pytest.mark.slow
@needs_chromium
def test_a_browser_shows_and_filters_the_causes_at_any_width_light_and_dark(root: Path) -> None:
    (root / "page.html").write_text("".join(rerun_html.render(PARTED, root)), encoding="utf-8")
    with opened() as page:
        page.goto((root / "page.html").as_uri())
        causes = page.locator(".cause:visible")
        assert [cause.get_attribute("data-kind") for cause in causes.all()] == ["UNSEEDED", "OPERATION"]
        page.select_option("#filter", "OPERATION")
        assert causes.get_attribute("data-kind") == "OPERATION"
        colors = set()
        for width in (PHONE, DESK):
            page.set_viewport_size({"width": width, "height": 800})
            assert fits(page)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            colors.add(page.evaluate("getComputedStyle(document.querySelector('h1')).color"))
        assert len(colors) == 2
