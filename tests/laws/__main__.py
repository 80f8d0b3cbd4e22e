"""Tries the laws on many programs: `python -m tests.laws [--rounds N] [FOLDER...]`, each folder a repository.

Prints each change of the findings, and how often each law was tried; exit status 1 where one was broken.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import zlib
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from laws.test_laws import KNOWN, PROGRAMS, findings
from laws.transformations import ALL, plain


def _repository(folder: Path) -> dict[str, str]:
    """The Python files of a repository that `ast` can write again."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*.py")):
        try:
            found.update(plain({path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")}))
        except (SyntaxError, UnicodeDecodeError, ValueError, OSError):
            continue
    return found


def main() -> int:
    """Try all laws."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    programs = [(f.name, _repository(f)) for f in options.folders] or [(n, plain(files)) for n, files in PROGRAMS]
    tried: Counter[str] = Counter()
    broken: Counter[str] = Counter()
    known: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        for number, (name, before) in enumerate(programs):
            wanted = findings(Path(scratch) / f"{number}", before)
            for law in ALL:
                for turn in range(options.rounds):
                    after = law(before, random.Random(zlib.crc32(f"{law.__name__} {name} {turn}".encode())))
                    if after is None:
                        continue
                    tried[law.__name__] += 1
                    found = findings(Path(scratch) / f"{number}-{law.__name__}-{turn}", after)
                    if wanted == found:
                        continue
                    why = KNOWN.get(law.__name__, {}).get(name.partition(":")[0])
                    broken[law.__name__] += why is None
                    known[law.__name__] += why is not None
                    lost, new = dict(wanted - found), dict(found - wanted)
                    print(f"{law.__name__} {name} {turn}: {lost} became {new}{f' ({why})' if why else ''}", flush=True)
    print(f"{tried.total()} tried, {broken.total()} broken")
    for law in ALL:
        print(
            f"  {law.__name__}: {tried[law.__name__]} tried, {broken[law.__name__]} broken, {known[law.__name__]} known"
        )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
