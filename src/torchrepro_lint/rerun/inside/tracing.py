"""Records every operation: the digests of what goes in and comes out, the generator's state where it draws, the line.

A `TorchDispatchMode` sees each operator below autograd, in the forward and the backward pass. Of a backward operation
the line is that of its forward, by the sequence number that both share. What is recorded is exactly what the operator
reads and what it leaves: memory that nobody has written yet, or that a collective is still writing, has no digest.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from torchrepro_lint.rerun.inside.generators import DEVICES
from torchrepro_lint.rerun.inside.operations import Operation, operation
from torchrepro_lint.rerun.inside.recorder import Recorder, wrap
from torchrepro_lint.rerun.inside.streams import process_name, thread_name
from torchrepro_lint.rerun.inside.threads import run_inside

_MADE_OF_NUMBERS = torch.ops.aten.lift_fresh.default  # what torch.tensor leaves of itself
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_NO_BYTES = ("FakeTensor", "FunctionalTensor")
_MANY = 8  # tensors of a list that are told one by one: more are told as one digest
_FOREIGN = ("x", "s", "c")  # flags of memory that may hold what no recorded operation has written
_ENGINE = "_engine_run_backward"  # PyTorch's function that starts the backward pass
_FEW = 256  # storages that may be remembered beyond their time, besides half as many as live
_SEQUENCES = 200_000  # forward lines that are kept for the backward pass


def install(recorder: Recorder) -> None:
    """Trace this thread, every other one that Python starts, and what comes in from NumPy."""
    storages = Storages()
    mode = Tracer(recorder, storages)
    mode.__enter__()
    run_inside(lambda: Tracer(recorder, storages))
    for name in ("from_numpy", "as_tensor", "frombuffer"):
        wrap(torch, name, _arrivals(recorder, name))


def _arrivals(recorder: Recorder, name: str) -> Any:
    """Tensors that are made of foreign memory, by no operation that a dispatch mode would see."""

    def around(original: Any, *args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        if not recorder.is_paused and type(made) is torch.Tensor:
            _note_arrival(recorder, name, made)
        return made

    return around


def _note_arrival(recorder: Recorder, name: str, made: torch.Tensor) -> None:
    """In every step, whatever is traced: only so can the same values in another order be told from others."""
    with recorder.paused():
        recorder.note("arrival", call=f"torch.{name}", d=recorder.digests.tensor(made))


class Storages:
    """What is known of memory, for as long as it lives: a new storage may lie where a freed one was.

    What lives no longer is soon forgotten: a storage that is still referred to, however weakly, stays a small block
    between the large ones that the program frees, and so the heap cannot be used again.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[StorageWeakRef, str]] = {}
        self._sweep = _FEW

    def mark(self, tensor: torch.Tensor, what: str) -> None:
        """That the memory is `made` by an operation, `empty`, or `busy` with a collective."""
        try:
            storage = tensor.untyped_storage()
        except (NotImplementedError, RuntimeError):  # sparse tensors have none
            return
        self._known[storage._cdata] = (StorageWeakRef(storage), what)
        if len(self._known) > self._sweep:
            self._known = {key: entry for key, entry in self._known.items() if not entry[0].expired()}
            self._sweep = len(self._known) * 3 // 2 + _FEW

    def of(self, tensor: torch.Tensor) -> tuple[str, bool]:
        """What it was marked as, the empty text for memory that came from elsewhere; and whether processes share it."""
        try:
            storage = tensor.untyped_storage()
        except (NotImplementedError, RuntimeError):
            return "made", False
        entry = self._known.get(storage._cdata)
        is_shared = storage.device.type == "cpu" and storage.is_shared()
        return "" if entry is None else entry[1], is_shared


class Tracer(TorchDispatchMode):
    """The mode itself, one per thread, over memory that all threads share."""

    def __init__(self, recorder: Recorder, storages: Storages) -> None:
        super().__init__()
        self._recorder, self._storages = recorder, storages
        self._forwards: dict[tuple[int, int | None], int] = {}  # by the number of the node, and its thread or the last
        self._keep = recorder.settings.get("keep")

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Otherwise torch.compile silently runs everything eagerly under a mode."""
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        recorder = self._recorder
        if recorder.is_paused:
            return func(*args, **kwargs)
        if func is _MADE_OF_NUMBERS and type(args[0]) is torch.Tensor:
            _note_arrival(recorder, "tensor", args[0])
            return func(*args, **kwargs)
        if not recorder.in_window:
            return func(*args, **kwargs)
        for kind in types:
            if kind not in _PLAIN:
                if kind.__name__ in _NO_BYTES:
                    return func(*args, **kwargs)
                if kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
                    return NotImplemented  # a subclass takes itself apart first, and its parts come here
        with recorder.paused():
            return self._record(func, operation(func), args, kwargs)

    def _record(self, func: Any, op: Operation, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        site = self._site()
        if op.is_view and not any(self._is_foreign(tensor) for tensor in _tensors((*args, *kwargs.values()))):
            return func(*args, **kwargs)
        taken: list[Any] = []
        scalars: list[str] = []
        for number, value in enumerate(args):
            self._take(value, op.reads[number] if number < len(op.reads) else True, taken, scalars)
        for name, value in kwargs.items():
            self._take(value, name not in op.unread, taken, scalars)
        state = self._generator_state(args, kwargs) if op.draws else None
        result = func(*args, **kwargs)
        left = [] if op.is_view else self._left(op, result, args, kwargs)
        if self._keep is not None and _is_here(self._keep):
            self._keep_tensors(self._keep, (*args, *kwargs.values()), left)
        self._write(op, site, taken, scalars, self._named(left), state)
        return result

    def _keep_tensors(self, keep: dict[str, Any], given: Sequence[Any], left: list[torch.Tensor]) -> None:
        """Of the operation that is asked for: of what it was given, dtypes and shapes; of what it left, all."""
        if keep["at"] == 0:
            kept = {
                "inputs": [(str(tensor.dtype), tuple(tensor.shape)) for tensor in _tensors(given)],
                "results": [tensor.detach().cpu().clone() for tensor in left],
            }
            torch.save(kept, self._recorder.settings["folder"] + "/kept.pt")
        keep["at"] -= 1

    def _write(
        self, op: Operation, site: int, taken: list[Any], scalars: list[str], left: list[Any], state: Any
    ) -> None:
        recorder = self._recorder
        words = recorder.digests.text("\0".join(scalars)) if scalars else ""
        ins = [digest for digest, _ in taken]
        flags = "".join(flag or "." for _, flag in taken)
        recorder.stream.write(["o", recorder.step, op.name, site, ins, flags, words, left, state])

    def _take(self, value: Any, reads: bool, taken: list[Any], scalars: list[str]) -> None:
        """The digest of an argument, or its value, with a letter that says where its memory comes from."""
        if isinstance(value, torch.Tensor):
            if reads:
                taken.append(self._digest(value))
        elif isinstance(value, (list, tuple)):
            tensors = [item for item in value if isinstance(item, torch.Tensor)]
            if len(tensors) > _MANY:
                found = [self._digest(item) for item in tensors] if reads else []
                words = [digest for digest, _ in found if isinstance(digest, str)]
                taken += [(digest, flag) for digest, flag in found if not isinstance(digest, str)]
                foreign = next((flag for _, flag in found if flag), "")
                taken.append((self._recorder.digests.text("".join(words)), foreign))
            else:
                for item in value:
                    self._take(item, reads, taken, scalars)
        elif isinstance(value, (bool, int, float, complex, str, torch.dtype, torch.layout, torch.device)):
            scalars.append(repr(value))

    def _digest(self, tensor: torch.Tensor) -> tuple[Any, str]:
        flag = self._flag(tensor)
        return "" if flag == "u" else self._recorder.digests.tensor(tensor), flag

    def _flag(self, tensor: torch.Tensor) -> str:
        """x: from outside any operation, s: such memory that processes share, c: by compiled code, w: by a collective,
        u: never written, so that its bytes mean nothing."""
        if _has_no_bytes(tensor):
            return "u"
        what, is_shared = self._storages.of(tensor)
        if is_shared:
            return "s"  # whoever made it: another process may have written it since
        if what == "empty":
            return "u"
        if what:
            return "w" if what == "busy" else ""
        name = type(tensor.grad_fn).__name__ if tensor.grad_fn is not None else ""
        return "c" if "CompiledFunction" in name else "x"

    def _is_foreign(self, tensor: torch.Tensor) -> bool:
        """Whether it holds what no recorded operation has written, and somebody may have."""
        return self._flag(tensor) in _FOREIGN and self._storages.of(tensor)[0] != "empty"

    def _left(self, op: Operation, result: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[torch.Tensor]:
        """What an operation leaves that has a meaning: its results, and what it wrote into."""
        is_unwritten = op.uninitialised or (op.copies and self._copies_unwritten(result, args))
        what = "empty" if is_unwritten else "busy" if op.collective else "made"
        if op.has_workspace:
            for tensor in _tensors(result[3:]):
                self._storages.mark(tensor, "empty")
            result = result[:3]
        left: list[torch.Tensor] = []
        seen: set[int] = set()
        written = [value for value, writes in zip(args, op.writes, strict=False) if writes]
        written += [value for name, value in kwargs.items() if name in op.written]
        if op.collective:
            written += list(args)
        for tensor in (*_tensors(result), *_tensors(written)):
            if id(tensor) not in seen:
                seen.add(id(tensor))
                self._storages.mark(tensor, what)
                left.append(tensor)
        return [tensor for tensor in left if not _has_no_bytes(tensor)] if what == "made" else []

    def _copies_unwritten(self, result: torch.Tensor, args: Sequence[Any]) -> bool:
        """Whether nothing that the storage of a copy holds then was ever written."""
        copied = [tensor for tensor in args[:2] if isinstance(tensor, torch.Tensor)][-1]
        if self._flag(copied) != "u" or _has_no_bytes(copied):
            return False
        return result.numel() * result.element_size() == result.untyped_storage().nbytes()

    def _named(self, left: list[torch.Tensor]) -> list[Any]:
        digests = self._recorder.digests
        return [digests.many(left)] if len(left) > _MANY else [digests.tensor(tensor) for tensor in left]

    def _generator_state(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The state of the generator that an operation is about to draw from; in a list if it is the program's own."""
        generator = kwargs.get("generator")
        if generator is not None and not _is_default(generator):
            return [self._recorder.digests.tensor(generator.get_state())]
        of = generator.device if generator is not None else kwargs.get("device")
        device = of if of is not None else next((tensor.device for tensor in _tensors(args)), None)
        is_told = device is not None and device.type in DEVICES
        return self._recorder.generators.state(str(device) if is_told else "torch")

    def _site(self) -> int:
        """The line of the user's code, for a backward operation that of its forward."""
        frame, sites = sys._getframe(2), self._recorder.sites
        here = sites.of(frame)
        node = torch._C._current_autograd_node()
        if node is not None and not sites.is_users_since(frame, _ENGINE):
            number, known = node._sequence_nr(), self._forwards
            return known.get((number, threading.get_ident()), known.get((number, None), here))
        # The first operation after a node was made is the node's own; later ones may have no node at all.
        if len(self._forwards) > _SEQUENCES:
            self._forwards.clear()
        number = torch._C._autograd._get_sequence_nr() - 1  # each thread counts for itself
        own = (number, threading.get_ident())
        if own not in self._forwards:
            self._forwards[own] = self._forwards[number, None] = here
        return here


def _is_here(keep: dict[str, Any]) -> bool:
    """Whether the operation that is to be kept is one of this thread."""
    return bool((process_name(), thread_name()) == (keep["process"], keep["thread"]))


def _is_default(generator: Any) -> bool:
    """Whether it is PyTorch's own of its device. The dispatcher wraps it anew each time: only the address tells."""
    return any(generator._cdata == default._cdata for default in _defaults())


def _defaults() -> Iterator[Any]:
    yield torch.default_generator
    for device in DEVICES:
        yield from getattr(getattr(torch, device, None), "default_generators", ())
    mps = getattr(torch.mps, "_default_mps_generator", None)  # its only one, where anybody has asked for it
    if mps is not None:
        yield mps


def _has_no_bytes(tensor: torch.Tensor) -> bool:
    return tensor.is_meta or type(tensor).__name__ in _NO_BYTES


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
