"""Everything that the catalogue says about one operation, for a person at a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchrepro_lint.evidence import Measured
from torchrepro_lint.kernels.operations import Behaviour, Operation
from torchrepro_lint.report.operation_facts import (
    CHECKED,
    MEANINGS,
    alternatives,
    conditions,
    current,
    reported_as,
    word,
)
from torchrepro_lint.report.terminal import Paint

_WIDEST = 100
_PASSES = {"forward": "forward pass", "backward": "backward pass", "both": "forward and backward pass"}


def render_page(
    operation: Operation,
    devices: Sequence[str],
    release: Sequence[int],
    measured: Sequence[Measured],
    *,
    color: bool,
    width: int,
) -> str:
    """The whole page, ending in a newline; of behaviour, what holds on `devices`."""
    paint = Paint(color)
    lines = [f"{paint('strong', operation.id)}  {operation.package}, {_PASSES[operation.direction]}\n"]
    sections = {
        "Written": [", ".join((*operation.spellings, *operation.syntax))],
        "What varies": [f"{operation.kernel}: {operation.effect}"],
        "When": list(_when(operation)),
        f"Behaviour (* in PyTorch {'.'.join(map(str, release))})": list(_behaviour(operation, devices, release)),
        "Measured": [_measured(item) for item in measured],
        "Alert": list(_alerts(operation)),
        "Use instead": [operation.alternative] if operation.alternative else [],
        "Reported": [_reported(operation, release)],
        "What the documentation says otherwise": [operation.docs_wrong] if operation.docs_wrong else [],
        "Sources": [f"{CHECKED[operation.checked]}; {'; '.join(operation.sources)}"],
    }
    for heading, items in sections.items():
        if items:
            lines += ["\n", paint("strong", heading) + "\n"]
            lines += (line + "\n" for item in items for line in _wrapped(item, min(width, _WIDEST)))
    return "".join(lines)


def _when(operation: Operation) -> Iterator[str]:
    if words := conditions(operation):
        yield words
    for condition in operation.runtime:
        yield f"the run decides: {condition}"
    for condition in operation.usual:
        yield f"as a rule: {condition}"
    if words := alternatives(operation.exact):
        yield f"its result does not vary where {words}"


def _behaviour(operation: Operation, devices: Sequence[str], release: Sequence[int]) -> Iterator[str]:
    alike: dict[tuple[str, ...], list[str]] = {}
    for device in operation.everywhere:
        if device in devices:
            alike.setdefault(tuple(_lines(operation, device, release)), []).append(device)
    for lines, on in alike.items():
        yield from (line.format("/".join(on)) for line in lines)


def _lines(operation: Operation, device: str, release: Sequence[int]) -> Iterator[str]:
    """A line for each range of releases, with a gap for the names of the devices that it holds for."""
    now = current(operation, device, release)
    for behaviour in operation.on(device):
        told = f"{_range(operation, behaviour)}: {_told(behaviour)}".replace("{", "{{").replace("}", "}}")
        yield f"{'*' if behaviour in now else '-'} {{}}, {told}"


def _range(operation: Operation, behaviour: Behaviour) -> str:
    parts = [f"{operation.package} {behaviour.package}"] if behaviour.package else []
    parts += [f"torch {behaviour.torch}"] if behaviour.torch else []
    return ", ".join(parts) or "in every release"


def _told(behaviour: Behaviour) -> str:
    told = MEANINGS[word(behaviour)]
    if words := alternatives(behaviour.when):
        told = f"where {words}: {told}"
    if behaviour.lenient:
        told += "; under warn_only=True it still varies"
    return f"{told} ({behaviour.note})" if behaviour.note else told


def _alerts(operation: Operation) -> Iterator[str]:
    for device, names in operation.alerts.items():
        yield f"{device}: {', '.join(names)}"
    if operation.alert_of:
        yield f"that of {operation.alert_of}"


def _measured(item: Measured) -> str:
    arguments = ", ".join(f"{name}={value!r}" for name, value in item.arguments.items())
    return f"{item.device}{f' with {arguments}' if arguments else ''}: {item.words}"


def _reported(operation: Operation, release: Sequence[int]) -> str:
    if not operation.reported:
        return f"never: {operation.report_reason}"
    codes = reported_as(operation, release)
    return f"as {' or '.join(codes)}" if codes else f"not for PyTorch {'.'.join(map(str, release))}"


def _wrapped(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(
        text, width, initial_indent="  ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
