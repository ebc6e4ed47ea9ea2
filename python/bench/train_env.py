"""What hop adds to the time that an environment in Python takes by itself.

    python python/bench/train_env.py [--env mpe2.simple_spread_v3:parallel_env] [--steps 20000]

Two plain Python processes play so many steps with random actions, and then
`hop train ppo` with two workers plays and learns from as many; both in turns, so that
they meet the same machine. The time of the training is that of its loop (playing,
learning, checkpoints), without the start of Python and the scoring at the end, and
without the start of Python here too.

Other programs disturb the clock, and a training that waits for two workers more than a
loop that waits for nobody. So processor time is compared as well: that of hop and its
workers for a step, from a long and a short training, over that of the plain loop. Prints
one JSON object with the median of both ratios.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np


def plain(
    name: str, steps: int, ready: multiprocessing.Barrier, out: multiprocessing.Queue, seed: int
) -> None:
    """Plays so many steps of eight copies of the environment and says how long it took."""
    module, function = name.split(":")
    make = getattr(importlib.import_module(module), function)
    envs = [make() for _ in range(8)]
    draw = np.random.default_rng(seed)
    for i, env in enumerate(envs):
        env.reset(seed=seed * 100 + i)
    agents = envs[0].possible_agents
    n = envs[0].action_space(agents[0]).n
    actions = draw.integers(n, size=(steps, len(agents))).tolist()
    ready.wait()
    start, cpu, done = time.perf_counter(), time.process_time(), 0
    while done < steps:
        for env in envs:
            if not env.agents:
                env.reset(seed=done)
            env.step(dict(zip(env.agents, actions[min(done, steps - 1)])))
            done += 1
    out.put((time.perf_counter() - start, time.process_time() - cpu))


def alone(name: str, steps: int, workers: int) -> tuple[float, float]:
    """The seconds that plain processes need for the steps: by the clock, and of processors."""
    ctx = multiprocessing.get_context("spawn")
    ready, out = ctx.Barrier(workers), ctx.Queue()
    todo = [
        ctx.Process(target=plain, args=(name, steps // workers, ready, out, i + 1))
        for i in range(workers)
    ]
    for p in todo:
        p.start()
    took = [out.get() for _ in todo]
    for p in todo:
        p.join()
    return max(t for t, _ in took), sum(c for _, c in took)


def spent() -> float:
    """The processor time of all processes that were waited for."""
    times = os.times()
    return times.children_user + times.children_system


def trained(hop: str, name: str, steps: int, workers: int) -> tuple[float, int, float]:
    """The seconds of a training's loop, its steps, and the processor time of all of it."""
    folder, before = tempfile.mkdtemp(), spent()
    try:
        subprocess.run(
            [
                hop,
                "train",
                "ppo",
                "--env",
                name,
                "--steps",
                str(steps),
                "--set",
                f"game.workers={workers}",
                "--set",
                "eval.episodes=1",
                "--out",
                folder,
                "--json",
            ],
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        run = os.path.join(folder, "ppo-env-001", "seed-1")
        with open(os.path.join(run, "env.json")) as f:
            phases = json.load(f)["phases_s"]
        with open(os.path.join(run, "result.json")) as f:
            result = json.load(f)
    finally:
        shutil.rmtree(folder)
    loop = sum(s for p, s in phases.items() if "/" not in p)
    return loop, result["env_steps"], spent() - before


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--env", default="mpe2.simple_spread_v3:parallel_env")
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--hop", default=os.environ.get("HOP_BINARY") or shutil.which("hop") or "hop"
    )
    args = parser.parse_args()
    rounds = []
    for _ in range(args.rounds):
        _, few, little = trained(args.hop, args.env, 1, args.workers)
        took, steps, cpu = trained(args.hop, args.env, args.steps, args.workers)
        own, own_cpu = alone(args.env, steps, args.workers)
        clock, work = took / own, (cpu - little) / (steps - few) / (own_cpu / steps)
        rounds.append(
            {"train_s": took, "alone_s": own, "clock": clock, "processor": work, "env_steps": steps}
        )
        print(
            f"{took:.2f} s trained, {own:.2f} s alone: {clock:.3f}; processor time {work:.3f}",
            file=sys.stderr,
        )
    medians = {k: statistics.median(r[k] for r in rounds) for k in ("clock", "processor")}
    print(
        json.dumps(
            {"env": args.env, "workers": args.workers, **medians, "rounds": rounds}, indent=2
        )
    )


if __name__ == "__main__":
    main()
