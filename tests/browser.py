"""A page in headless Chromium, for the tests of what people open in a browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
PHONE, DESK = 390, 1280  # widths in pixels
HANGS = 600_000  # milliseconds, after which the browser is not only slow


@contextmanager
def opened() -> Iterator[Page]:
    """An empty page on a phone. It is an error if what is shown in it says something on the console, raises, asks its
    reader something, or asks another machine for anything."""
    sync_api = pytest.importorskip("playwright.sync_api")
    flags = ["--disable-background-networking", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags, timeout=HANGS)
        page = browser.new_page(viewport={"width": PHONE, "height": 800})
        page.set_default_timeout(HANGS)
        told: list[str] = []
        page.on("console", lambda message: told.append(message.text))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("dialog", lambda dialog: told.append(dialog.message))
        page.on("request", lambda request: None if _is_here(request.url) else told.append(request.url))
        yield page
        browser.close()
    assert told == []


def _is_here(url: str) -> bool:
    return urlsplit(url).hostname in (None, "127.0.0.1")


def fits(page: Page) -> bool:
    """Whether the page is as wide as its window."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))
