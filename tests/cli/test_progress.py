"""The progress bar: patient, and gone at the end."""

from __future__ import annotations

import re

import pytest

from torchrepro_lint.cli.streams import Progress


def test_a_short_run_has_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress()
    progress(1, 2)
    progress.clear()
    assert capsys.readouterr().err == ""


def test_a_long_run_has_one_and_clears_it(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(patience=0)
    progress(1, 2)
    progress(2, 2)  # too soon after the first
    progress.clear()
    captured = capsys.readouterr()
    bar = re.escape("\r[" + "#" * 15 + "-" * 15 + "] 1 of 2 files, ")
    assert re.fullmatch(bar + r"\d+ a second\x1b\[K\r\x1b\[K", captured.err)
    assert captured.out == ""
