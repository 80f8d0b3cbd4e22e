"""The random generators of torch, NumPy and Python: their states, the calls that seed them, the calls that draw.

A state that differs between two runs matters only where something was drawn: a generator that nothing has touched
since the process started has no state to tell. Draws are noted once per line and seed. Under a pin an unseeded
generator starts from a number that is the process's own in every run, and a seed that was new in every run is replaced
by its number.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from torchrepro_lint.rerun.inside.imports import AfterImport
from torchrepro_lint.rerun.inside.recorder import Recorder, wrap
from torchrepro_lint.rerun.inside.sites import is_users
from torchrepro_lint.rerun.inside.streams import rank_name

DEVICES = ("cuda", "mps", "xpu")  # whose generators torch.manual_seed seeds too


def pinned() -> int:
    """What an unseeded generator starts from under a pin. Not the same in all processes: a program may rely on workers
    that do not draw alike, and fail where they do. A spawned one knows its name before its number."""
    processes = sys.modules.get("multiprocessing.process")
    name = processes.current_process().name if processes is not None else "MainProcess"
    return zlib.crc32(f"{rank_name()} {name}".encode())


def install(recorder: Recorder, imports: AfterImport) -> None:
    """Watch each generator from the moment it exists."""
    generators = Generators(recorder)
    recorder.generators = generators
    imports.when("random", generators.watch_python)
    imports.when("numpy.random", generators.watch_numpy)
    imports.when("torch", generators.watch_torch)
    imports.when("IPython.core.interactiveshell", generators.watch_cells)


class Generators:
    """What is known of the generators of this process."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._pins = recorder.settings.get("pins", ())
        self._state: dict[str, Callable[[str], str]] = {}
        self._first: dict[str, str] = {}
        self._seeded: dict[str, int] = {}
        self._told: set[tuple[str, int]] = set()
        self._made = 0

    def states(self) -> dict[str, str]:
        """The state of each generator that was seeded or drawn from, as a digest."""
        found = {name: self.state(name) for name in self._state}
        return {name: s for name, s in found.items() if s and (name in self._seeded or s != self._first.get(name))}

    def state(self, name: str) -> str:
        """The state of one generator: `torch`, `numpy`, `python`, or a device with its number or without."""
        kind = name.partition(":")[0]
        if kind not in self._state:
            return ""
        with self._recorder.paused():  # to read a state takes operations
            return self._state[kind](name)

    def watch_states(self, torch: ModuleType) -> None:
        """The states of PyTorch's generators, nothing more."""
        default = torch.random.default_generator
        self._watch("torch", lambda _: _crc(bytes(default.get_state().numpy())) if _has_numpy() else _raw(default))
        self._state |= dict.fromkeys(DEVICES, partial(self._of_device, torch))

    def watch_torch(self, torch: ModuleType) -> None:
        self.watch_states(torch)
        if "torch" in self._pins:
            torch.manual_seed(pinned())
            self._first["torch"] = ""
        known = torch.manual_seed
        for owner in (torch, torch.random):
            wrap(owner, "manual_seed", self._seeding("torch", "torch.manual_seed"))
            wrap(owner, "seed", self._seeding("torch", "torch.seed", known))
            wrap(owner, "set_rng_state", self._restoring("torch", "torch.set_rng_state"))
        for device in DEVICES:
            self._watch_seeds(device, getattr(torch, device, None))

    def _watch_seeds(self, device: str, module: ModuleType | None) -> None:
        """Around what seeds a device's generator alone, which counts as torch's."""
        known = getattr(module, "manual_seed", None)
        for name in ("manual_seed", "manual_seed_all", "seed", "seed_all"):
            wrap(module, name, self._seeding("torch", f"torch.{device}.{name}", known, device))
        wrap(module, "set_rng_state", self._restoring("torch", f"torch.{device}.set_rng_state", device))

    def _of_device(self, torch: ModuleType, name: str) -> str:
        kind, _, number = name.partition(":")
        if not _is_in_use(torch, kind):
            return ""
        state = getattr(torch, kind).get_rng_state(*[int(number)] if number else [])
        return self._recorder.digests.text(str(state.tolist()))

    def watch_numpy(self, module: ModuleType) -> None:
        self._watch("numpy", lambda _: _numpy_state(module))
        if "numpy" in self._pins:
            module.seed(pinned())
        if self._recorder.traced:
            owner = module.mtrand._rand
            for name in dir(module):
                function = getattr(module, name)
                if getattr(function, "__self__", None) is owner and name not in ("seed", "get_state", "set_state"):
                    wrap(module, name, self._drawing("numpy", f"np.random.{name}"))
        wrap(module, "seed", self._seeding("numpy", "np.random.seed"))
        wrap(module, "set_state", self._restoring("numpy", "np.random.set_state"))
        wrap(module, "default_rng", self._making)

    def watch_python(self, module: ModuleType) -> None:
        owner = module._inst
        self._watch("python", lambda _: f"{hash(owner.getstate()[1]) & 0xFFFFFFFFFFFFFFFF:016x}")
        if "python" in self._pins:
            module.seed(pinned())
        if self._recorder.traced:
            for name in dir(module):
                function = getattr(module, name)
                mine = getattr(function, "__self__", None) is owner
                if mine and name not in ("seed", "getstate", "setstate"):
                    wrap(module, name, self._drawing("python", f"random.{name}"))
        wrap(module, "seed", self._seeding("python", "random.seed"))
        wrap(module, "setstate", self._restoring("python", "random.setstate"))
        wrap(module.Random, "seed", self._instance_seeding(owner))

    def watch_cells(self, module: ModuleType) -> None:
        """A notebook begins with its first cell. Before it IPython draws a tip for its banner (core/tips.py), as often
        as somebody asks for that."""
        begun: list[bool] = []

        def around(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            if not begun and (random := sys.modules.get("random")) is not None:
                begun.append(True)
                with self._recorder.paused():
                    if "python" in self._pins:
                        random.seed(0)
                self._first["python"] = self.state("python")
            return original(*args, **kwargs)

        wrap(module.InteractiveShell, "run_cell_async", around)

    def _watch(self, name: str, state: Callable[[str], str]) -> None:
        self._state[name] = state
        self._first[name] = self.state(name)

    def _seeding(
        self, name: str, call: str, known: Callable[..., Any] | None = None, device: str | None = None
    ) -> Callable[..., Any]:
        """Around a function that seeds; `known` seeds with a given number where the function itself takes none, and
        `device` is the one whose generator alone it seeds."""

        def around(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            if self._recorder.is_paused:
                return original(*args, **kwargs)
            number = self._seeded.get(name, 0)
            if number in self._recorder.settings.get("reseed", {}).get(name, ()):
                original, args, kwargs = known or original, (number,), {}
            drawn = number == 0 and device is None and self.state(name) != self._first[name]
            with self._recorder.paused():  # a seeder that calls another one is one seed
                result = original(*args, **kwargs)
            value = args[0] if args else next(iter(kwargs.values()), result)
            given = args or kwargs or call == "torch.seed"
            self._note_seed(name, call, value if given else self.state(device or name), drawn)
            return result

        return around

    def _restoring(self, name: str, call: str, device: str | None = None) -> Callable[..., Any]:
        def around(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if not self._recorder.is_paused:
                self._note_seed(name, call, self.state(device or name), False)
            return result

        return around

    def _note_seed(self, name: str, call: str, value: object, drawn: bool) -> None:
        number = self._seeded[name] = self._seeded.get(name, 0) + 1
        self._told = {told for told in self._told if told[0] != name}
        self._recorder.note("seed", gen=name, call=call, value=str(value)[:64], n=number - 1, drawn=drawn)

    def _drawing(self, name: str, call: str) -> Callable[..., Any]:
        def around(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            self.note_draw(name, call)
            return original(*args, **kwargs)

        return around

    def note_draw(self, name: str, call: str, state: str | None = None) -> None:
        """That the user's line draws now, unless it was told since the last seed."""
        if self._recorder.is_paused:
            return
        site = self._recorder.sites.here()
        if site and (name, site) not in self._told:
            self._told.add((name, site))
            state = self.state(name) if state is None else state
            self._recorder.note("draw", gen=name, call=call, state=state)

    def _making(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """A NumPy generator that is made without a seed."""
        unseeded = not any(value is not None for value in (*args, *kwargs.values()))
        if unseeded and "numpy" in self._pins:
            self._made += 1
            args, kwargs = (self._made,), {}
        made = original(*args, **kwargs)
        if unseeded and is_users(sys._getframe(2).f_code.co_filename):  # libraries make some when they are imported
            self.note_draw(
                "numpy", "np.random.default_rng()", self._recorder.digests.text(str(made.bit_generator.state))
            )
        return made

    def _instance_seeding(self, owner: Any) -> Callable[..., Any]:
        """A generator of Python's that is made without a seed, by the user's own code."""

        def around(original: Callable[..., Any], instance: Any, a: Any = None, *args: Any, **kwargs: Any) -> Any:
            frame = sys._getframe(3)  # ours, Random.__init__, and then who makes it
            users = a is None and instance is not owner and is_users(frame.f_code.co_filename)
            if users and "python" in self._pins:
                self._made += 1
                a = self._made
            original(instance, a, *args, **kwargs)
            if users:
                self.note_draw("python", "random.Random()", self._recorder.digests.text(str(instance.getstate())))

        return around


def _numpy_state(module: ModuleType) -> str:
    kind, *state = module.get_state()
    return f"{zlib.crc32(str(state[1:]).encode(), zlib.crc32(state[0].tobytes())):08x}" if kind == "MT19937" else ""


def _crc(data: bytes) -> str:
    return f"{zlib.crc32(data):08x}"


def _raw(generator: Any) -> str:
    return _crc(bytes(generator.get_state().tolist()))


def _has_numpy() -> bool:
    return "numpy" in sys.modules


def _is_in_use(torch: ModuleType, device: str) -> bool:
    """Whether there is a generator without making one. MPS does not tell whether it is in use, and has one anyway."""
    if device == "mps":
        return bool(torch.backends.mps.is_available())
    return hasattr(torch, device) and bool(getattr(torch, device).is_initialized())
