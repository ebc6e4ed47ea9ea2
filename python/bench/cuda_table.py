#!/usr/bin/env python3
"""Writes docs/results/cuda.md from what python/bench/cuda.sh has measured: cuda_table.py [FOLDER]."""

import json
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/results/cuda"


def rates(name):
    """Agent-steps a second of the clock, by turn."""
    found = sorted(FOLDER.glob(f"{name}-?.json"))
    return [json.loads(p.read_text())["agent_steps_per_wall_s"] for p in found]


def short(x):
    return f"{x / 1e6:.2f} M" if x >= 1e6 else f"{x / 1e3:.1f} k" if x < 1e5 else f"{x / 1e3:.0f} k"


def row(what, name, command, beside=()):
    mine = rates(name)
    middle = statistics.median(mine)
    times = ", ".join(f"{middle / statistics.median(rates(n)):.1f} times {says}" for n, says in beside)
    return f"| {what} | {', '.join(map(short, mine))} | {short(middle)} | {times} | `{command}` |"


def steps():
    """Microseconds of a gradient step, by rows and networks; and PyTorch's."""
    ours = {}
    for rows, networks, ns in re.findall(r"rows=(\d+)/networks=(\d+)\S*\s+\d+\s+(\d+) ns/op", (FOLDER / "step.txt").read_text()):
        ours[int(rows), int(networks)] = int(ns) / 1000
    theirs = {}
    for rows, tf32, eager, graph in re.findall(
        r"(\d+) rows, TF32 (\w+): eager (\d+) us, graph (\d+) us", (FOLDER / "torch.txt").read_text()
    ):
        theirs[int(rows), tf32 == "True"] = int(eager), int(graph)
    for rows in (256, 512, 4096):
        plain, rounded = theirs[rows, False], theirs[rows, True]
        yield (
            f"| {rows:,} | {ours[rows, 1]:,.0f} | {ours[rows, 4] / 4:,.0f} | {plain[0]:,} | {plain[1]:,} | {rounded[1]:,} | "
            f"{plain[0] / ours[rows, 1]:.1f} | {plain[1] / ours[rows, 1]:.2f} | {rounded[1] / ours[rows, 1]:.2f} |"
        )


def learnt():
    both = json.loads((FOLDER / "learnt.json").read_text())
    for who in ("card", "processor"):
        m = both[who]
        seeds = ", ".join(f"{x:.3f}" for x in m["seeds"])
        yield f"| {who} | {m['mean']:.4f} | {m['ci'][0]:.4f} to {m['ci'][1]:.4f} | {seeds} |"


def jax():
    """The section on JAX; nothing where it was not measured."""
    file = FOLDER / "jax.txt"
    runs = [json.loads(x) for x in file.read_text().splitlines() if x.startswith("{")] if file.exists() else []
    if not runs:
        return
    yield from (
        "",
        "## The whole loop against JAX",
        "",
        "`ppo-4x4` as one compiled program of JAX " + runs[0]["jax"] + ", games and all, on the same card: "
        "`python3 python/bench/cuda_jax.py`, which says what differs. Agent-steps a second of the clock, three turns; hop with sixteen cores "
        "beside the card. Return: mean over seeds at the end of "
        f"{runs[0]['env_steps']:,} env steps a seed; JAX rounds products to TF32 unless it says *highest*.",
        "",
        "| seeds | games each | hop | median | JAX | median | hop over JAX | JAX compiles, s | JAX's return | its products |",
        "|---|---|---|---|---|---|---|---|---|---|",
    )
    names = {(1, 128): "one-card", (16, 128): "seeds16-card", (48, 128): "seeds48-card", (16, 1024): "wide-card"}
    for run in runs:
        mine, theirs = rates(names.get((run["seeds"], run["envs"]), "none")), run["agent_steps_per_s"]
        middle = statistics.median(mine) if mine else 0
        ours = f"{', '.join(map(short, mine))} | {short(middle)}" if mine else " | "
        ratio = f"{middle / theirs:.2f}" if mine else ""
        yield (
            f"| {run['seeds']} | {run['envs']:,} | {ours} | {', '.join(map(short, run['turns']))} | {short(theirs)} | {ratio} | "
            f"{run['compile_s']:.1f} | {run['return']:.3f} | {run['precision']} |"
        )
    whole = [float(p.read_text().split()[-1]) for p in sorted(FOLDER.glob("whole-?.txt"))]
    sixteen = [r for r in runs if (r["seeds"], r["envs"]) == (16, 128)]
    if not whole and not sixteen:
        return
    yield from (
        "",
        "From the command until sixteen seeds have trained, in seconds. hop's are `hop-cuda train ppo-4x4 --seeds 1-16 --device cuda "
        "--set eval.episodes=100`, by turn, with checkpoints, scores and reports; JAX's are starting, compiling and training.",
        "",
        "| what | seconds | median |",
        "|---|---|---|",
    )
    if whole:
        yield f"| hop | {', '.join(f'{x:.1f}' for x in whole)} | {statistics.median(whole):.1f} |"
    for r in sixteen:
        parts = r["start_s"], r["compile_s"], r["train_s"]
        what = "JAX" if r["precision"] == "default" else f"JAX, {r['precision']}"
        yield f"| {what} | {' + '.join(f'{x:.1f}' for x in parts)} | {sum(parts):.1f} |"


conv = "hop-cuda bench train ppo-8x8 --set actor.net=conv --set actor.frame=board"
four = "hop-cuda bench train ppo-4x4"
lines = [
    "# Tables: a graphics card",
    "",
    "What they mean: [a graphics card](../cuda.md). `bash python/bench/cuda.sh docs/results/cuda` measures on a machine with a card, "
    "`python3 python/bench/cuda_table.py` writes this page. An NVIDIA H200 beside 16 cores, 2026-11-20, avx512 kernels, PyTorch "
    + (FOLDER / "torch.txt").read_text().split()[0]
    + ".",
    "",
    "## Whole trainings",
    "",
    "Agent-steps a second of the clock, three turns (one of one core with convolutions), everything in them: games, acting, learning, guards.",
    "",
    "| what | turns | median | so | command |",
    "|---|---|---|---|---|",
    row("convolutions on 8x8, one core", "conv-1", conv + " --cpu 1 --steps 10000"),
    row("sixteen cores", "conv-16", conv + " --cpu 16 --steps 20000", [("conv-1", "one core")]),
    row(
        "sixteen cores and the card",
        "conv-card",
        conv + " --cpu 16 --steps 150000 --device cuda",
        [("conv-1", "one core"), ("conv-16", "sixteen")],
    ),
    row("`ppo-4x4`, one seed, sixteen cores", "one-16", four + " --cpu 16 --steps 300000"),
    row("and the card", "one-card", four + " --cpu 16 --steps 300000 --device cuda", [("one-16", "without")]),
    row("sixteen seeds side by side, sixteen cores", "seeds16-16", four + " --cpu 16 --steps 250000 --seeds 16"),
    row(
        "and the card",
        "seeds16-card",
        four + " --cpu 16 --steps 400000 --seeds 16 --device cuda",
        [("seeds16-16", "without")],
    ),
    row(
        "one window behind",
        "seeds16-behind",
        four + " --set train.behind=true --cpu 16 --steps 400000 --seeds 16 --device cuda",
        [("seeds16-card", "not behind")],
    ),
    row(
        "forty-eight seeds, sixteen cores and the card",
        "seeds48-card",
        four + " --cpu 16 --steps 300000 --seeds 48 --device cuda",
        [("seeds16-16", "sixteen seeds without")],
    ),
    "",
    "## A gradient step of the convolutional actor",
    "",
    "Microseconds: forward, PPO's loss, backward, the gradient's norm, Adam, on 8x8 with six planes, 1.09 M weights. Rows are on the card "
    "before. *Of four* is a fourth of a step of four networks side by side, as four agents take them. PyTorch eager, and as a recorded "
    "graph, which is what hop does; with TF32 it rounds what is multiplied to 10 bits, which hop does not.",
    "",
    "| rows | hop | of four | PyTorch, eager | as a graph | as a graph, TF32 | eager over hop | graph over hop | TF32 graph over hop |",
    "|---|---|---|---|---|---|---|---|---|",
    *steps(),
    "",
    "`go test ./card -run XXX -bench Step -benchtime 200x` in the folder cuda says what each kernel takes; "
    "`python3 python/bench/cuda_torch.py`.",
    *jax(),
    "",
    "## What is learnt",
    "",
    "`hop-cuda train ppo-4x4 --seeds 1-16`, with `--device cuda` and without: mean return of the final agents, interval of 95 % over seeds.",
    "",
    "| gradient steps by | mean | interval | seeds |",
    "|---|---|---|---|",
    *learnt(),
]
(ROOT / "docs/results/cuda.md").write_text("\n".join(lines) + "\n")
