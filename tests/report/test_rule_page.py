"""Cards as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

from torchrepro_lint import cards
from torchrepro_lint.report.rule_list import card_json, render_json, render_table
from torchrepro_lint.report.rule_page import render_page
from torchrepro_lint.report.rule_summary import SCREEN, render_summary

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


def _card(tmp_path: Path, text: str = CARD) -> cards.Card:
    path = tmp_path / "TRP2-data-loading" / "TRP201-loader-without-generator.md"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
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


def test_every_rule_fits_one_screen_with_its_examples() -> None:
    for code, card in cards.load_cards().items():
        for width in (80, 100, 200):
            screen = render_summary(card, color=False, width=width)
            assert screen.count("\n") <= SCREEN, code
            assert screen.startswith(f"{code} {card.name}\n{card.summary.split()[0]} ")
            has_program = any(example.kind == "bad" for example in card.examples())
            assert (f"# {code}" in screen.partition("Use instead")[0]) == has_program
            assert ("\nAfter the fix" in screen) == any(example.kind == "fixed" for example in card.examples())
            assert "\nUse instead\n  " in screen
            assert "\nFix safety\n  " in screen
            assert screen.endswith(
                f"`torchrepro-lint rule {code} --full` explains why it matters, and when the rule is silent.\n"
            )


def test_a_screen_shows_one_pair_the_remedy_and_what_the_fix_may_change(tmp_path: Path) -> None:
    assert (
        render_summary(_card(tmp_path), color=False, width=80)
        == """\
TRP201 loader-without-generator
A shuffling loader draws its order from the global RNG.

warning (likely), safe fix, since 0.1.0, off unless selected

Reported:
    f()  # TRP201

After the fix:
    g()

Use instead
  x

Fix safety
  x

`torchrepro-lint rule TRP201 --full` explains why it matters, and when the rule is silent.
"""
    )


def test_a_long_example_is_cut_around_what_is_reported_and_what_changes(tmp_path: Path) -> None:
    lines = [f"a{number} = {number}\n" for number in range(60)]
    text = CARD.replace(
        "f()  # TRP201\n```\n\n```python fixed", "".join(lines) + "f()  # TRP201\n```\n\n```python fixed"
    )
    text = text.replace("```python fixed unsafe\ng()\n", "```python fixed unsafe\n" + "".join(lines) + "g()\n")
    screen = render_summary(_card(tmp_path, text), color=False, width=80)
    assert screen.count("\n") <= SCREEN
    assert "    ...\n    a56 = 56\n    a57 = 57\n    a58 = 58\n    a59 = 59\n    f()  # TRP201\n\n" in screen
    assert "    a59 = 59\n    g()\n\n" in screen
    assert "a0 = 0" not in screen


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
