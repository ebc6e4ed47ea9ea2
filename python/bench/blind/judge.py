"""Runs every slip and its healthy twin, has the recordings judged, and prints tables.

    python judge.py --hop hop --keep folder [--seeds 1 2] [--healthy 1 2 3 4 5] [--only loop]
"""
import argparse
import importlib
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch

torch.set_num_threads(1)
LOOPS = ["hunters", "plough", "solo", "pantry", "coins", "taggers", "rounds"]


def audit(hop, npz):
    def say(*more):
        p = subprocess.run([*hop.split(), "audit", "--trajectories", str(npz), "--out", str(npz.parent / "out"), *more], capture_output=True,
                           text=True, timeout=300)
        if not p.stdout:
            sys.exit(f"{npz}: {p.stderr}")
        return p.stdout
    return json.loads(say("--json")), say()


def accusations(found):
    return [f for f in found["findings"] if f["status"] in ("fault", "suspect")]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--hop", default="hop")
    p.add_argument("--keep")
    p.add_argument("--seeds", type=int, nargs="*", default=[1])
    p.add_argument("--healthy", type=int, nargs="*", default=[1, 2, 3, 4, 5])
    p.add_argument("--only", nargs="*", default=LOOPS)
    args = p.parse_args()
    folder = pathlib.Path(args.keep or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)

    def look(loop, slip, seed):
        name = f"{loop}-{slip or 'healthy'}-{seed}"
        npz = folder / f"{name}.npz"
        if not npz.exists():
            warnings.simplefilter("ignore")
            importlib.import_module(loop).main(str(npz), slip, seed)
        cached = folder / f"{name}.json"
        if not cached.exists():
            found, plain = audit(args.hop, npz)
            cached.write_text(json.dumps(found))
            (folder / f"{name}.txt").write_text(plain)
        print("judged", name, file=sys.stderr)
        return json.loads(cached.read_text()), (folder / f"{name}.txt").read_text()

    print("| slip | loop | seed | checks that accuse it and not its twin | first sentence |\n|---|---|---|---|---|")
    for loop in args.only:
        for slip in importlib.import_module(loop).SLIPS:
            for seed in args.seeds:
                found, _ = look(loop, slip, seed)
                twin = {f["check"] for f in accusations(look(loop, "", seed)[0])}
                new = [f["check"] for f in accusations(found) if f["check"] not in twin]
                print(f"| {slip} | {loop} | {seed} | {'; '.join(dict.fromkeys(new)) or '-'} | {found['says']} |", flush=True)
    print("\n| healthy | seed | accusations | first sentence |\n|---|---|---|---|")
    for loop in args.only:
        for seed in args.healthy:
            found, _ = look(loop, "", seed)
            print(f"| {loop} | {seed} | {len(accusations(found))} | {found['says']} |", flush=True)


main()
