"""What a rerun found, as one page that needs nothing else: no network, no framework, light and dark, any width.

The steps of both runs as a strip, the losses as curves, each cause with its source and how far its results differ, and
beside them what the linter says of the same files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from torchrepro_lint.report.rerun_source import lines_around
from torchrepro_lint.report.rerun_words import compared, findings_line, fixes, headline, lines_of, times, title

if TYPE_CHECKING:
    from torchrepro_lint.rerun.results import Cause, Outcome, Proof, Step

_AROUND = 3  # lines of source above and below a cause
_CELLS = 400  # of the strip: of more steps, each cell stands for several
_WIDTH, _HEIGHT = 600, 160


def render(outcome: Outcome, root: Path, proof: Proof | None = None) -> Iterator[str]:
    """The whole page; source lines are read below `root`."""
    yield "<!doctype html>\n<html lang=en><meta charset=utf-8>\n"
    yield "<meta name=viewport content='width=device-width, initial-scale=1'>\n"
    yield f"<title>rerun: {escape(outcome.verdict.value)}</title>\n<style>{_asset('rerun.css')}</style>\n"
    yield f"<header><h1 class={outcome.verdict.value.lower()}>{escape(headline(outcome))}</h1>\n"
    yield f"<p><code>{escape(' '.join(outcome.command))}</code>, run {times(outcome.runs)}</p>"
    yield f"<p>{escape(compared(outcome)) if outcome.compared else ''}</p></header>\n<main>\n"
    yield from _strip(outcome.curve)
    yield from _curves(outcome.curve)
    yield from _causes(outcome, root)
    yield from _proved(proof) if proof is not None else ()
    yield from _findings(outcome)
    yield from (f"<p class=note>{escape(note)}</p>\n" for note in outcome.notes)
    yield f"</main>\n<script>{_asset('rerun.js')}</script>\n</html>\n"


def _asset(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def _strip(curve: Sequence[Step]) -> Iterator[str]:
    """A cell per step: equal or different."""
    if not curve:
        return
    width = -(-len(curve) // _CELLS)
    yield "<section><h2>Steps</h2><div class=strip role=img aria-label='which steps are equal'>"
    for first in range(0, len(curve), width):
        group = curve[first : first + width]
        state = "equal" if all(step.equal for step in group) else "different"
        last = group[-1].number
        name = f"step {first}" if first == last else f"steps {first} to {last}"
        yield f"<i class={state} title='{name}: {state}'></i>"
    yield "</div></section>\n"


def _curves(curve: Sequence[Step]) -> Iterator[str]:
    """The losses of both runs over each other."""
    values = [loss for step in curve for loss in step.losses if loss is not None]
    if len(values) < 4:
        return
    low, high = min(values), max(values)
    yield f"<section><h2>Loss</h2><svg viewBox='0 0 {_WIDTH} {_HEIGHT}' role=img aria-label='losses of both runs'>"
    for which in (0, 1):
        points = " ".join(
            f"{_WIDTH * step.number / max(len(curve) - 1, 1):.1f},"
            f"{_HEIGHT - 8 - (_HEIGHT - 16) * (loss - low) / ((high - low) or 1):.1f}"
            for step in curve
            if (loss := step.losses[which]) is not None
        )
        yield f"<polyline class='run{which}' points='{points}'/>"
    yield "</svg><p class=legend><b>first run</b>, <i>second run, dashed</i>; "
    yield f"from {low:.6g} to {high:.6g}</p></section>\n"


def _causes(outcome: Outcome, root: Path) -> Iterator[str]:
    if not outcome.causes:
        return
    kinds = sorted({cause.kind.value for cause in outcome.causes})
    yield "<section><h2>Causes</h2><p><label>Show <select id=filter><option value=''>all</option>"
    yield "".join(f"<option>{kind}</option>" for kind in kinds)
    yield "</select></label></p>\n<ol>\n"
    for cause in outcome.causes:
        yield f"<li class=cause data-kind={cause.kind.value}><h3>{escape(title(cause))}</h3>\n"
        yield from _source(cause, root)
        yield f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines_of(cause))}</ul></li>\n"
    yield "</ol></section>\n"


def _proved(proof: Proof) -> Iterator[str]:
    """What a copy with the safe fixes does, and what still parts there."""
    word = proof.outcome.verdict.value.lower()
    yield f"<section><h2>With {fixes(proof)}</h2><p class={word}>{escape(headline(proof.outcome))}</p>\n<ol>\n"
    for cause in proof.outcome.causes:
        yield f"<li class=left><h3>{escape(title(cause))}</h3>\n"
        yield from _source(cause, proof.root)
        yield "</li>\n"
    yield "</ol></section>\n"


def _source(cause: Cause, root: Path) -> Iterator[str]:
    if cause.place is None:
        return
    yield f"<p class=place>{escape(str(cause.place))}</p>"
    rows = []
    for number, text in lines_around(root, cause.place, _AROUND):
        mark = " class=at" if number == cause.place.line else ""
        rows.append(f"<span{mark}><b>{number}</b>{escape(text)}\n</span>")
    yield f"<pre>{''.join(rows)}</pre>\n" if rows else ""


def _findings(outcome: Outcome) -> Iterator[str]:
    if not outcome.findings:
        return
    yield f"<section><h2>What the linter says</h2><p>{escape(findings_line(outcome))}</p><table>"
    yield "<tr><th>finding<th>place<th>in the runs"
    for found in outcome.findings:
        yield (
            f"<tr class='{found.status.replace(' ', '-')}'><td>{found.code}<br><small>{escape(found.message)}</small>"
            f"<td>{escape(str(found.place))}<td>{found.status}"
        )
    yield "</table></section>\n"
