"""Runs every case of this folder before and after its mending, audits both, and writes the page of results.

    python python/bench/bugs/rlmutation.py > mutants.jsonl
    python python/bench/bugs/run.py --mutants mutants.jsonl --write docs/results/bugs.md

Prints a line a case. --only NAME,... runs some; --from FILE takes what an earlier run printed. Needs torch,
gymnasium and stable-baselines3.
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
from typing import Iterator

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
SHARED = {"small", "run", "rlmutation", "page"}


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


def cases(chosen: list[str], seed: int, folder: str) -> Iterator[dict]:
    """Each case, run and audited."""
    for name in chosen:
        case = importlib.import_module(name)
        said = []
        for fixed in (False, True):
            path = os.path.join(folder, f"{name}-{'after' if fixed else 'before'}.npz")
            case.Case(path, fixed, seed).go()
            said.append(audit(path))
        yield {"case": name, "before": said[0], "after": said[1]}


def lines(path: str) -> list[dict]:
    """What a run printed, a line a case."""
    with open(path) as f:
        return [json.loads(x) for x in f if x.startswith('{"case"')]


def main() -> None:
    args = argparse.ArgumentParser()
    args.add_argument("--only", default="", help="names of cases, with commas")
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--keep", default="", help="a folder for the recordings")
    args.add_argument("--from", dest="printed", default="", help="what an earlier run printed")
    args.add_argument("--mutants", default="", help="what rlmutation.py printed, for the page")
    args.add_argument("--write", default="", help="the page")
    args = args.parse_args()
    done = lines(args.printed) if args.printed else []
    if not done:
        with tempfile.TemporaryDirectory() as here:
            for line in cases(args.only.split(",") if args.only else names(), args.seed, args.keep or here):
                done.append(line)
                print(json.dumps(line), flush=True)
    found, passed = sum(x["before"][0] != "pass" for x in done), sum(x["after"][0] == "pass" for x in done)
    print(json.dumps({"cases": len(done), "found": found, "mended pass": passed}))
    if args.write:
        from page import page

        Path(args.write).write_text(page(done, lines(args.mutants)))


if __name__ == "__main__":
    main()
