"""The documentation as a site: built strictly, whole, and needing nothing from elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit

import pytest

from browser import DESK, fits, needs_chromium, opened
from made_once import made_once
from torchrepro_lint import cards
from torchrepro_lint.kernels.operations import every

if TYPE_CHECKING:
    from playwright.sync_api import Locator

pytest.importorskip("mkdocs", reason="needs the extra docs")
pytest.importorskip("material", reason="needs the extra docs")
ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def build(folder: Path) -> None:
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
        environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr

    return made_once(tmp_path_factory, "site", build)


class _Page(HTMLParser):
    """What a page loads, and the names of its metadata."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.named: dict[str, str] = {}
        self.links: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given["id"]} if "id" in given else set()
        if tag in ("script", "img", "link") and given.get("rel") not in ("canonical", "edit"):
            self.loaded += [given[key] for key in ("src", "href") if key in given]
        self.named |= {given["name"]: given.get("content", "")} if tag == "meta" and "name" in given else {}
        self.links += [given["href"]] if tag == "a" and "href" in given else []


def parsed(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def test_every_rule_and_operation_has_its_place(site: Path) -> None:
    text = (site / "operations-in-full" / "index.html").read_text(encoding="utf-8")
    assert [op.id for op in every() if f'id="{op.id}"' not in text] == []
    listed = parsed(site / "rules" / "index.html").links
    for code in cards.codes():
        card, page = cards.load_card(code), (site / "rules" / code / "index.html").read_text(encoding="utf-8")
        assert f"{code} {card.name}" in page and "What it does" in page
        assert f"{code}/" in listed


def test_the_search_finds_rules_and_operations(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = {entry["location"].partition("#")[0] for entry in index["docs"] if "TRP201" in entry["title"]}
    assert found == {"rules/TRP201/"}
    assert any("scatter_add_" in entry["text"] for entry in index["docs"])


def test_pages_load_nothing_from_elsewhere_and_fit_a_phone(site: Path) -> None:
    pages = list(site.rglob("index.html"))
    assert len(pages) > len(list(cards.codes()))
    for path in pages:
        page = parsed(path)
        assert [url for url in page.loaded if "//" in url] == []
        assert "width=device-width" in page.named["viewport"]


def test_every_link_within_the_site_leads_to_a_page_or_file_and_a_place_in_it(site: Path) -> None:
    pages = {path: parsed(path) for path in site.rglob("index.html")}
    links = [(path, link, urlsplit(link)) for path, page in pages.items() for link in (*page.links, *page.loaded)]
    ours = [(path, link, to) for path, link, to in links if not to.scheme and not to.netloc]
    assert len(ours) > len(pages)
    assert [(str(path.relative_to(site)), link) for path, link, to in ours if not _is_there(path, to, pages)] == []


def _is_there(path: Path, to: SplitResult, pages: Mapping[Path, _Page]) -> bool:
    target = (path.parent / unquote(to.path)).resolve() if to.path else path
    target = target / "index.html" if target.is_dir() else target
    return target.exists() and (not to.fragment or unquote(to.fragment) in pages[target].ids)


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    """Where the site is served."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


TORN = r"""() => {
  const torn = [];
  for (const code of document.querySelectorAll("article :not(pre) > code")) {
    const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) for (const { 0: word, index } of texts.currentNode.data.matchAll(/-\S*/g)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, index);
      range.setEnd(texts.currentNode, index + word.length);
      if (new Set([...range.getClientRects()].map((line) => line.top)).size > 1) torn.push(code.textContent);
    }
  }
  return torn;
}"""


def column(table: Locator, number: int) -> list[str]:
    return table.locator(f"tbody tr td:nth-child({number})").all_inner_texts()


@needs_chromium
def test_in_a_browser(address: str) -> None:
    with opened() as page:
        page.goto(f"{address}/operations/")
        assert fits(page)
        table = page.locator("article table").first
        table.locator("th").first.click()
        names = column(table, 1)
        assert len(names) > 1 and names == sorted(names, key=str.lower)

        page.goto(f"{address}/rules/")
        assert fits(page)
        table = page.locator("article table")
        written = column(table, 1)
        for _ in "up", "down":
            table.locator("th").first.click()
        rules = [name for name in written if name.startswith("TRP")]
        assert column(table, 1) == sorted(rules, reverse=True), "titles of groups go when rows are sorted"

        page.set_viewport_size({"width": DESK, "height": 800})
        page.locator("[data-md-component=search-query]").press_sequentially("TRP201")  # it looks when a key goes up
        page.locator(".md-search-result__link").first.wait_for()
        assert "TRP201" in str(page.locator(".md-search-result__link").first.get_attribute("href"))


@needs_chromium
def test_no_option_is_torn_on_a_phone(address: str) -> None:
    with opened() as page:
        for path in ("", "pipelines/", "configuration/", "rerun/"):
            page.goto(f"{address}/{path}")
            assert fits(page), path
            assert page.locator("article :not(pre) > code", has_text="-").count() > 0, path
            assert page.evaluate(TORN) == [], path
