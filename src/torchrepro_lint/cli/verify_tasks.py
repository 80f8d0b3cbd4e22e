"""What `verify` is to run: findings of files, rows of the catalogue, or a call that the options spell out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result
    from torchrepro_lint.verify.observed import Observed
    from torchrepro_lint.verify.tasks import Task

DTYPES = ("float32", "float64", "bfloat16", "float16")
_NOTHING: Mapping[str, Any] = {}
MEMORY_FORMATS = ("contiguous_format", "channels_last", "channels_last_3d")


class Device(click.ParamType[str]):
    """`cpu`, `cuda` or `cuda:1`."""

    name = "device"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        kind, colon, index = str(value).partition(":")
        if kind not in ("cuda", "cpu") or (colon and (kind == "cpu" or not index.isdecimal())):
            self.fail(f"{value!r} is none of cpu, cuda, cuda:0, cuda:1, ...", param, ctx)
        return str(value)


class Shape(click.ParamType[list[int]]):
    """`2,64,56,56`."""

    name = "shape"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        parts = [part.strip() for part in str(value).strip("()[] ").split(",") if part.strip()]
        if not parts or not all(part.isdecimal() and int(part) for part in parts):
            self.fail(f"{value!r} is no shape such as 2,64,56,56", param, ctx)
        return [int(part) for part in parts]


class Rerun(click.ParamType["Observed"]):
    """A file that `rerun --output-format json` has written."""

    name = "rerun"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Observed:
        from torchrepro_lint.verify.observed import Observed, ObservedError

        try:
            return Observed.read(Path(str(value)))
        except ObservedError as error:
            self.fail(str(error), param, ctx)


class Assignment(click.ParamType[tuple[str, Any]]):
    """`dim=1`; a value that is no number, list or other literal of Python is a word."""

    name = "assignment"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        import ast

        name, equals, text = str(value).partition("=")
        if not equals or not name.isidentifier():
            self.fail(f"{value!r} is no argument such as dim=1", param, ctx)
        try:
            found = ast.literal_eval(text)
        except (ValueError, TypeError, SyntaxError):
            found = text
        return name, list(found) if isinstance(found, tuple) else found


def wanted(paths: tuple[Path, ...], options: dict[str, Any]) -> tuple[list[Task], Result | None]:
    """What is to be run, and the findings that ask for it."""
    from torchrepro_lint.verify.tasks import KINDS, all_tasks, distinct

    if options["module"]:
        from torchrepro_lint.verify.tasks import module_task

        return [module_task(options["module"], options["inputs"], str(Path.cwd()))], None
    if options["ids"]:
        named = [
            _as_asked(task, options) for name in options["ids"] for task in _named(name, dict(options["arguments"]))
        ]
        return distinct(named), None
    if options["every"]:
        kinds = {options["device"].partition(":")[0]} if options["device"] else set(KINDS)
        return [_as_asked(task, options) for task in all_tasks() if kinds.intersection(task.devices)], None
    from torchrepro_lint.cli.run import findings_in

    result = findings_in(paths or (Path(),), options["isolated"], options["config"])
    return distinct(task for task in tasks_of(result, options) if task is not None), result


def tasks_of(result: Result, options: dict[str, Any]) -> list[Task | None]:
    """The task of each finding, with the inputs that a rerun saw, or those that the options ask for."""
    from torchrepro_lint.verify import tasks

    found = zip(result.findings, tasks.tasks_of(result.findings), strict=True)
    seen: Observed | None = options["rerun"]
    return [task and _as_asked(task, options, seen.of(finding) if seen else {}) for finding, task in found]


def _as_asked(task: Task, options: dict[str, Any], seen: Mapping[str, Any] = _NOTHING) -> Task:
    """With the arguments and the inputs of the options, or else with those seen."""
    from dataclasses import replace

    from torchrepro_lint.verify.given import DTYPE, MEMORY_FORMAT, SHAPE, WRITTEN

    arguments = {**task.arguments, **seen, **dict(options["arguments"])}
    if options["arguments"]:
        arguments[WRITTEN] = True
    for name, option in ((SHAPE, "shape"), (DTYPE, "dtype"), (MEMORY_FORMAT, "memory_format")):
        if options[option] is not None:
            arguments[name] = options[option]
    return replace(task, arguments=arguments)


def _named(name: str, arguments: dict[str, Any]) -> Sequence[Task]:
    """The row of an id; the rows of a spelling or an alert that these arguments do not rule out."""
    from torchrepro_lint.kernels.operations import find
    from torchrepro_lint.verify.tasks import all_tasks

    tasks = {task.id: task for task in all_tasks()}
    if name in tasks:
        return [tasks[name]]
    found = [tasks[operation.id] for operation in find(name) if _may_be(operation.when, arguments)]
    if found:
        return found
    from difflib import get_close_matches

    close = get_close_matches(name, tasks, n=1, cutoff=0.4)
    raise click.UsageError(f"--op: no operation {name!r}" + (f"; did you mean {close[0]}?" if close else ""))


def _may_be(conditions: Sequence[Mapping[str, Any]], arguments: dict[str, Any]) -> bool:
    """Whether one of the conditions holds, as far as it is about these arguments."""
    tests = [
        [(arguments[n], test["in"]) for n, test in c.items() if n in arguments and "in" in test] for c in conditions
    ]
    return not tests or any(all(value in allowed for value, allowed in alternative) for alternative in tests)


def contradictions(paths: tuple[Path, ...], options: dict[str, Any]) -> Iterator[str]:
    """What cannot be asked for together."""
    if sum((bool(paths), options["every"], bool(options["ids"]), bool(options["module"]))) > 1:
        yield "give PATHS, --all, --op or --module: one of them"
    if bool(options["module"]) != bool(options["inputs"]):
        yield "--module and --inputs belong together"
    for name in ("module", "inputs"):
        if options[name] and not all(options[name].partition(":")):
            yield f"--{name}: {options[name]!r} is no package.module:function"
    if options["module"] and (options["plan"] or any(options[o] for o in ("shape", "dtype", "memory_format"))):
        yield "--module has inputs of its own, and no plan"
    if options["rerun"] and (options["every"] or options["ids"] or options["module"]):
        yield "--rerun is about findings: give PATHS, or nothing"
    if options["arguments"] and not options["ids"]:
        yield "--arg belongs to an operation: give --op too"
    if options["require_cuda"] and options["device"] == "cpu":
        yield "--require-cuda and --device cpu contradict each other"
