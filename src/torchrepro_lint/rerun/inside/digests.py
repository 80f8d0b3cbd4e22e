"""Short names for bytes: 16 hexadecimal digits that depend on position, dtype and shape of what they stand for.

On the CPU a tensor is hashed where it lies, by xxh3 where python-xxhash is installed and else by CRC-32 beside
Adler-32. On another device nothing may wait for the host: a multilinear hash in whole numbers, whose sum does not
depend on the order of its terms, goes into a buffer on the device that is copied once per step. A device has a buffer
for each of its streams, which is written and copied in that stream: no other waits for it. Digests of different kinds
cannot be compared: the head of a stream of records says which kind it holds.
"""

from __future__ import annotations

import ctypes
import math
import struct
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

_SLOTS = 4096
_CHUNK = 1 << 20  # words that are weighed at a time, so that the weights stay small
_ODD = 0x9E3779B97F4A7C15 - (1 << 64)  # of the golden ratio: neighbouring places get unlike weights
Hash = Callable[[Any, int], int]


def host_hash() -> tuple[str, Hash]:
    """The kind of digest for bytes on the host, and the function: of a buffer and a start value to 64 bits."""
    try:
        import xxhash
    except ImportError:
        return "crc32", _crc
    return "xxh3", xxhash.xxh3_64_intdigest


def _crc(data: Any, start: int) -> int:
    return zlib.crc32(data, start & 0xFFFFFFFF) << 32 | zlib.adler32(data, start >> 32 | 1)


class Late:
    """A digest, or a number, that lies in a buffer on a device until the buffer is copied."""

    __slots__ = ("is_number", "text")

    def __init__(self, is_number: bool = False) -> None:
        self.text: Any = None
        self.is_number = is_number

    def settle(self, bits: int) -> None:
        """Take what the copied buffer holds for it."""
        self.text = finite(struct.unpack("<f", struct.pack("<i", bits))[0]) if self.is_number else _hex(bits)


class Digests:
    """Digests of tensors and of what contains them. `on_device` forces the device's way on the CPU too, for tests."""

    def __init__(self, on_device: bool = False) -> None:
        self.kind, self._hash = ("multilinear", host_hash()[1]) if on_device else host_hash()
        self._on_device = on_device
        self._strided: Any = None  # PyTorch is not there yet
        self._starts: dict[Any, int] = {}
        self._buffers: dict[Any, _Buffer] = {}
        self._parents: dict[Any, _Buffer] = {}

    def tensor(self, tensor: torch.Tensor) -> str | Late:
        """Of dtype, shape and every byte."""
        if tensor.is_meta:
            return "meta"
        if self._on_device or tensor.device.type != "cpu":
            return self._late(tensor)
        start = self._start(tensor)
        if self._strided is None:
            import torch

            self._strided = torch.strided
        if tensor.layout is self._strided and not tensor.is_quantized and not tensor.is_nested:
            return _hex(self._dense(tensor, start))
        from torchrepro_lint.verify.bits import parts

        for part in _nested(tensor) if tensor.is_nested else parts(tensor):
            start = self._dense(part, start)
        return _hex(start)

    def number(self, tensor: torch.Tensor) -> float | str | Late | None:
        """The value of a tensor of one element, without waiting for a device; from there in single precision, as MPS
        devices have no other."""
        if tensor.numel() != 1 or tensor.is_complex():
            return None
        if not self._on_device and tensor.device.type == "cpu":
            return finite(float(tensor.detach()))
        late = Late(is_number=True)
        import torch

        word = tensor.detach().reshape(()).float().view(torch.int32)
        self._buffer(tensor.device).put(word, late)
        return late

    def value(self, value: Any) -> str | list[Any]:
        """Of anything that a loader may yield; objects that are not understood count by their type alone."""
        import torch

        if isinstance(value, torch.Tensor):
            return self.tensor(value)  # type: ignore[return-value]
        late: list[Any] = []
        start = 0
        for kind, data in _leaves(value):
            if kind == "tensor":
                digest = self.tensor(data)
                if isinstance(digest, Late):
                    late.append(digest)
                    continue
                data = digest.encode()
            start = self._hash(data, self._hash(kind.encode(), start))
        return [_hex(start), *late] if late else _hex(start)

    def rows(self, value: Any) -> list[str]:
        """A digest for each sample of a batch, by the first dimension that all its tensors share; none where it has
        none, or where it lies on a device."""
        import torch

        tensors = [data for kind, data in _leaves(value) if kind == "tensor" and isinstance(data, torch.Tensor)]
        sizes = {tensor.shape[0] if tensor.dim() else 0 for tensor in tensors}
        if len(sizes) != 1 or not 0 < (size := sizes.pop()) <= 1024:
            return []
        if self._on_device or any(t.device.type != "cpu" or t.layout is not torch.strided for t in tensors):
            return []
        dense = [tensor.detach().contiguous() for tensor in tensors]
        result = [0] * size
        for tensor in dense:
            width = tensor.numel() // size * tensor.element_size()
            for row in range(size if width else 0):
                result[row] = self._hash(_memory(tensor.data_ptr() + row * width, width), result[row])
        return [f"{row & 0xFFFFFFFF:08x}" for row in result]

    def text(self, text: str) -> str:
        """Of a text."""
        return _hex(self._hash(text.encode("utf-8", "surrogatepass"), 0))

    def many(self, tensors: list[torch.Tensor]) -> Any:
        """One digest of several tensors in order."""
        found = [self.tensor(tensor) for tensor in tensors]
        words = [digest for digest in found if isinstance(digest, str)]
        late = [digest for digest in found if not isinstance(digest, str)]
        joined = _hex(self._hash("".join(words).encode(), len(words)))
        return [joined, *late] if late else joined

    def resolve(self) -> None:
        """Copy what lies on devices: the one point at which the host waits for them."""
        for buffer in list(self._buffers.values()):
            buffer.empty()

    def forget(self) -> None:
        """In a forked child: the buffers are the parent's, whose device cannot be used here, not even to free them."""
        self._parents, self._buffers = self._buffers, {}

    def _dense(self, tensor: torch.Tensor, start: int) -> int:
        if tensor.is_conj() or tensor.is_neg():
            tensor = tensor.detach().resolve_conj().resolve_neg()
        if not tensor.is_contiguous():
            strides = tensor.stride()
            span = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, strides, strict=True))
            if span == tensor.numel():  # a transposed one: its memory without a gap, in the order that it has
                start = self._hash(str(strides).encode(), start)
            else:
                tensor = tensor.detach().contiguous()
        size = tensor.numel() * tensor.element_size()
        return self._hash(_memory(tensor.data_ptr(), size), start) if size else start

    def _start(self, tensor: torch.Tensor) -> int:
        if tensor.is_nested:  # it has no shape that all of it shares
            shapes = [tuple(part.shape) for part in _nested(tensor)]
            return self._hash(f"{tensor.dtype}{shapes}".encode(), 0)
        key = (tensor.dtype, tensor.shape)
        start = self._starts.get(key)
        if start is None:
            start = self._starts[key] = self._hash(f"{tensor.dtype}{tuple(tensor.shape)}".encode(), 0)
        return start

    def _late(self, tensor: torch.Tensor) -> Late:
        late = Late()
        self._buffer(tensor.device).put(multilinear(tensor.detach(), self._start(tensor)), late)
        return late

    def _buffer(self, device: torch.device) -> _Buffer:
        stream = _stream(device)
        found = self._buffers.get((device, stream))
        return self._buffers.setdefault((device, stream), _Buffer(device, stream)) if found is None else found


class _Buffer:
    """64-bit words on a device, each promised to somebody. Threads share it: on a device, a thread of PyTorch's own
    runs the backward pass."""

    def __init__(self, device: torch.device, stream: Any) -> None:
        import torch

        self._words = torch.zeros(_SLOTS, dtype=torch.int64, device=device)
        self._stream = stream
        self._waiting: list[Late] = []
        self._lock = threading.RLock()

    def put(self, word: torch.Tensor, late: Late) -> None:
        with self._lock:
            if len(self._waiting) == _SLOTS:
                self.empty()
            self._words[len(self._waiting)] = word
            self._waiting.append(late)

    def empty(self) -> None:
        with self._lock, _waited_for(self._stream):
            words = self._words[: len(self._waiting)].tolist() if self._waiting else []
            for late, bits in zip(self._waiting, words, strict=True):
                late.settle(bits)
            self._waiting.clear()


def _stream(device: torch.device) -> Any:
    """The queue that a device's operations are put into at the moment; None where it has but one."""
    import torch

    return getattr(torch, device.type).current_stream(device) if device.type in ("cuda", "xpu") else None


@contextmanager
def _waited_for(stream: Any) -> Iterator[None]:
    """Inside a stream, whose results the host may wait for even where the program forbids it to itself."""
    if stream is None:
        yield
        return
    import torch

    mode = torch.cuda.get_sync_debug_mode() if stream.device.type == "cuda" else 0
    with getattr(torch, stream.device.type).stream(stream):
        try:
            if mode:
                torch.cuda.set_sync_debug_mode("default")
            yield
        finally:
            if mode:
                torch.cuda.set_sync_debug_mode(mode)


def multilinear(tensor: torch.Tensor, start: int) -> torch.Tensor:
    """A hash of all bytes as an int64 of no dimensions on the tensor's own device, modulo 2**64."""
    import torch

    from torchrepro_lint.verify.bits import as_bytes, parts

    total = torch.full((), _signed(start), dtype=torch.int64, device=tensor.device)
    for part in _nested(tensor.detach()) if tensor.is_nested else parts(tensor):
        data = as_bytes(part)
        whole = data.numel() // 4 * 4
        is_aligned = data.storage_offset() % 4 == 0 and data.data_ptr() % 4 == 0  # the storage may be foreign memory
        aligned = data[:whole] if is_aligned else data[:whole].clone()
        words = aligned.view(torch.int32)  # widened first: two flipped signs of 64-bit words would cancel
        for first in range(0, words.numel(), _CHUNK):
            total = total * _ODD + _weighed(words[first : first + _CHUNK])
        total = total * _ODD + _weighed(data[whole:]) + data.numel()
    return total


def _weighed(words: torch.Tensor) -> torch.Tensor:
    import torch

    places = torch.arange(1, words.numel() + 1, dtype=torch.int64, device=words.device)
    weights = places * _ODD
    weights = (weights ^ (weights >> 29)) * 0x3F58476D1CE4E5B9 | 1
    return (words.to(torch.int64) * weights).sum()


def _leaves(value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """What a nested value holds, each with a word that says what it is."""
    import torch

    match value:
        case torch.Tensor():
            yield "tensor", value
        case None | bool() | int() | str():
            yield type(value).__name__, repr(value).encode("utf-8", "surrogatepass")
        case float():
            yield "float", struct.pack("<d", value)
        case bytes() | bytearray():
            yield "bytes", bytes(value)
        case Mapping() if depth < 8:
            for key, item in value.items():
                yield "key", repr(key).encode("utf-8", "surrogatepass")
                yield from _leaves(item, depth + 1)
        case list() | tuple() if depth < 8:
            yield "list", struct.pack("<q", len(value))
            for item in value:
                yield from _leaves(item, depth + 1)
        case _ if type(value).__module__ == "numpy" and hasattr(value, "tobytes") and value.dtype.kind != "O":
            yield f"array {value.dtype} {value.shape}", value.tobytes()
        case _ if depth < 8 and hasattr(value, "__dataclass_fields__"):
            for name in value.__dataclass_fields__:
                yield from _leaves(getattr(value, name, None), depth + 1)
        case _:
            yield type(value).__qualname__, b""


def finite(number: float) -> float | str:
    """A number as JSON may hold it."""
    return number if math.isfinite(number) else str(number)


def _nested(tensor: Any) -> list[torch.Tensor]:
    return [tensor.values(), tensor.offsets()] if hasattr(tensor, "offsets") else list(tensor.unbind())


def _memory(address: int, size: int) -> Any:
    return (ctypes.c_char * size).from_address(address)


def _hex(bits: int) -> str:
    return f"{bits & 0xFFFFFFFFFFFFFFFF:016x}"


def _signed(bits: int) -> int:
    return bits - (1 << 64) if bits >= 1 << 63 else bits
