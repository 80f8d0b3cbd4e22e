"""Proves the fixes to a person who watches: `python -m tests.proof`, or with names of programs.

Prints one line per program and exits with 1 if a proof does not hold.
"""

from __future__ import annotations

import sys

from .program import Program, names
from .proving import Proof, prove
from .runs import Broken

WIDTH = max(map(len, names()))


def row(name: str, fixed: str, before: str, after: str, seconds: str) -> str:
    return f"{name:{WIDTH}}  {before:8}  {after:8}  {seconds:>7}  {fixed}"


def result(program: Program, proof: Proof) -> list[str]:
    before, after = "differ" if len(proof.before) > 1 else "SAME", "DIFFER" if proof.after else "equal"
    lines = [row(program.name, " ".join(proof.fixed), before, after, f"{proof.seconds:.1f}")]
    if proof.unnamed:
        lines.append(f"  not reported: {', '.join(proof.unnamed)}")
    if len(proof.before) < 2:
        lines.append(f"  differs before the fix: {', '.join(proof.before) or 'nothing'}")
    if proof.after:
        lines.append(f"  differs after the fix: {', '.join(proof.after)}")
    return lines


def main(chosen: list[str]) -> int:
    unknown = sorted(set(chosen) - set(names()))
    if unknown:
        print(f"no such program: {', '.join(unknown)}; there are: {', '.join(names())}", file=sys.stderr)
        return 2
    held = True
    print(row("program", "rules fixed", "before", "after", "seconds"))
    for program in map(Program.read, chosen or names()):
        if program.missing:
            print(f"{program.name:{WIDTH}}  skipped: {', '.join(program.missing)} is not installed")
            continue
        try:
            proof = prove(program)
        except Broken as broken:
            held = False
            print(f"{program.name:{WIDTH}}  BROKEN: {broken}")
        else:
            held = held and proof.holds
            print("\n".join(result(program, proof)), flush=True)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
