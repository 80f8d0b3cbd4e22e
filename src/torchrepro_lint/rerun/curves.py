"""What two runs look like step by step: losses, which steps agree, how much was compared, and what to say of seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import zip_longest

from torchrepro_lint.rerun.results import Step
from torchrepro_lint.rerun.streams import Event, Streams

_WORDS = {
    "batch": "batches",
    "loss": "losses",
    "step": "gradients and parameters of optimizer steps",
    "o": "operations",
    "fetch": "fetches of workers",
}


def compared(streams: Streams) -> Mapping[str, int]:
    """How much of each kind of value a run has, in words."""
    counts = Counter(event.kind for _, event in streams.all(*_WORDS))
    return {word: counts[kind] for kind, word in _WORDS.items() if counts[kind]}


def curve(one: Streams, other: Streams) -> tuple[Step, ...]:
    """The steps of the first process that trains."""
    name = next((name for name in one.names() if any(e.kind == "step" for e in one.events(name))), None)
    if name is None or name not in other.names():
        return ()
    pairs = zip_longest(_steps(one, name), _steps(other, name))
    found, equal = [], True
    for number, (a, b) in enumerate(pairs):
        equal = equal and a is not None and b is not None and a[1:] == b[1:]
        found.append(Step(number, (a[0] if a else None, b[0] if b else None), equal))
    return tuple(found)


def _steps(streams: Streams, name: str) -> Iterator[tuple[float | None, tuple[object, ...]]]:
    """For each step the last loss before it, and the digests of everything in it."""
    loss: float | None = None
    digests: list[object] = []
    for event in streams.events(name):
        if event.kind == "loss":
            value = event.data["v"]
            loss = value if isinstance(value, float) else None
        if event.kind in ("loss", "batch"):
            digests.append(event.data["d"])
        elif event.kind == "step":
            yield loss, (*digests, event.data["grads"], event.data["params"])
            digests = []


def notes(streams: Streams) -> Iterator[str]:
    """Seeds that came after a draw, which is why they do not govern everything; each worker of a loader is seeded anew,
    whatever its parent has drawn."""
    told: set[str] = set()
    kinds = {name: {event.kind for event in streams.events(name)} for name in streams.names()}
    for name, event in streams.all("seed"):
        is_late = event.data.get("drawn") and "ask" not in kinds[name]
        if is_late and (line := _late(event)) not in told:
            told.add(line)
            yield line
    for name in streams.names():
        if not kinds[name] & {"end", "ask"}:
            yield f"{name} was cut off: it is compared up to its last whole step"


def _late(event: Event) -> str:
    where = f" at {event.place}" if event.place else ""
    return f"{event.data['call']}{where} seeds the {event.data['gen']} generator after numbers were drawn from it"
