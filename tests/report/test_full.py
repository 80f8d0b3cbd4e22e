"""The full format, as a person reads it."""

from __future__ import annotations

import json
import textwrap

from findings_by_hand import MESSAGE, around, finding, fix, related, rendered, result, span

from torchrepro_lint.model import Certainty, Finding, Level, Safety
from torchrepro_lint.report.terminal import columns

TRAIN = """\
import torch
from data import build

def main(args):
    train_set = build(args)
    loader = DataLoader(train_set, shuffle=True)
    print(len(loader))
    torch.manual_seed(0)
    for epoch in range(10):
        for batch in loader:
            step(batch)
"""
DATA = """\
def build(args):
    return torch.randn(3)
"""
FILES = {"train.py": TRAIN, "data.py": DATA}
LOADER = "DataLoader(train_set, shuffle=True)"


def shown(*findings: Finding, text: str | None = None, width: int = 100) -> str:
    """The report without the summary."""
    files = FILES if text is None else {"train.py": text}
    report = rendered("full", result(*findings, files=files), width=width)
    return report[: report.rindex("Found ")]


def expected(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n") + "\n"


def test_one_line_with_its_fix() -> None:
    made = finding(around(TRAIN, LOADER), fix=fix())
    assert shown(made) == expected("""
        TRP201 warning (certain): `DataLoader(...)` shuffles without `generator=`
         --> train.py:6:14
          |
        6 |     loader = DataLoader(train_set, shuffle=True)
          |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          |
          = help: Give the loader a seeded generator [safe fix]
          = note: `torchrepro-lint rule TRP201` explains loader-without-generator
    """)


def test_a_finding_without_a_fix_says_what_to_do_by_hand() -> None:
    by_hand = shown(finding(around(TRAIN, LOADER), help="Pass a seeded generator\x1b[0m"))
    assert "\n  = help: Pass a seeded generator␛[0m\n  = note: " in by_hand
    fixed = shown(finding(around(TRAIN, LOADER), fix=fix(), help="Pass a seeded generator"))
    assert fixed.count("= help:") == 1
    assert "= help: Give the loader a seeded generator [safe fix]" in fixed


def test_related_places_in_the_frame_and_in_other_files() -> None:
    made = finding(
        around(TRAIN, LOADER),
        related(around(TRAIN, "torch.manual_seed(0)"), "seeded here"),
        related(around(TRAIN, "for epoch"), "iterated here"),
        related(around(DATA, "torch.randn(3)"), "drawn there", path="data.py"),
        level=Level.ERROR,
        certainty=Certainty.LIKELY,
    )
    assert shown(made) == expected("""
        TRP201 error (likely): `DataLoader(...)` shuffles without `generator=`
         --> train.py:6:14
          |
        6 |     loader = DataLoader(train_set, shuffle=True)
          |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        7 |     print(len(loader))
        8 |     torch.manual_seed(0)
          |     -------------------- seeded here
        9 |     for epoch in range(10):
          |     --------- iterated here
          |
         ::: data.py:2:12
          |
        2 |     return torch.randn(3)
          |            -------------- drawn there
          |
          = note: `torchrepro-lint rule TRP201` explains loader-without-generator
    """)


def test_a_related_place_that_is_the_finding_labels_it() -> None:
    where = around(TRAIN, LOADER)
    assert "^^^ shuffled here\n" in shown(finding(where, related(where, "shuffled here")))


def test_lines_far_apart_are_separated() -> None:
    made = finding(around(TRAIN, "step(batch)"), related(around(TRAIN, "import torch"), "imported here"))
    report = shown(made)
    assert "\n 1 | import torch\n   | ------------ imported here\n...\n11 |             step(batch)\n" in report


CALL = """\
if True:
    z = DataLoader(
        train,
        {}shuffle=True,
    )
"""


def test_a_short_range_over_lines_has_a_bar_and_is_whole() -> None:
    text = CALL.format("")
    made = finding(around(text, text[text.index("DataLoader") : text.rindex(")") + 1]))
    assert shown(made, text=text) == expected("""
        TRP201 warning (certain): `DataLoader(...)` shuffles without `generator=`
         --> train.py:2:9
          |
        2 |       z = DataLoader(
          |  _________^
        3 | |         train,
        4 | |         shuffle=True,
        5 | |     )
          | |_____^
          |
          = note: `torchrepro-lint rule TRP201` explains loader-without-generator
    """)


def test_a_long_range_over_lines_is_cut_in_the_middle() -> None:
    text = CALL.format("a=1,\n        b=2,\n        c=3,\n        ").replace("z = ", "")
    made = finding(
        around(text, text[text.index("DataLoader") : text.rindex(")") + 1]),
        related(around(text, "if"), "only here"),
    )
    assert shown(made, text=text) == expected("""
        TRP201 warning (certain): `DataLoader(...)` shuffles without `generator=`
         --> train.py:2:5
          |
        1 |   if True:
          |   -- only here
        2 | /     DataLoader(
        3 | |         train,
        ... |
        8 | |     )
          | |_____^
          |
          = note: `torchrepro-lint rule TRP201` explains loader-without-generator
    """)


def test_a_related_range_over_lines_is_shown_by_its_first() -> None:
    made = finding(around(TRAIN, LOADER), related(around(TRAIN, TRAIN[TRAIN.index("for epoch") :]), "epoch loop"))
    assert "9 |     for epoch in range(10):\n   |     ----------------------- epoch loop\n" in shown(made)
    assert "step(batch)" not in shown(made)


def test_a_range_that_ends_at_the_start_of_a_line_does_not_show_it() -> None:
    report = shown(finding(span(7, 1, 8, 1)))
    assert "print(len(loader))\n" in report
    assert "manual_seed" not in report


def test_wide_and_combining_characters_keep_the_underline_in_place() -> None:
    text = 's = "漢字e\u0301"; loader(漢, x)\n'
    lines = shown(finding(around(text, "loader(漢, x)")), text=text).split("\n")
    source, marks = lines[3], lines[4]
    assert columns(source[: source.index("loader")]) == marks.index("^")
    assert marks.count("^") == columns("loader(漢, x)") == 13


def test_tabs_are_expanded() -> None:
    text = "if x:\n\tf(\t1)\n"
    report = shown(finding(around(text, "f(\t1)")), text=text)
    assert "2 |     f(  1)\n  |     ^^^^^^\n" in report


def test_what_a_terminal_would_obey_is_made_visible() -> None:
    text = 'x = "\x1b[31m\u202e"\n'
    report = shown(finding(around(text, "x"), message="bad \x1b]0;title\x07 name"), text=text)
    assert "\x1b" not in report
    assert "\x07" not in report
    assert "\u202e" not in report
    assert 'x = "␛[31m\ufffd"' in report


def test_a_long_line_is_cut_around_the_range() -> None:
    text = "foo(" + "a" * 100 + ", DataLoader(b), " + "c" * 100 + ")\n"
    report = shown(finding(around(text, "DataLoader(b)")), text=text, width=60)
    source, marks = report.split("\n")[3:5]
    assert all(len(line) <= 60 for line in report.split("\n")[2:5])
    assert source.startswith("1 | ...aaa")
    assert source.endswith("ccc...")
    assert source[marks.index("^") : marks.rindex("^") + 1] == "DataLoader(b)"


def test_the_end_of_a_long_line_is_not_cut_when_it_fits() -> None:
    text = "foo(" + "a" * 100 + ", DataLoader(b))\n"
    report = shown(finding(around(text, "DataLoader(b)")), text=text, width=60)
    assert report.split("\n")[3].endswith("a, DataLoader(b))")


def test_a_range_wider_than_the_terminal_shows_its_start() -> None:
    text = "foo(" + "a" * 100 + ", DataLoader(" + "b" * 200 + "))\n"
    report = shown(finding(around(text, "DataLoader(" + "b" * 200 + ")")), text=text, width=60)
    source, marks = report.split("\n")[3:5]
    assert "DataLoader(bbb" in source
    assert source.index("DataLoader") == marks.index("^")
    assert len(source) <= 60
    assert len(marks) <= 60


def test_a_label_that_does_not_fit_goes_below() -> None:
    text = "x = " + "a" * 40 + "\n"
    made = finding(span(1, 1, 1, 2), related(around(text, "a" * 40), "this is where it is drawn from"))
    report = shown(made, text=text, width=52)
    assert "  |     " + "-" * 40 + "\n  |     this is where it is drawn from\n" in report


def test_an_empty_range_has_one_mark() -> None:
    assert "  | ^\n" in shown(finding(span(1, 1, 1, 1)))


def test_a_place_past_the_end_of_a_line_or_file_does_no_harm() -> None:
    assert "import torch\n" in shown(finding(span(1, 90, 1, 95)))
    assert " --> train.py:99:1\n" in shown(finding(span(99, 1, 99, 2)))


def test_a_source_that_cannot_be_read_leaves_the_rest() -> None:
    made = finding(span(3, 1, 3, 2), path="gone.py", fix=fix(Safety.UNSAFE))
    assert shown(made) == expected("""
        TRP201 warning (certain): `DataLoader(...)` shuffles without `generator=`
         --> gone.py:3:1
          = help: Give the loader a seeded generator [unsafe fix]
          = note: `torchrepro-lint rule TRP201` explains loader-without-generator
    """)


def test_a_rule_is_pointed_to_once() -> None:
    report = shown(finding(span(1, 1, 1, 7)), finding(span(2, 1, 2, 5)))
    assert report.count("= note:") == 1


def test_depends_says_on_what() -> None:
    assert "TRP201 note (depends on the run): " in shown(
        finding(span(1, 1, 1, 7), level=Level.NOTE, certainty=Certainty.DEPENDS)
    )


NOTEBOOK = """\
{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
 {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": null,
  "source": ["import torch\\n", "torch.manual_seed(0)"]},
 {"cell_type": "markdown", "metadata": {}, "source": ["words"]},
 {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": null,
  "source": ["x = 1\\n", "y = torch.randn(2)"]}
]}
"""


def test_a_notebook_is_shown_by_cell() -> None:
    made = finding(
        span(2, 5, 2, 19),
        related(span(2, 1, 2, 21), "seeded here", path="nb.ipynb", cell=1),
        path="nb.ipynb",
        cell=3,
    )
    report = rendered("full", result(made, files={"nb.ipynb": NOTEBOOK}))
    assert " --> nb.ipynb:cell 3:2:5\n  |\n2 | y = torch.randn(2)\n  |     ^^^^^^^^^^^^^^\n" in report
    assert " ::: nb.ipynb:cell 1:2:1\n  |\n2 | torch.manual_seed(0)\n  | ---" in report


def test_a_finding_about_a_whole_notebook_shows_no_source() -> None:
    made = finding(span(1, 1, 1, 2), path="nb.ipynb", code="TRP004", name="no-python-in-notebook", level=Level.NOTE)
    in_r = json.dumps({"cells": [{"cell_type": "code", "source": "x <- 1"}], "metadata": {"language": "R"}})
    report = rendered("full", result(made, files={"nb.ipynb": in_r}))
    assert " --> nb.ipynb:1:1\n  = note: `torchrepro-lint rule TRP004` explains no-python-in-notebook\n" in report


def test_colors_are_only_escape_codes_around_the_same_text() -> None:
    import re

    made = finding(around(TRAIN, LOADER), related(around(TRAIN, "import torch"), "imported"), fix=fix())
    plain = rendered("full", result(made, files=FILES))
    colored = rendered("full", result(made, files=FILES), color=True)
    assert "\x1b[1;33mTRP201 warning\x1b[0m" in colored
    assert f"\x1b[1m{MESSAGE}\x1b[0m" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain
