"""Observes training from the outside: the loss at each backward, gradients and parameters at each optimizer step."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from torchrepro_lint.rerun.inside.recorder import Recorder, wrap

_LARGE = 256 << 20  # bytes of parameters from which on only every tenth step is hashed


def install(recorder: Recorder, torch: ModuleType) -> None:
    """Put the observers in place; PyTorch was just imported."""
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    steps = _Steps(recorder)
    register_optimizer_step_pre_hook(steps.before)
    register_optimizer_step_post_hook(steps.after)
    for name in ("backward", "grad"):
        wrap(torch.autograd, name, _losses(recorder, name))


def leave_out_shape_inference(recorder: Recorder, stage: ModuleType) -> None:
    """A pipeline tries its parts on memory that nobody has written, to learn shapes: no work of the program's."""

    def around(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with recorder.paused():
            return original(*args, **kwargs)

    for name in ("_forward_metadata_inference", "_backward_metadata_inference"):
        wrap(stage.PipelineStage, name, around)


def _losses(recorder: Recorder, name: str) -> Callable[..., Any]:
    def around(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        tensors = args[0] if args else kwargs.get("tensors", kwargs.get("outputs"))
        if not recorder.is_paused and tensors is not None:
            with recorder.paused():
                _note_loss(recorder, name, tensors)
        return original(*args, **kwargs)

    return around


def _note_loss(recorder: Recorder, name: str, tensors: Any) -> None:
    several = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
    values = [own(tensor) for tensor in several if hasattr(tensor, "untyped_storage")]
    if not any(_is_fake(tensor) for tensor in values):
        digest = recorder.digests.many(values)
        value = recorder.digests.number(values[0]) if len(values) == 1 else None
        compiled = any("CompiledFunction" in type(tensor.grad_fn).__name__ for tensor in values)
        recorder.note("loss", call=name, d=digest, v=value, compiled=compiled, **_rank(recorder))


class _Steps:
    """The hooks of all optimizers."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._grads: Any = None
        self._last: Callable[[], None] | None = None
        import atexit

        atexit.register(self._finish)

    def before(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        recorder = self._recorder
        if recorder.is_paused:
            return
        with recorder.paused():
            self._grads = None
            if self._is_due(optimizer):
                grads = [own(p.grad) for p in _parameters(optimizer) if p.grad is not None]
                self._grads = recorder.digests.many([g for g in grads if not _is_fake(g)])

    def after(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        recorder = self._recorder
        if recorder.is_paused:
            return
        with recorder.paused():
            due = self._is_due(optimizer)
            params = [own(p) for p in _parameters(optimizer)] if due else []
            self._last = None if due else lambda: self._note(optimizer, [own(p) for p in _parameters(optimizer)])
            self._note(optimizer, params)
            recorder.step += 1
            recorder.trainers.add(threading.get_ident())
            limit = recorder.settings.get("steps")
            is_last = limit is not None and recorder.step >= limit
            if is_last:  # told at once: what runs a notebook may kill its kernel
                recorder.stream.write({"k": "stop"})
            recorder.stream.flush()
        if is_last:
            raise SystemExit(0)

    def _note(self, optimizer: Any, params: list[Any]) -> None:
        recorder = self._recorder
        kept = [p for p in params if not _is_fake(p)]
        recorder.note(
            "step",
            optimizer=type(optimizer).__name__,
            grads=self._grads,
            params=recorder.digests.many(kept) if kept else None,
            rng=recorder.generators.states(),
        )

    def _finish(self) -> None:
        """The parameters after the last step, where that was not its turn."""
        if self._last is not None and not self._recorder.in_child:
            with self._recorder.paused():
                self._grads = None
                self._last()

    def _is_due(self, optimizer: Any) -> bool:
        every = self._recorder.settings.get("every")
        if every is None:
            size = sum(own(p).numel() * p.element_size() for p in _parameters(optimizer))
            every = 1 if size < _LARGE else 10
        return bool(self._recorder.step % every == 0)


def _parameters(optimizer: Any) -> list[Any]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def own(tensor: Any) -> Any:
    """The part of a distributed tensor that this process holds; any other tensor itself."""
    return getattr(tensor, "_local_tensor", tensor)


def _is_fake(tensor: Any) -> bool:
    """Whether a tensor has no bytes: a compiler passes such through the same functions."""
    return type(tensor).__name__ in ("FakeTensor", "FunctionalTensor") or tensor.is_meta


def _rank(recorder: Recorder) -> dict[str, int]:
    """The rank, once the program has joined a process group."""
    import torch

    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return {"rank": distributed.get_rank()}
    return {}
