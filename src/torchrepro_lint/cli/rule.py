"""`torchrepro-lint rule`: the card of a rule, or the list of all rules."""

from __future__ import annotations

from itertools import chain

import click

from torchrepro_lint.cli import shared_options
from torchrepro_lint.cli.shared_options import Command

_EPILOG = """\
Examples:
  torchrepro-lint rule TRP201
  torchrepro-lint rule TRP201 --full
  torchrepro-lint rule loader-without-generator
  torchrepro-lint rule TRP2
  torchrepro-lint rule --all
  torchrepro-lint rule --all --output-format json

Exit codes:
  0  explained
  2  no rule has that code or name, or a wrong option
"""


@click.command(
    "rule", cls=Command, epilog=_EPILOG, short_help="Explain a rule: what it reports, and what to write instead."
)
@click.argument("names", nargs=-1, metavar="[CODE|NAME|PREFIX]...", shell_complete=shared_options.completed_by("rules"))
@shared_options.option("Options", "--all", "every", is_flag=True, help="List all rules.")
@shared_options.option("Options", "--full", is_flag=True, help="Show the rule's whole page.")
@shared_options.text_or_json("Options", "json: a list with everything that a rule's page holds.")
@shared_options.color("Options")
def rule(names: tuple[str, ...], every: bool, full: bool, output_format: str, color: str) -> int:
    """Explain a rule: what it reports, with an example, what to write instead, and what its fix may change.

    With --full, also why that matters, all examples, and when the rule is silent. A PREFIX, such as TRP2, lists the
    rules of a group.
    """
    if bool(names) == every:
        raise click.UsageError("name a rule, such as TRP201, or give --all")
    from torchrepro_lint.cards import codes, load_card
    from torchrepro_lint.cli import streams
    from torchrepro_lint.report.rule_list import card_json, render_json, render_table
    from torchrepro_lint.report.rule_page import render_page
    from torchrepro_lint.report.rule_summary import render_summary

    found = [list(codes())] if every else [_codes(name) for name in names]
    listed = any(len(group) > 1 for group in found)
    cards = [load_card(code) for code in dict.fromkeys(chain.from_iterable(found))]
    colored = streams.wants_color(color)
    if output_format == "json":
        streams.as_utf8()
        streams.write([render_json([card_json(card, _measured(card.code)) for card in cards])])
    elif listed:
        streams.write([render_table(cards, color=colored)])
    else:
        width = streams.width()
        pages = [
            render_page(card, color=colored, width=width, measured=_measured(card.code))
            if full
            else render_summary(card, color=colored, width=width)
            for card in cards
        ]
        streams.write(["\n\n".join(pages)])
    return 0


def _measured(code: str) -> list[str]:
    """The shipped measurements of the operations that a rule reports."""
    if not code.startswith("TRP5"):
        return []
    from torchrepro_lint.evidence import shipped
    from torchrepro_lint.report.operation_facts import measured_of

    return measured_of(code, shipped())


def _codes(text: str) -> list[str]:
    """The rule with that code or name, or the rules whose codes begin with it."""
    from torchrepro_lint.cards import codes

    known = codes()
    wanted = text.strip()
    if wanted.upper() in known:
        return [wanted.upper()]
    for code, name in known.items():
        if name == wanted.lower():
            return [code]
    if group := [code for code in known if wanted and code.startswith(wanted.upper())]:
        return group
    from difflib import get_close_matches

    from torchrepro_lint.cli.streams import Failure

    near = {word.lower(): word for word in (*known, *known.values())}
    close = get_close_matches(wanted.lower(), near, n=1, cutoff=0.4)
    raise Failure(f"no rule {text!r}" + (f"; did you mean {near[close[0]]}?" if close else ""))
