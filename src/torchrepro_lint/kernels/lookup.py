"""Finds operations of the catalogue by what people have at hand: a row's id, a spelling, or an alert's words."""

from __future__ import annotations

from collections.abc import Iterator

from torchrepro_lint import catalogue
from torchrepro_lint.kernels.operations import Operation, every

_SHORT = {"F": "torch.nn.functional", "nn": "torch.nn", "tensor": "torch.Tensor", "Tensor": "torch.Tensor"}
MAX_NEAR = 5


def find(text: str) -> list[Operation]:
    """The operations that `text` means, those that a rule reports first."""
    wanted = text.strip().removesuffix("()")
    operations = every()
    for matches in (_is_id, _is_alert, _is_spelling, _is_part, _is_part_in_any_case):
        found = [op for op in operations if matches(op, wanted)]
        if found:
            return sorted(found, key=lambda op: not op.reported)
    return []


def nearest(text: str) -> list[str]:
    """Ids and last parts of spellings that look like `text`, best first."""
    from difflib import get_close_matches

    known = {name.lower(): name for op in every() for name in _handles(op)}
    close = get_close_matches(text.strip().rpartition(".")[2].lower(), known, n=MAX_NEAR, cutoff=0.6)
    return [known[name] for name in close]


def _handles(operation: Operation) -> Iterator[str]:
    yield operation.id
    yield from (name.rpartition(".")[2] for name in operation.spellings)


def _is_id(operation: Operation, text: str) -> bool:
    return operation.id == text.lower()


def _is_alert(operation: Operation, text: str) -> bool:
    """The alert alone, or the whole error that PyTorch raises with it."""
    alerts = [alert for names in operation.alerts.values() for alert in names]
    return any(text == alert or text.startswith(f"{alert} does not have a deterministic") for alert in alerts)


def _is_spelling(operation: Operation, text: str) -> bool:
    return _in_full(text) in operation.names or text in operation.syntax


def _is_part(operation: Operation, text: str) -> bool:
    return any(name.endswith(f".{text}") for name in operation.spellings)


def _is_part_in_any_case(operation: Operation, text: str) -> bool:
    return any(f".{name}".lower().endswith(f".{text}".lower()) for name in operation.spellings)


def _in_full(name: str) -> str:
    """`F.interpolate` as the catalogue spells it."""
    first, dot, rest = name.partition(".")
    return catalogue.canonical(_SHORT.get(first, first) + dot + rest)
