"""An experiment as a script of its own, which needs PyTorch alone: fit for a report to PyTorch's developers.

The calls of PyTorch's functions are recorded, from the first random number of the inputs to the outputs, and written
down as they were made. Knows no operation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, resolve_name

from torchrepro_lint.verify.experiment import Experiment, Unsupported
from torchrepro_lint.verify.probes.registry import Probe
from torchrepro_lint.verify.random_state import SEED
from torchrepro_lint.verify.trial import UPSTREAM_SEED, tensors

_FRAME = '''\
"""{title}

{summary}
Prints a digest of each run; exits with 1 where runs differ, or where the deterministic flag raises. Seen with
{seen}.
"""
import ctypes, hashlib
import torch

device = torch.device("{device}")
{prelude}

def inputs():
{inputs}


def operation({parameters}):
{operation}

{compiled}
def run(given, upstream):
    torch.manual_seed({seed})
    used = [t.detach().clone().requires_grad_(t.requires_grad) for t in given]
    outputs = operation(*used)
    differentiable = [t for t in outputs if t.requires_grad]
    if upstream is None:
        generator = torch.Generator(device=device).manual_seed({upstream_seed})
        return [torch.empty_like(t).normal_(generator=generator) for t in differentiable]
    if {backward}:
        torch.autograd.backward(differentiable, upstream)
    state = hashlib.sha256()
    for t in [*outputs, *(t.grad for t in used if t.grad is not None), *used]:
        t = t.detach().cpu().contiguous()
        state.update(ctypes.string_at(t.data_ptr(), t.numel() * t.element_size()))
    return state.hexdigest()[:16]


given = inputs()
upstream = run(given, None)
for flag in (False, True):
    torch.use_deterministic_algorithms(flag)
    try:
        digests = [run(given, upstream) for _ in range({runs})]
    except RuntimeError as error:
        raise SystemExit(f"deterministic={{flag}}: {{error}}")
    print(f"deterministic={{flag}}:", *digests, sep="\\n  ")
    if len(set(digests)) > 1:
        raise SystemExit(f"deterministic={{flag}}: {{len(set(digests))}} different results of equal inputs")
'''
_INDENT = "    "
_SYMBOLS = {"add": "+", "mul": "*", "sub": "-", "__add__": "+", "__mul__": "*", "__sub__": "-"}


def script(
    probe: Probe, device: torch.device, arguments: Mapping[str, object], summary: str, title: str, seen: str, runs: int
) -> str:
    """The script of the experiment with this summary. Raises Unsupported where it cannot be written down."""
    recorder = _Recorder(device)
    experiments = iter(probe(device, arguments))
    while True:
        with recorder:
            experiment = next(experiments, None)
        if experiment is None:
            raise Unsupported(f"there is no experiment {summary!r} any more")
        if experiment.summary == summary:
            return _written(experiment, recorder, device, title, seen, runs)


def _written(
    experiment: Experiment, recorder: _Recorder, device: torch.device, title: str, seen: str, runs: int
) -> str:
    if experiment.prelude is None:
        raise Unsupported("what else a program does is part of the operation")
    given = list(tensors(experiment.inputs))
    lines = _renamed([*recorder.lines(given), f"return {_listed(recorder.names_of(given))}"])
    names = [f"x{number}" for number in range(1, len(given) + 1)]
    eager = getattr(experiment.operation, "_torchdynamo_orig_callable", experiment.operation)
    body = _body(eager, given, names, device)
    return _FRAME.format(
        title=title,
        summary=experiment.summary,
        seen=seen,
        device=device,
        prelude="".join(f"{line}\n" for line in experiment.prelude),
        inputs=_block(lines),
        parameters=", ".join(names),
        operation=_block(body),
        compiled="\noperation = torch.compile(operation)\n" if eager is not experiment.operation else "",
        seed=SEED,
        upstream_seed=UPSTREAM_SEED,
        backward=experiment.backward,
        runs=runs,
    )


def _body(
    operation: Callable[..., object], given: Sequence[torch.Tensor], names: Sequence[str], device: torch.device
) -> list[str]:
    copies = [t.detach().clone().requires_grad_(t.requires_grad) for t in given]
    recorder = _Recorder(device, dict(zip(names, copies, strict=True)))
    with recorder:
        outputs = list(tensors(operation(*copies)))
    return _renamed([*recorder.lines(outputs), f"return {_listed(recorder.names_of(outputs))}"])


def _renamed(lines: Sequence[str]) -> list[str]:
    """With numbers in the order in which names are used."""
    numbers: dict[str, str] = {}

    def renamed(found: re.Match[str]) -> str:
        return numbers.setdefault(found[0], f"{found[1]}{sum(name[0] == found[1] for name in numbers) + 1}")

    return [re.sub(r"\b([tg])\d+\b", renamed, line) for line in lines]


def _block(lines: Sequence[str]) -> str:
    return "\n".join(_INDENT + line for line in lines)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) + ("," if len(names) == 1 else "")


@dataclass
class _Call:
    """`target = text`, which names what it `uses`; of an operation in place, `target` is one of them."""

    target: str
    text: str
    uses: list[str]
    writes: bool = False
    generator: str | None = None


@dataclass
class _Recorder(TorchFunctionMode):
    """Writes calls down as they are made."""

    device: torch.device
    known: dict[str, torch.Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()
        self._names = {id(tensor): name for name, tensor in self.known.items()}
        self._held: list[object] = list(self.known.values())  # so that no other tensor gets the id of one
        self._calls: list[_Call] = []
        self._generators: dict[int, str] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        self._note(func, args, kwargs, result)
        return result

    def _note(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: object) -> None:
        found = list(tensors(result))
        if not found or (isinstance(result, torch.Tensor) and self._is_no_change(func, result)):
            return
        uses: list[str] = []
        generators = [self._generator(item) for item in kwargs.values() if isinstance(item, torch.Generator)]
        text = _call(_name_of(func), [self._text(a, uses) for a in args], self._keywords(kwargs, uses))
        in_place = isinstance(result, torch.Tensor) and id(result) in self._names
        target = self._names[id(result)] if in_place else f"t{len(self._held) + 1}"
        self._calls.append(_Call(target, text, uses, in_place, generators[0] if generators else None))
        if in_place:
            return
        if isinstance(result, torch.Tensor):
            self._name(result, target)
            return
        for number, item in enumerate(result if isinstance(result, (tuple, list)) else ()):
            if isinstance(item, torch.Tensor):
                name = f"{target}_{number}"
                self._calls.append(_Call(name, f"{target}[{number}]", [target]))
                self._name(item, name)
        self._held.append(result)

    def _is_no_change(self, func: Any, result: torch.Tensor) -> bool:
        """`x.to(x.dtype)` is `x`."""
        return id(result) in self._names and getattr(func, "__name__", "") in ("to", "contiguous", "expand_as")

    def _name(self, tensor: torch.Tensor, name: str) -> None:
        self._names[id(tensor)] = name
        self._held.append(tensor)

    def _generator(self, generator: torch.Generator) -> str:
        if id(generator) not in self._generators:
            self._generators[id(generator)] = name = f"g{len(self._generators) + 1}"
            self._held.append(generator)
            text = f"torch.Generator(device=device).manual_seed({generator.initial_seed()})"
            self._calls.append(_Call(name, text, []))
        return self._generators[id(generator)]

    def _keywords(self, kwargs: Mapping[str, Any], uses: list[str]) -> list[str]:
        return [f"{name}={self._text(value, uses)}" for name, value in kwargs.items() if value is not None]

    def _text(self, value: object, uses: list[str]) -> str:
        match value:
            case torch.Tensor():
                if id(value) not in self._names:
                    raise Unsupported("a tensor of it was made elsewhere")
                uses.append(self._names[id(value)])
                return self._names[id(value)]
            case torch.Generator():
                uses.append(self._generator(value))
                return self._generator(value)
            case torch.device():
                return "device" if value == self.device else f'torch.device("{value}")'
            case torch.dtype() | torch.memory_format() | torch.layout():
                return str(value)
            case list():
                return f"[{', '.join(self._text(item, uses) for item in value)}]"
            case tuple():
                return f"({_listed([self._text(item, uses) for item in value])})"
            case float() if not math.isfinite(value):
                return f'float("{value}")'
            case None | bool() | int() | float() | str() | slice():
                return repr(value)
        raise Unsupported(f"a {type(value).__name__} of it cannot be written down")

    # -- what of it is needed --------------------------------------------------------------------------------------
    def names_of(self, wanted: Sequence[torch.Tensor]) -> list[str]:
        """The names of tensors."""
        return [self._names[id(tensor)] for tensor in wanted]

    def lines(self, wanted: Sequence[torch.Tensor]) -> list[str]:
        """The calls that these tensors rest on, in order; what is used by the next line alone is part of it."""
        return [*_statements(_chained(self._needed(set(self.names_of(wanted))), self.names_of(wanted)))]

    def _needed(self, names: set[str]) -> list[_Call]:
        kept: list[_Call] = []
        for call in reversed(self._calls):
            if call.target in names or call.generator in names:
                names.update(call.uses)
                kept.append(call)
        return kept[::-1]


def _chained(calls: Sequence[_Call], wanted: Sequence[str]) -> list[_Call]:
    """`t1 = f()` and `t2 = t1.to(g)` as `t2 = f().to(g)`."""
    found: list[_Call] = []
    for number, call in enumerate(calls):
        last = found[-1] if found else None
        later = [name for other in calls[number + 1 :] for name in (*other.uses, other.target)]
        if last is not None and not last.writes and call.uses.count(last.target) == 1 and last.target != "device":
            single = last.target not in wanted and last.target not in later
            starts = call.text.startswith(f"{last.target}.")
            if starts and (single or call.writes) and not last.target.startswith("g"):
                text = last.text + call.text[len(last.target) :]
                found[-1] = _Call(call.target, text, [*last.uses, *call.uses], False, last.generator or call.generator)
                continue
        found.append(call)
    return found


def _statements(calls: Sequence[_Call]) -> Iterator[str]:
    for call in calls:
        yield call.text if call.writes else f"{call.target} = {call.text}"


def _call(name: str, args: Sequence[str], keywords: Sequence[str]) -> str:
    """`torch.Tensor.to(x, y)` as `x.to(y)`."""
    method = name.removeprefix("torch.Tensor.") if name.startswith("torch.Tensor.") else ""
    if method in _SYMBOLS and len(args) == 2 and not keywords:
        return f"({args[0]} {_SYMBOLS[method]} {args[1]})"
    if method == "__getitem__":
        return f"{args[0]}[{args[1].removeprefix('(').removesuffix(',)')}]"
    if method and not method.startswith("__") and "." not in method:
        return f"{args[0]}.{method}({', '.join((*args[1:], *keywords))})"
    return f"{name}({', '.join((*args, *keywords))})"


def _name_of(func: Any) -> str:
    name = resolve_name(func) or ""
    if name and not name.startswith("torch._C"):
        return str(name)
    short = getattr(func, "__name__", "")
    if short and getattr(torch, short, None) is func:
        return f"torch.{short}"
    raise Unsupported(f"{short or func} has no name that a script could use")
