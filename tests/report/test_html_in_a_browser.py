"""The HTML report in headless Chromium: what its script does, and that no text of a finding is one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from findings_by_hand import finding, related, rendered, result, span
from test_formats_for_programs import HOSTILE, hostile

from browser import fits, needs_chromium, opened
from torchrepro_lint.model import Certainty

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.slow, needs_chromium]


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with opened() as page:
        yield page


def shown(page: Page, path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    page.goto(path.as_uri())


def test_it_groups_and_filters(page: Page, tmp_path: Path) -> None:
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
    steps = page.locator("article[data-rule^=TRP101] .way li").all_inner_texts()
    assert [step.split("\n") for step in steps] == [
        ["here train.py:1:1", "main()"],
        ["reached through here train.py:2:1", "f()"],
        ["drawn here train.py:3:1", "g()"],
    ]
    assert fits(page), "wider than a phone"


def test_hostile_text_does_nothing(page: Page, tmp_path: Path) -> None:
    shown(page, tmp_path / "report.html", rendered("html", hostile()))
    for view in ("rule", "program", "file"):
        page.select_option("select[name=view]", view)
        assert page.locator("article:visible").count() == len(HOSTILE)
    assert page.locator("img, script[src], iframe").count() == 0
    assert page.locator("main a").count() == len(HOSTILE)
