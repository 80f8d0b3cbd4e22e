"""Where names and attributes are read inside one node. Knows nothing of what they mean."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import chain

from torchrepro_lint.index.parents import descendants

OFTEN = 64  # reads of one name


class Reads:
    """The reads inside a node, by name."""

    def __init__(self, top: ast.AST) -> None:
        self._names: dict[str, list[ast.Name]] = {}
        self._attributes: dict[str, list[ast.Attribute]] = {}
        for node in descendants(top):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self._names.setdefault(node.id, []).append(node)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                self._attributes.setdefault(node.attr, []).append(node)

    def repeated(self) -> Iterator[ast.Name | ast.Attribute]:
        """The reads of what is read often, by name."""
        for nodes in chain[Sequence[ast.Name | ast.Attribute]](self._names.values(), self._attributes.values()):
            if len(nodes) > OFTEN:
                yield from nodes

    def every_name(self) -> Iterator[str]:
        """What is read, by name or as an attribute, each once."""
        return iter(dict.fromkeys((*self._names, *self._attributes)))

    def has_name(self, name: str) -> bool:
        """Whether a name is read at all."""
        return name in self._names

    def of_name(self, name: str) -> list[ast.Name]:
        """The reads of a name, in source order."""
        return sorted(self._names.get(name, ()), key=lambda n: (n.lineno, n.col_offset))

    def of_attribute(self, name: str) -> list[ast.Attribute]:
        """The reads of an attribute, whatever it is one of, by where they start."""
        return sorted(self._attributes.get(name, ()), key=lambda n: (n.lineno, n.col_offset))
