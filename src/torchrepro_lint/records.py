"""`NamedTuple` as `typing` has it, for a type checker the same, but that annotations stay what is written.

`typing` compiles the annotations of each class. The first thing that is compiled in a process makes Python set up all
classes of its syntax tree, and that takes a tenth of a run that has nothing to check.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NamedTuple
else:

    class _Fields(type):
        """Makes a tuple of the annotated names of a class body, with the defaults and methods that it has."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = body["__annotations__"]
            defaults = [body.pop(field) for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            for key, value in body.items():
                if key not in ("__module__", "__dict__", "__weakref__"):
                    setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Fields):
        """The base of such a class."""


__all__ = ["NamedTuple"]
