"""What was found out about programs, for a person who doubts a finding on seeds, or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from torchrepro_lint.report import Context
from torchrepro_lint.report.escaping import as_json, visible
from torchrepro_lint.report.places import shown_path, shown_place
from torchrepro_lint.report.summary import counted
from torchrepro_lint.report.terminal import Paint

if TYPE_CHECKING:
    from torchrepro_lint.explaining import Explained
    from torchrepro_lint.seeding.report import DrawReport, FamilyReport, ProgramReport, SeedReport, Spot

_STATES = {
    "not drawn": "nothing draws from it",
    "seeded": "seeded before it is first drawn from",
    "seeded in workers": "drawn from by the workers of loaders alone, which PyTorch seeds from its own generator",
    "late": "seeded only after it was drawn from",
    "conditional": "drawn from, and seeded before only under a condition",
    "perhaps unseeded": "perhaps drawn from, under a condition, and not seeded before",
    "unseeded in a process": "drawn from in a process of its own, which is not seeded there",
    "unseeded": "drawn from, and not seeded before",
    "unseen": "not seeded in any file of the project; what could not be followed is believed to draw from it",
    "trial": "drawn from without a seed; not reported, because the program only tries a module out, or measures how "
    "long it takes, with made-up input",
    "ignored": "drawn from without a seed; not reported, because the program does not train, and no result is known to "
    "depend on it",
    "unknown": "drawn from; whether it is seeded before is not known",
}
_WIDEST = 100  # characters of source in a line


def render_text(explained: Explained, context: Context) -> Iterator[str]:
    """A block for each program, then what starts none."""
    for number, program in enumerate(explained.programs):
        yield "\n" if number else ""
        yield from _Text(explained, context).program(program)
    if explained.unseen_loaders:
        yield "\n" if explained.programs else ""
        yield f"The workers of {counted(len(explained.unseen_loaders), 'loader')} may draw; what their data sets do "
        yield "could not be seen\n"
        yield from (f"    {_Text(explained, context).written(spot)}\n" for spot in explained.unseen_loaders)
    idle = [visible(shown_path(explained.root, rel, context.cwd)) for rel in explained.idle]
    if len(idle) == 1 and not explained.programs:
        yield f"No program starts in {idle[0]}: it only defines, is imported by others, or holds tests.\n"
    elif idle:
        yield "\n" if explained.programs else ""
        yield f"No program starts in {counted(len(idle), 'other file' if explained.programs else 'file')}.\n"
    for rel, reason in explained.unread:
        where = visible(shown_path(explained.root, rel, context.cwd))
        yield f"What {where} configures is not known: {visible(reason)}\n"


class _Text:
    """The lines of one program."""

    def __init__(self, explained: Explained, context: Context) -> None:
        self.root, self.cwd = explained.root, context.cwd
        self.paint = Paint(context.color)

    def program(self, program: ProgramReport) -> Iterator[str]:
        yield self.paint("strong", f"{self._place(program.start)}  a program, from its {program.kind}") + "\n"
        yield from self._files(program.files)
        yield from self._seeds(program.seeds)
        for family in program.families:
            yield from self._family(family)
        yield f"  it {'trains' if program.trains else 'does not train'}, and "
        yield f"{'loads' if program.loads_weights else 'does not load'} weights\n"
        yield from self._unfollowed(program)
        if program.bounds:
            yield f"  analysis was cut short, so no finding is based on it: {'; '.join(program.bounds)}\n"

    def _files(self, files: Sequence[str]) -> Iterator[str]:
        yield f"  {counted(len(files), 'file')} of the project run in it\n"
        for rel in files:
            yield f"    {visible(shown_path(self.root, rel, self.cwd))}\n"

    def _seeds(self, seeds: Sequence[SeedReport]) -> Iterator[str]:
        yield "  seeds, in the order in which they run\n" if seeds else "  no seed was found\n"
        for seed in seeds:
            certainty = "does not count" if seed.certainty == "none" else seed.certainty
            yield f"    {self.written(seed.spot)}  {', '.join(seed.families)}: {certainty}\n"
            for reason in seed.reasons:
                yield f"      {_short(reason)}\n"
            yield from self._chain(seed.chain)

    def _family(self, family: FamilyReport) -> Iterator[str]:
        rule = f" ({family.rule})" if family.rule else ""
        yield f"  {family.family}: {_STATES[family.state]}{rule}\n"
        if family.first is not None:
            yield from self._draw(family.first)
        if family.late_seed is not None:
            yield f"    {self.written(family.late_seed)}  seeds it\n"

    def _draw(self, draw: DrawReport) -> Iterator[str]:
        yield f"    {self.written(draw.spot)}  first drawn from\n"
        yield from self._chain(draw.chain)

    def _chain(self, chain: Sequence[Spot]) -> Iterator[str]:
        for spot in chain:
            yield self.paint("related", f"      through {self.written(spot)}") + "\n"

    def _unfollowed(self, program: ProgramReport) -> Iterator[str]:
        if not program.unfollowed:
            yield "  every call was followed\n"
            return
        more = ", the first of them" if program.unfollowed > len(program.unfollowed_first) else ""
        yield f"  {counted(program.unfollowed, 'call')} could not be followed{more}\n"
        for spot in program.unfollowed_first:
            yield f"    {self.written(spot)}\n"

    def _place(self, spot: Spot) -> str:
        return visible(shown_place(self.root, spot.location, self.cwd))

    def written(self, spot: Spot) -> str:
        """A place and what is written there."""
        return f"{self._place(spot)}  {_short(spot.text)}"


def _short(text: str) -> str:
    shown = visible(" ".join(text.split()))
    return shown if len(shown) <= _WIDEST else shown[: _WIDEST - 3] + "..."


def render_json(explained: Explained) -> Iterator[str]:
    """The same as one object: `programs`, the files in `idle` that start none, in `unread` the configuration files that
    could not be read, and `unseen_loaders`. Paths are from the project root."""
    value = {"programs": [_program(p) for p in explained.programs], "idle": list(explained.idle)}
    value["unread"] = [{"path": rel, "reason": reason} for rel, reason in explained.unread]
    value["unseen_loaders"] = [_spot(spot) for spot in explained.unseen_loaders]
    yield as_json(value) + "\n"


def _program(program: ProgramReport) -> dict[str, Any]:
    return {
        "start": _spot(program.start),
        "kind": program.kind,
        "files": list(program.files),
        "seeds": [_seed(seed) for seed in program.seeds],
        "families": {family.family: _family(family) for family in program.families},
        "unfollowed": {"count": program.unfollowed, "first": [_spot(s) for s in program.unfollowed_first]},
        "trains": program.trains,
        "loads_weights": program.loads_weights,
        "bounds": list(program.bounds),
    }


def _seed(seed: SeedReport) -> dict[str, Any]:
    return {
        **_spot(seed.spot),
        "families": list(seed.families),
        "certainty": seed.certainty,
        "reasons": list(seed.reasons),
        "chain": [_spot(s) for s in seed.chain],
    }


def _family(family: FamilyReport) -> dict[str, Any]:
    first = family.first
    drawn = {**_spot(first.spot), "kind": first.kind, "chain": [_spot(s) for s in first.chain]} if first else None
    return {
        "state": family.state,
        "rule": family.rule,
        "first_draw": drawn,
        "late_seed": _spot(family.late_seed) if family.late_seed else None,
    }


def _spot(spot: Spot) -> dict[str, Any]:
    where = spot.location
    start = where.range.start
    return {"path": where.path, "line": start.line, "column": start.column, "cell": where.cell, "text": spot.text}
