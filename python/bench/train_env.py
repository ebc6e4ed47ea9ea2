"""What hop adds to the time that an environment in Python takes by itself.

    python python/bench/train_env.py [--env mpe2.simple_spread_v3:parallel_env] [--steps 20000]

Two plain Python processes play so many steps with random actions, and then
`hop train ppo` with two workers plays and learns from as many; both in turns, so that
they meet the same machine. The time of the training is that of its loop (playing,
learning, checkpoints), without the start of Python and the scoring at the end, and
without the start of Python here too.

Other programs disturb the clock, and the environment's own speed changes by a tenth from run
to run. So processor time is compared within a run: one worker plays an environment whose `step`
and `reset` count what they take, and what hop and its worker take beside that is set against it,
as the difference of a long and a short training. What the counting itself costs is seen in a
plain loop, and taken off. Prints one JSON object with the medians.
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


def trained(hop: str, name: str, steps: int, workers: int, folder: str) -> tuple[float, int, float]:
    """The seconds of a training's loop, its steps, and the processor time of hop and its workers."""
    words = [hop, "train", "ppo", "--env", name, "--steps", str(steps), "--set", f"game.workers={workers}"]
    words += ["--set", "eval.episodes=1", "--out", os.path.join(folder, "runs"), "--json"]
    p = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    said = p.stdout.read()
    _, status, used = os.wait4(p.pid, 0)
    if status:
        sys.exit(f"{' '.join(words)} failed")
    run = os.path.join(json.loads(said)["run"], "seed-1")
    with open(os.path.join(run, "env.json")) as f:
        phases = json.load(f)["phases_s"]
    with open(os.path.join(run, "result.json")) as f:
        result = json.load(f)
    loop = sum(s for p, s in phases.items() if "/" not in p)
    return loop, result["env_steps"], used.ru_utime + used.ru_stime


# An environment that counts its own processor time; its process's is known when it ends.
COUNTED = """
import atexit, importlib, json, os, time

own = {"own": 0.0, "steps": 0, "begun": None}
function = getattr(importlib.import_module(MODULE), FUNCTION)

def counted(call, step):
    def timed(*args, **more):
        if own["begun"] is None:
            own["begun"] = time.process_time()
        start = time.thread_time()
        out = call(*args, **more)
        own["own"] += time.thread_time() - start
        own["steps"] += step
        return out
    return timed

def make():
    env = function()
    env.step, env.reset = counted(env.step, 1), counted(env.reset, 0)
    return env

def end():
    own["all"] = time.process_time()
    with open(FILE, "a") as f:
        f.write(json.dumps(own) + "\\n")

atexit.register(end)
"""


def counted(folder: str) -> dict:
    """What the environment of the last process counted."""
    with open(os.path.join(folder, "counted")) as f:
        return json.loads(f.read().splitlines()[-1])


def counting(name: str, steps: int, folder: str) -> float:
    """What counting costs a step, in seconds: what a plain loop takes beside the environment."""
    loop = f"import train_env, multiprocessing as m, queue; train_env.plain({name!r}, {steps}, m.Barrier(1), queue.Queue(), 1)"
    subprocess.run([sys.executable, "-c", loop], check=True)
    own = counted(folder)
    return (own["all"] - own["begun"] - own["own"]) / own["steps"]


def inside(hop: str, env: str, steps: int) -> dict:
    """Processor time of hop and its worker beside the environment's, over the environment's, in one run."""
    with tempfile.TemporaryDirectory() as folder:
        module, function = env.split(":")
        text = COUNTED.replace("MODULE", repr(module)).replace("FUNCTION", repr(function))
        with open(os.path.join(folder, "counted_env.py"), "w") as f:
            f.write(text.replace("FILE", repr(os.path.join(folder, "counted"))))
        here = os.path.dirname(os.path.abspath(__file__))
        os.environ["PYTHONPATH"] = os.pathsep.join([folder, here, os.environ.get("PYTHONPATH", "")])
        seen = []
        for many in (1, steps):
            *_, cpu = trained(hop, "counted_env:make", many, 1, folder)
            own = counted(folder)
            seen.append((own["steps"], own["own"], own["all"] - own["begun"] - own["own"], cpu - own["all"]))
        n, own, beside, work = (b - a for a, b in zip(*seen))
        beside -= n * counting("counted_env:make", steps // 2, folder)
        return {"env_us": own / n * 1e6, "worker_us": beside / n * 1e6, "hop_us": work / n * 1e6, "processor": 1 + (beside + work) / own}


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
        with tempfile.TemporaryDirectory() as folder:
            took, steps, _ = trained(args.hop, args.env, args.steps, args.workers, folder)
        own, _ = alone(args.env, steps, args.workers)
        part = inside(args.hop, args.env, args.steps)
        rounds.append({"train_s": took, "alone_s": own, "clock": took / own, "env_steps": steps, **part})
        print(", ".join(f"{k} {v:.3f}" for k, v in rounds[-1].items()), file=sys.stderr)
    medians = {k: statistics.median(r[k] for r in rounds) for k in rounds[0]}
    print(json.dumps({"env": args.env, "workers": args.workers, **medians, "rounds": rounds}, indent=2))


if __name__ == "__main__":
    main()
