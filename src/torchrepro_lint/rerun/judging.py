"""What may have caused a parting: suspects, each with the pin under which the runs must agree if it is the one.

Judges by the streams alone. A suspect with a pin is settled by two more runs, one without by what was recorded.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from torchrepro_lint.rerun.comparing import Parting, What, before, lane, of_several, rows
from torchrepro_lint.rerun.results import Cause, Kind
from torchrepro_lint.rerun.streams import Event, Streams

Pair = tuple[Streams, Streams]
GENERATORS = ("torch", "numpy", "python")  # torch: of every device, since torch.manual_seed seeds them all
_OWN_GENERATOR = "drawn from a torch.Generator of the program's own that starts differently in each run"
_TURNS = "threads draw from it in the order in which they come, which differs from run to run"
_KINDS = {"s": Kind.CONCURRENT, "w": Kind.RANK, "c": Kind.COMPILED, "u": Kind.EXTERNAL}  # by where an input comes from
_SOURCES = {
    "hash": "the order of a set, or a hash, of text",
    "listing": "the order in which a folder is listed",
    "time": "the clock",
    "entropy": "the operating system's random numbers",
}


@dataclass(frozen=True)
class Suspect:
    """A cause, and the pin that would remove it: a generator, or an outside source. `reseed` has the numbers of the
    seeding calls whose value was new in every run."""

    cause: Cause
    pin: str | None = None
    reseed: tuple[int, ...] = ()
    is_recorded: bool = False  # that it differs was seen, not only that the runs agree without it


def suspects(pair: Pair, parting: Parting, sources: tuple[str, ...]) -> list[Suspect]:
    """What may have caused it, most likely first; the last one stands where no pin helps."""
    kind = _kind(pair, parting)
    plain = _cause(parting, kind)
    turns = _turns(pair, parting, plain)
    if kind in (Kind.OPERATION, Kind.COMPILED, Kind.RANK, Kind.CONCURRENT):
        return [Suspect(plain)]
    if parting.flag == "u":
        return [Suspect(replace(plain, detail=f"{parting.event.data[2]} reads memory that nothing has written"))]
    if parting.what is What.STATE and isinstance(parting.event.data[8], list):
        return [Suspect(replace(plain, kind=Kind.UNSEEDED, detail=_OWN_GENERATOR))]
    if parting.what is What.STATE and turns and _is_seeded_alike(pair, parting):
        return turns
    if parting.what is What.STATE:
        return [_unseeded(pair, parting, "torch", plain), *turns]
    found = [_unseeded(pair, parting, generator, plain) for generator in _drawn_from(pair, parting)]
    if turns and parting.is_of_several:
        return [*(suspect for suspect in found if suspect.is_recorded), *turns]
    found += [Suspect(replace(plain, source=name, detail=_SOURCES[name]), name) for name in sources]
    return [*found, Suspect(plain)]


def _is_seeded_alike(pair: Pair, parting: Parting) -> bool:
    """Whether both runs have given torch's generator the same seed last: that is not what their states differ by."""
    seeds = [
        [event.data["value"] for event in events if event.kind == "seed" and event.data["gen"] == "torch"]
        for events in _draws(pair, parting)
    ]
    return all(seeds) and seeds[0][-1] == seeds[1][-1]


def _turns(pair: Pair, parting: Parting, plain: Cause) -> list[Suspect]:
    """That several threads draw from one generator: which of them gets which number depends on who comes first."""
    streams, process = pair[0], parting.process
    if process not in streams.names():
        return []
    shared = of_several(streams, process)
    draws: dict[str, dict[str, Event]] = {}
    for event in before(pair, parting)[0]:
        name = _draws_from(event)
        if name is not None and not lane(event.thread).startswith(
            "Dummy"
        ):  # a backward pass, for which its caller waits
            draws.setdefault(name, {}).setdefault(lane(event.thread), event)
    for name, events in draws.items():
        helpers = [event for thread, event in events.items() if thread]
        if helpers and (len(events) > 1 or lane(helpers[0].thread) in shared):
            first = helpers[0]
            cause = replace(plain, kind=Kind.CONCURRENT, place=first.place, frames=first.frames, operation=None)
            return [Suspect(replace(cause, generator=name, detail=_TURNS))]
    return []


def _draws_from(event: Event) -> str | None:
    """The generator of the process that an event draws from."""
    if event.kind == "draw":
        return str(event.data["gen"])
    return "torch" if event.kind == "o" and isinstance(event.data[8], str) else None


def _cause(parting: Parting, kind: Kind) -> Cause:
    event = parting.event
    return Cause(
        kind=kind,
        place=parting.place,
        frames=event.frames,
        step=parting.step,
        process=parting.process,
        rank=_rank(parting.process),
        operation=event.data[2] if event.kind == "o" else None,
        detail=detail(parting, kind),
    )


def _kind(pair: Pair, parting: Parting) -> Kind:
    event = parting.event
    match parting.what:
        case What.FLOW | What.END:
            return Kind.CONTROL_FLOW
        case What.OUTPUT:
            return Kind.OPERATION
        case What.INPUT if parting.flag in _KINDS:
            return _KINDS[parting.flag]
        case What.INPUT if _is_of_threads(pair, parting):
            return Kind.CONCURRENT
        case What.VALUE if event.kind == "loss" and event.data.get("compiled"):
            return Kind.COMPILED
        case What.VALUE if event.kind == "step":
            return _of_step(pair, parting)
    return Kind.DATA_ORDER if _is_permuted(pair, parting) else Kind.EXTERNAL


def _of_step(pair: Pair, parting: Parting) -> Kind:
    """Gradients or parameters differ though every recorded operation agreed: something ran that no mode sees."""
    earlier, _ = before(pair, parting)
    if any(event.kind == "loss" and event.data.get("compiled") for event in earlier):
        return Kind.COMPILED
    if any(event.kind == "loss" and "rank" in event.data for event in earlier):
        return Kind.RANK
    return Kind.CONCURRENT if len(pair[0].names()) > 1 else Kind.OPERATION


def _is_permuted(pair: Pair, parting: Parting) -> bool:
    """Whether both runs saw the same samples, in another order."""
    if parting.event.kind in ("batch", "fetch"):
        one, other = list(rows(pair[0])), list(rows(pair[1]))
    else:
        one, other = list(_arrivals(pair[0], parting)), list(_arrivals(pair[1], parting))
    return len(one) > 1 and one != other and Counter(one) == Counter(other)


def _is_of_threads(pair: Pair, parting: Parting) -> bool:
    """Whether each run has here what a helper thread made in the other one too: it only came at another time."""
    if parting.one is None or parting.other is None:
        return False
    here = [(a, b) for a, b in zip(parting.one.data[4], parting.other.data[4], strict=True) if a != b]
    made = [_made_elsewhere(streams, parting) for streams in pair]
    return all(a in made[1] and b in made[0] for a, b in here)


def _made_elsewhere(streams: Streams, parting: Parting) -> set[str]:
    """The results of operations in other threads that Python started."""
    return {
        str(digest)
        for event in streams.values(parting.process)
        if event.kind == "o" and event.thread and lane(event.thread) not in (parting.thread, "Dummy-#")
        for digest in event.data[7]
    }


def _arrivals(streams: Streams, parting: Parting) -> Iterator[str]:
    """What came in from outside at the parting's line, in order."""
    for event in streams.values(parting.process):
        if event.frames and event.frames[:1] == parting.event.frames[:1]:
            if event.kind == "arrival":
                yield event.data["d"]
            elif event.kind == "o" and event.data[2] == _name(parting.event):
                yield "".join(map(str, event.data[4])) + event.data[6]


def _name(event: Event) -> str:
    return str(event.data[2]) if event.kind == "o" else ""


def detail(parting: Parting, kind: Kind | None = None) -> str:
    """What differs, in words."""
    event, what = parting.event, parting.what
    if what is What.FLOW and parting.one is not None and parting.other is not None:
        return f"{_told(parting.one)} in one run, {_told(parting.other)} in the other"
    if what is What.END:
        return f"{_told(event)} in one run, nothing more in the other"
    if event.kind == "o" and kind is Kind.CONCURRENT and parting.flag != "s":
        return "what other threads have made comes in another order"
    if event.kind == "o":
        if what is What.SCALAR:
            return f"an argument of {event.data[2]} that is no tensor differs"
        return f"{what.value} of {event.data[2]} differs" if what is not What.OUTPUT else what.value
    names = {"batch": "the batch", "loss": "the loss", "arrival": "what becomes a tensor here", "fetch": "a sample"}
    words = {"grads": "the gradients", "params": "the parameters"}
    return f"{words.get(parting.flag) or names.get(event.kind, event.kind)} differ{'s' * (parting.flag == 'd')}"


def _told(event: Event) -> str:
    what = event.data[2] if event.kind == "o" else {"step": "an optimizer step"}.get(event.kind, f"a {event.kind}")
    return f"{what} at {event.place}" if event.place else str(what)


def _unseeded(pair: Pair, parting: Parting, generator: str, plain: Cause) -> Suspect:
    """A generator that starts differently in the two runs; told at the seed that differed, else at the first draw."""
    earlier = [[event for event in events if event.data.get("gen") == generator] for events in _draws(pair, parting)]
    seeds = [[event for event in events if event.kind == "seed"] for events in earlier]
    draws = [[event for event in events if event.kind == "draw"] for events in earlier]
    cause = replace(plain, kind=Kind.UNSEEDED, generator=generator, source=None)
    differing = [a for a, b in zip(*seeds, strict=False) if a.data["value"] != b.data["value"]]
    numbers = tuple(sorted({event.data["n"] for event in differing}))
    if differing:
        event = differing[0]
        detail = f"{event.data['call']} is given a value that is new in every run"
        seeded = replace(cause, place=event.place, frames=event.frames, detail=detail)
        return Suspect(seeded, generator, numbers, is_recorded=True)
    first = next((a for a, b in zip(*draws, strict=False) if a.data["state"] != b.data["state"]), None)
    if first is not None:
        inherited = first in _inherited(pair[0], parting)
        process = parent(parting.process) if inherited else parting.process
        cause = replace(cause, place=first.place, frames=first.frames, operation=first.data["call"], process=process)
    what = cause.operation or "a library"
    seen = first is not None or parting.what is What.STATE
    return Suspect(replace(cause, detail=f"never seeded before {what} draws from it"), generator, is_recorded=seen)


def _drawn_from(pair: Pair, parting: Parting) -> list[str]:
    """The generators that were drawn from in different states before the parting, the one drawn from last first."""
    found: list[str] = []
    for a, b in reversed(list(zip(*_draws(pair, parting), strict=False))):
        key = "state" if a.kind == "draw" else "value"
        if a.kind == b.kind and a.data["gen"] == b.data["gen"] and a.data[key] != b.data[key]:
            found.append(a.data["gen"])
    for a, b in zip(*(_states(streams, parting) for streams in pair), strict=False):
        found += [name for name in a if name in b and a[name] != b[name]]
    return list(dict.fromkeys(name if name in GENERATORS else "torch" for name in found))


def _draws(pair: Pair, parting: Parting) -> list[list[Event]]:
    """What each run has told of generators up to the parting, first what a process may have from its parent."""
    own = before(pair, parting)
    return [
        [*_inherited(streams, parting), *(event for event in events if event.kind in ("draw", "seed"))]
        for streams, events in zip(pair, own, strict=True)
    ]


def _inherited(streams: Streams, parting: Parting) -> list[Event]:
    """What the parent has told up to the same step: what it draws lies in the memory that a worker begins with."""
    above = parent(parting.process)
    if above not in streams.names():
        return []
    events = streams.events(above)
    return [event for event in events if event.kind in ("draw", "seed") and event.step <= parting.step]


def parent(process: str) -> str:
    """The process that started another one: `main` of `main.mp-1`."""
    return process.rpartition(".")[0]


def _states(streams: Streams, parting: Parting) -> Iterator[dict[str, str]]:
    """The states of the generators at the first event that tells them from the parting's step on."""
    for event in streams.events(parting.process):
        if event.data and event.kind in ("step", "ask") and event.step >= parting.step:
            yield event.data["rng"]
            return


def _rank(process: str) -> int | None:
    found = re.match(r"rank(\d+)", process)
    return int(found[1]) if found else None
