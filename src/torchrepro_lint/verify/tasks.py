"""What is to be run: rows of the catalogue, with the arguments that a flagged call shows, each once.

Knows the tables and what findings say of themselves; nothing of PyTorch.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.cards import rules_dir
from torchrepro_lint.model import Finding
from torchrepro_lint.verify.given import DTYPE, FOLDER, UNREAD, WRITTEN

KINDS = ("cuda", "cpu")
"""The devices that operations are run on, the preferred one first."""


@dataclass(frozen=True)
class Task:
    """A row of the catalogue to run; `arguments` are those known at the flagged call, none for the row itself.

    `unprobed` says why running it in one process can show nothing.
    """

    id: str
    probe: str | None
    direction: str
    devices: tuple[str, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    unprobed: str | None = None

    @property
    def is_written(self) -> bool:
        """Whether it is a call, and no row of the catalogue."""
        return bool(self.arguments.get(WRITTEN))

    @property
    def shown(self) -> dict[str, Any]:
        """The arguments by name, without what is said of them."""
        return {name: value for name, value in sorted(self.arguments.items()) if name not in (WRITTEN, UNREAD, FOLDER)}

    @property
    def key(self) -> tuple[str, str]:
        """Equal for tasks that would run the same."""
        return self.id, json.dumps(self.arguments, sort_keys=True)


MODULE = "module"
"""In place of a probe: the user's own."""


def module_task(module: str, inputs: str, folder: str) -> Task:
    """The user's module: what makes it and what makes its batch, as `package.module:function`."""
    return Task(module, MODULE, "both", KINDS, {"module": module, "inputs": inputs, FOLDER: folder})


def all_tasks() -> list[Task]:
    """One per row of the catalogue, by id."""
    tables = sorted((rules_dir() / "catalogue" / "ops").glob("*.toml"))
    rows = (row for table in tables for row in catalogue.table(f"ops/{table.stem}")["op"])
    return sorted((_task(row) for row in rows), key=lambda task: task.id)


def tasks_of(findings: Iterable[Finding]) -> list[Task | None]:
    """The task that settles each finding; None for one that is not about an operation."""
    rows = {task.id: task for task in all_tasks()}
    return [_task_of(finding, rows) for finding in findings]


def _task_of(finding: Finding, rows: Mapping[str, Task]) -> Task | None:
    row = rows.get(str(finding.properties.get("operation")))
    return replace(row, arguments=_as_written(finding.properties)) if row is not None else None


def _as_written(properties: Mapping[str, Any]) -> dict[str, Any]:
    """What the call shows: its arguments, and the dtype of its input."""
    arguments = {WRITTEN: True, **properties.get("arguments", {})}
    if properties.get("unread"):
        arguments[UNREAD] = sorted(properties["unread"])
    if properties.get("dtype"):
        arguments[DTYPE] = properties["dtype"]
    return arguments


def distinct(tasks: Iterable[Task]) -> list[Task]:
    """Each once, sorted."""
    by_key = {task.key: task for task in tasks}
    return [by_key[key] for key in sorted(by_key)]


def device_of(
    task: Task, wanted: Sequence[str], present: Sequence[str], absent: Mapping[str, str]
) -> tuple[str | None, str | None]:
    """Where to run it, and why it cannot be run there if it cannot; `absent` says why a kind of device is not here."""
    able = [kind for kind in wanted if kind in task.devices]
    for kind in able:
        if kind in present:
            return kind, None
    if able:
        return able[0], absent.get(able[0], f"no {able[0].upper()} device here")
    return None, f"varies on {', '.join(kind.upper() for kind in task.devices)} only"


def _task(row: Mapping[str, Any]) -> Task:
    return Task(row["id"], row.get("probe"), row["direction"], tuple(row["devices"]), unprobed=row.get("unprobed"))
