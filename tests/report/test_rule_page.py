"""Cards as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

from torchrepro_lint import cards
from torchrepro_lint.report.rule_list import card_json, render_json, render_table
from torchrepro_lint.report.rule_page import render_page

CARD = """\
+++
code = "TRP201"
name = "loader-without-generator"
summary = "A shuffling loader draws its order from the global RNG."
level = "warning"
certainty = "likely"
fix = "safe"
since = "0.1.0"
default = false
message = "m"
help = "h"
fix_title = "t"
references = ["https://example.org/seen", "https://example.org/more"]
+++

## What it does

Reports **loaders** that [shuffle](https://example.org/shuffle) and have no generator of their own to draw
the order from.

## Why it matters

Two things:
- the first one is long enough that it has to be wrapped at the right margin of the page
- the second
  one, `f(**a)` and `g(**b)`
1. numbered

```
plain output

  indented
```

## Example

```python bad torch=2.5
f()  # TRP201
```

```python fixed unsafe
g()
```

<!-- next -->

```python bad file=a.py
f()  # TRP201
```

## Use instead

x

## Fix safety

x

## When it stays silent

x

## References

See https://example.org/seen for it.
"""


def _card(tmp_path: Path) -> cards.Card:
    path = tmp_path / "TRP2-data-loading" / "TRP201-loader-without-generator.md"
    path.parent.mkdir()
    path.write_text(CARD, encoding="utf-8")
    return cards.parse_card(path)


def test_a_page_is_wrapped_and_keeps_its_code(tmp_path: Path) -> None:
    page = render_page(_card(tmp_path), color=False, width=60)
    assert page.startswith("""\
TRP201 loader-without-generator
A shuffling loader draws its order from the global RNG.

warning (likely), safe fix, since 0.1.0, off unless selected

What it does
  Reports loaders that shuffle (https://example.org/shuffle)
  and have no generator of their own to draw the order from.

Why it matters
  Two things:
  - the first one is long enough that it has to be wrapped
    at the right margin of the page
  - the second one, `f(**a)` and `g(**b)`
  1. numbered

      plain output

        indented

Example
  Reported, with torch 2.5:
      f()  # TRP201

  After the fix, with --unsafe-fixes:
      g()

  Reported, in a.py:
      f()  # TRP201

Use instead
""")
    assert page.endswith("""
References
  See https://example.org/seen for it.
  https://example.org/more
""")


def test_a_page_in_color_has_strong_headings(tmp_path: Path) -> None:
    page = render_page(_card(tmp_path), color=True, width=60)
    assert "\x1b[1mWhat it does\x1b[0m\n" in page


def test_a_narrow_terminal_does_not_break_words(tmp_path: Path) -> None:
    assert "  https://example.org/more\n" in render_page(_card(tmp_path), color=False, width=10)


def test_every_shipped_page_is_plain_text() -> None:
    for card in cards.load_cards().values():
        page = render_page(card, color=False, width=80)
        prose = [line for line in page.split("\n") if not line.startswith("      ")]
        assert "+++" not in page
        assert "<!--" not in page
        assert not [line for line in prose if "```" in line or line.startswith("##")]
        for heading in cards.HEADINGS[:-1]:
            assert f"\n{heading}\n  " in page


def test_the_table_has_every_rule_under_its_group(tmp_path: Path) -> None:
    table = render_table([_card(tmp_path), *cards.load_cards().values()], color=False)
    assert "TRP0 tool\n" in table
    assert "TRP2 data loading\n" in table
    assert "TRP201 [*] loader-without-generator" in table
    assert "A shuffling loader draws its order from the global RNG. (off)\n" in table
    assert all(f"  {code} " in table for code in cards.codes())


def test_a_card_as_json(tmp_path: Path) -> None:
    data = json.loads(render_json([card_json(_card(tmp_path))]))
    assert data[0]["code"] == "TRP201"
    assert data[0]["default"] is False
    assert data[0]["sections"]["Use instead"] == "x"
    assert data[0]["references"] == ["https://example.org/seen", "https://example.org/more"]
