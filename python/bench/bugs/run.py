"""Runs every case of this folder before and after its mending and audits both.

    python python/bench/bugs/run.py [--only NAME,...] [--seeds 1] [--keep DIR]

Prints a line a run, then how many were found and how many mended ones pass.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
SHARED = {"small", "run", "rlmutation"}


def names() -> list[str]:
    """The cases, in order."""
    return sorted(p.stem for p in HERE.glob("*.py") if p.stem not in SHARED)


def audit(path: str) -> tuple[str, str, str]:
    """What `hop audit --trajectories` says of a recording: its verdict, the check, and the sentence."""
    from hop_marl._binary import binary

    with tempfile.TemporaryDirectory() as here:
        out = subprocess.run([binary(), "audit", "--trajectories", os.path.abspath(path), "--json"], cwd=here,
                             capture_output=True, text=True)
    if not out.stdout.strip():
        raise RuntimeError(out.stderr)
    report = json.loads(out.stdout)
    if report["verdict"] not in ("fault", "suspect"):
        return "pass", "", ""
    check = next((f["check"] for f in report["findings"] if f["says"] == report["says"]), "")
    return report["verdict"], check, report["says"]


def main() -> None:
    args = argparse.ArgumentParser()
    args.add_argument("--only", default="", help="names of cases, with commas")
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--keep", default="", help="a folder for the recordings")
    args = args.parse_args()
    chosen = args.only.split(",") if args.only else names()
    with tempfile.TemporaryDirectory() as here:
        folder = args.keep or here
        found = passed = 0
        for name in chosen:
            case = importlib.import_module(name)
            said = []
            for fixed in (False, True):
                path = os.path.join(folder, f"{name}-{'after' if fixed else 'before'}.npz")
                case.Case(path, fixed, args.seed).go()
                said.append(audit(path))
            found, passed = found + (said[0][0] != "pass"), passed + (said[1][0] == "pass")
            print(json.dumps({"case": name, "before": said[0], "after": said[1]}), flush=True)
        print(json.dumps({"cases": len(chosen), "found": found, "mended pass": passed}))


if __name__ == "__main__":
    main()
