#!/usr/bin/env python3
"""Hold baselines and `--changed-since` to their promises on real repositories.

Code that is moved and files that are renamed must leave nothing new against a baseline that was written before. A
commit that changes one file must be told what it breaks in other files, exactly: one finding for each program that it
breaks, so a change to a seed helper that four programs call is four findings.

The checkouts lie in one folder, which TORCHREPRO_LINT_PROGRAMS names, as OWNER__NAME, each at the commit pinned here;
what is absent or at another commit is told with the git command that lays it out, and skipped. Each is copied, and the
commits are made in the copy. Exits 1 where a finding is missing or too many, 2 where there is nothing to check.

    TORCHREPRO_LINT_PROGRAMS=~/programs python benchmarks/changes.py
    TORCHREPRO_LINT_PROGRAMS=~/programs python benchmarks/changes.py dino
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from programs import FOLDER, Repository, present


@dataclass(frozen=True)
class Change:
    """A commit to a repository: the one match of `pattern` in `path` is replaced, after which `found` is new."""

    path: str
    pattern: str
    replacement: str
    found: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """A repository, modules that are renamed in it with all their imports, and a change that breaks something."""

    repository: Repository
    renamed: Mapping[str, str]
    change: Change


CASES = [
    Case(
        Repository("facebookresearch/drqv2", "c0c650b76c6e5d22a7eb5f2edffd1440fe94f8ef"),
        {"train": "run", "utils": "tools"},
        Change("utils.py", r"^ +torch\.manual_seed\(seed\)\n", "", ("train.py TRP101",)),
    ),
    Case(
        Repository("facebookresearch/dino", "7c446df5b9f45747937fb0d72314eb9f7b66930a"),
        {"vision_transformer": "networks", "main_dino": "pretrain"},
        Change(
            "utils.py",
            r"^ +torch\.manual_seed\(seed\)\n",
            "",
            ("main_dino.py TRP101", "run_with_submitit.py TRP101"),  # which starts the other's function elsewhere
        ),
    ),
    Case(
        Repository("ikostrikov/pytorch-a2c-ppo-acktr-gail", "41332b78dfb50321c29bade65f9d244387f68a60"),
        {"storage": "memory", "envs": "environments"},
        # main.py seeds torch alone
        Change(
            "a2c_ppo_acktr/storage.py",
            r"^ +def after_update\(self\):\n",
            r"\g<0>        import random\n\n        self.step = random.randrange(self.num_steps)\n",
            ("main.py TRP101",),
        ),
    ),
    Case(
        Repository("sthalles/SimCLR", "1848fc934ad844ae630e6c452300433fe99acfd9"),
        {"simclr": "training", "gaussian_blur": "blur"},
        Change("simclr.py", r"^torch\.manual_seed\(0\)\n", "", ("run.py TRP101",)),
    ),
    Case(
        Repository("karpathy/minGPT", "37baab71b9abea1b76ab957409a1cc2fbfba8a26"),
        {"trainer": "training"},
        Change(
            "mingpt/utils.py",
            r"^ +torch\.manual_seed\(seed\)\n",
            "",
            (
                "demo.ipynb TRP101",
                "generate.ipynb TRP101",
                "projects/adder/adder.py TRP101",
                "projects/chargpt/chargpt.py TRP101",
            ),
        ),
    ),
]


def wrong(case: Case, checkout: Path) -> list[str]:
    """What is not as it should be."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, case.repository.name.rpartition("/")[2])
        shutil.copytree(checkout, copy, ignore=shutil.ignore_patterns(".git", ".torchrepro_cache"), symlinks=True)
        git(copy, "init", "--quiet", "--initial-branch=main")
        commit(copy)
        known = findings(copy)
        findings(copy, "--write-baseline", "known.txt")
        commit(copy)
        told = [f"new though nothing has changed: {row}" for row in findings(copy, "--changed-since", "main")]

        replace(copy / case.change.path, case.change.pattern, case.change.replacement)
        commit(copy)
        new = findings(copy, "--changed-since", "main~1")
        told += [f"missed: {row}" for row in case.change.found if row not in new]
        told += [f"too many: {row}" for row in sorted((Counter(new) - Counter(case.change.found)).elements())]

        git(copy, "reset", "--quiet", "--hard", "main~1")
        moved = rename(copy, case.renamed) + sum(map(reorder, copy.rglob("*.py")))
        commit(copy)
        told += [f"new against the baseline: {row}" for row in findings(copy, "--baseline", "known.txt")]
        told += [] if len(findings(copy)) == len(known) else ["to move code has changed what is found"]
        print(f"{case.repository.name}: {len(known)} known, {moved} modules and functions moved")
        print(f"  a change to {case.change.path} breaks")
        print("\n".join(f"    {row}" for row in new), flush=True)
        return told


def findings(folder: Path, *arguments: str) -> list[str]:
    """`path code` of each finding in a repository."""
    command = [sys.executable, "-m", "torchrepro_lint", ".", "--output-format", "json", "--no-cache", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{folder.name}: {done.stderr}")
    return [f"{row['path']} {row['code']}" for row in json.loads(done.stdout)]


def replace(path: Path, pattern: str, replacement: str) -> None:
    """Change the one place in a file."""
    text, number = re.subn(pattern, replacement, path.read_text(encoding="utf-8"), flags=re.M | re.S)
    assert number == 1, f"{path}: {number} places"
    path.write_text(text, encoding="utf-8")


def rename(folder: Path, names: Mapping[str, str]) -> int:
    """Give modules other names, in their importers too; how many there are."""
    for path in [*folder.rglob("*.py"), *folder.rglob("*.ipynb")]:
        text = path.read_text(encoding="utf-8")
        for old, new in names.items():
            text = re.sub(rf"(?<=\bfrom )((?:[\w.]*\.)?){old}(?= import\b)", rf"\g<1>{new}", text)
            text = re.sub(rf"\bimport {old}\b(?! as)(?!\.)", f"import {new} as {old}", text)
            text = re.sub(rf"\bimport {old}(?= as\b)", f"import {new}", text)
        path.write_text(text, encoding="utf-8")
    modules = [path for path in folder.rglob("*.py") if path.stem in names]
    for path in modules:
        path.rename(path.with_stem(names[path.stem]))
    return len(modules)


def reorder(path: Path) -> int:
    """Turn round the functions that follow one another at a module's top, and put lines above all; how many moved."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    blocks: list[tuple[bool, list[str]]] = []
    at = 0
    for node in ast.parse("".join(lines)).body:
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))]) - 1
        blocks += [(False, lines[at:first])] if "".join(lines[at:first]).strip() else []
        at = node.end_lineno or node.lineno
        blocks.append((isinstance(node, ast.FunctionDef), lines[first:at]))
    blocks.append((False, lines[at:]))
    runs = [(is_function, list(run)) for is_function, run in groupby(blocks, key=itemgetter(0))]
    turned = [block for is_function, run in runs for _, block in (reversed(run) if is_function else run)]
    path.write_text("# One line more.\n\n" + "\n".join("".join(block) for block in turned), encoding="utf-8")
    return sum(len(run) for is_function, run in runs if is_function and len(run) > 1)


def commit(folder: Path) -> None:
    """Commit everything."""
    git(folder, "add", "--all")
    git(folder, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "--quiet", "--message", "all")


def git(folder: Path, *arguments: str) -> None:
    """Run git."""
    subprocess.run(["git", *arguments], cwd=folder, check=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check each repository that is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which repositories, by part of a name (default: all)")
    options = parser.parse_args(arguments)
    if not (given := os.environ.get(FOLDER)):
        parser.error(f"{FOLDER} is not set: name the folder of the checkouts")
    programs = Path(given).expanduser().resolve()
    cases = {
        case.repository: case
        for case in CASES
        if not options.names or any(part in case.repository.name for part in options.names)
    }
    here = list(present(list(cases), programs))
    if not here:
        parser.error(f"none of the repositories is in {programs}")
    told = [(each.name, row) for each in here for row in wrong(cases[each], each.folder(programs))]
    for name, row in told:
        print(f"WRONG {name}: {row}")
    return int(bool(told))


if __name__ == "__main__":
    sys.exit(main())
