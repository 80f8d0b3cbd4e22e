"""The reports of a rerun: for a person at a terminal, as JSON, and as a page that a browser shows without an error."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rerun.outcomes import IDENTICAL, PARTED, SOURCE
from torchrepro_lint.report import rerun_html, rerun_json, rerun_text

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/rerun.schema.json").read_text(encoding="utf-8"))
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


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


def test_json_is_as_the_schema_says() -> None:
    for outcome in (PARTED, IDENTICAL):
        document = json.loads("".join(rerun_json.render(outcome)))
        jsonschema.validate(document, SCHEMA)
        assert document["schema"] == 1


def test_the_page_escapes_what_comes_from_the_program_and_needs_no_network(root: Path) -> None:
    page = "".join(rerun_html.render(PARTED, root))
    assert "# &lt;b&gt;&amp;amp;" in page
    assert "never seeds &lt;torch&gt;" in page
    assert not re.search(r"https?:|src=|href=|@import|url\(", page)
    assert "prefers-color-scheme" in page or "color-scheme: light dark" in page
    assert page.count("<i class=equal") == 3
    assert page.count("<i class=different") == 5
    assert page.count("<polyline") == 2


_PROBE = """<script>
const causes = () => [...document.querySelectorAll(".cause")];
const seen = () => causes().filter((cause) => cause.checkVisibility()).map((cause) => cause.dataset.kind);
const root = document.documentElement;
const told = { before: seen() };
const select = document.getElementById("filter");
select.value = "OPERATION";
select.dispatchEvent(new Event("change"));
told.filtered = seen();
told.overflow = root.scrollWidth - root.clientWidth;
told.width = innerWidth;
told.heading = getComputedStyle(document.querySelector("h1")).color;
document.body.insertAdjacentHTML("beforeend", `<pre id=told>${JSON.stringify(told)}</pre>`);
</script>"""


def shown(root: Path, width: int, scheme: int) -> tuple[dict[str, Any], str]:
    """What a browser makes of the page in a frame of this width, and what it logs."""
    page = "".join(rerun_html.render(PARTED, root)).replace("</html>", _PROBE + "</html>")
    frame = f"<iframe width={width} height=900 style='border:0' srcdoc='{escape(page)}'></iframe>"
    inside = "document.querySelector('iframe').contentDocument.getElementById('told')"
    wait = f"<script>onload = () => document.body.append({inside})</script>"
    (root / "page.html").write_text(f"<!doctype html><meta charset=utf-8>{frame}{wait}", encoding="utf-8")
    command = [
        str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0",
        f"--blink-settings=preferredColorScheme={scheme}", "--virtual-time-budget=2000", "--dump-dom",
        f"--user-data-dir={root}/profile", (root / "page.html").as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    found = re.search(r"<pre id=\"told\">(.*?)</pre>(?!.*<pre id=\"told\")", done.stdout, re.S)
    assert found, done.stderr
    return json.loads(found[1]), done.stderr


@pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium")
def test_a_browser_shows_and_filters_the_causes_at_any_width_light_and_dark(root: Path) -> None:
    headings = set()
    for width, scheme in ((390, 0), (1280, 1)):
        told, log = shown(root, width, scheme)
        assert told["before"] == ["UNSEEDED", "OPERATION"]
        assert told["filtered"] == ["OPERATION"]
        assert (told["overflow"], told["width"]) == (0, width)
        assert "CONSOLE" not in log
        headings.add(told["heading"])
    assert len(headings) == 2
