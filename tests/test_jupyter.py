"""`%load_ext torchrepro_lint`: what is told below the cells of a notebook."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest


def test_each_cell_is_followed_by_what_is_newly_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shells = pytest.importorskip("IPython.testing.globalipapp", reason="needs IPython")
    (tmp_path / "draws.py").write_text("import random\n\n\ndef draw():\n    return random.random()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    shell = shells.start_ipython() or shells.get_ipython()
    shell.run_line_magic("load_ext", "torchrepro_lint")
    capsys.readouterr()

    def told(cell: str) -> list[str]:
        shell.run_cell(textwrap.dedent(cell), store_history=True)
        return [line for line in capsys.readouterr().out.splitlines() if line.startswith("torchrepro-lint: ")]

    assert told("import random\nfrom draws import draw") == []
    (line,) = told("random.seed()\ndraw()")
    assert line.startswith(f"torchrepro-lint: In [{shell.execution_count - 1}], line 1: TRP102 warning (certain): ")
    assert told("1 + 1") == []
    shell.run_line_magic("unload_ext", "torchrepro_lint")
    capsys.readouterr()
    assert told("random.seed()") == []
