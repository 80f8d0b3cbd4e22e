"""The HTML report in headless Chromium: what its script does, and that no text of a finding is one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from findings_by_hand import finding, related, rendered, result, span
from test_formats_for_programs import HOSTILE, hostile

from torchrepro_lint.model import Certainty

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")]


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """A page; what its console says, and its errors, fail a test."""
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=sandbox)
        yield browser.new_page(viewport={"width": 390, "height": 800})
        browser.close()


@pytest.fixture
def told(page: Page) -> Iterator[list[str]]:
    """What goes wrong on the page."""
    lines: list[str] = []
    page.on("console", lambda message: lines.append(message.text))
    page.on("pageerror", lambda error: lines.append(str(error)))
    page.on("dialog", lambda dialog: lines.append(dialog.message))
    yield lines
    assert lines == []


def shown(page: Page, path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    page.goto(path.as_uri())


def test_it_groups_and_filters(page: Page, told: list[str], tmp_path: Path) -> None:
    draw = finding(
        span(1, 1, 1, 2), related(span(2, 1, 2, 2), "reached through here"), related(span(3, 1, 3, 2), "drawn here"),
        code="TRP101", name="unseeded-program", message="`main()` draws", certainty=Certainty.LIKELY,
    )  # fmt: skip
    other = finding(span(1, 1, 1, 2), path="data.py", message="`DataLoader(...)` shuffles")
    made = result(draw, other, files={"train.py": "main()\nf()\ng()\n", "data.py": "x\n"})
    made = made._replace(programs={"train.py": ("train.py",)})
    shown(page, tmp_path / "report.html", rendered("html", made))
    titles, articles, count = page.locator("h2:visible"), page.locator("article:visible"), page.locator("output")
    assert (titles.all_inner_texts(), count.inner_text()) == (["data.py", "train.py"], "2 of 2 shown")
    page.select_option("select[name=view]", "rule")
    assert titles.all_inner_texts() == ["TRP101 unseeded-program", "TRP201 loader-without-generator"]
    page.select_option("select[name=view]", "program")
    assert titles.all_inner_texts() == ["in no program that was checked", "train.py"]
    page.fill("input[name=text]", "DRAWS main")
    assert (articles.count(), titles.all_inner_texts(), count.inner_text()) == (1, ["train.py"], "1 of 2 shown")
    page.fill("input[name=text]", "")
    page.select_option("select[name=certainty]", "certain")
    assert "shuffles" in articles.inner_text()
    page.select_option("select[name=certainty]", "")
    page.locator("article[data-rule^=TRP101] summary").click()
    steps = page.locator("article[data-rule^=TRP101] svg text").all_text_contents()
    assert steps == [
        "here", "train.py:1:1", "main()", "reached through here", "train.py:2:1", "f()",
        "drawn here", "train.py:3:1", "g()",
    ]  # fmt: skip
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "wider than a phone"


def test_hostile_text_does_nothing(page: Page, told: list[str], tmp_path: Path) -> None:
    shown(page, tmp_path / "report.html", rendered("html", hostile()))
    for view in ("rule", "program", "file"):
        page.select_option("select[name=view]", view)
        assert page.locator("article:visible").count() == len(HOSTILE)
    assert page.locator("img, script[src], iframe").count() == 0
    assert page.locator("main a").count() == len(HOSTILE)
