"""How fast are hop's games from Python? Two numbers, beside what `hop bench env` says.

    taskset -c 0 python python/bench/envs.py

1. Agent-steps a second of 1,024 copies of the 4x4 stag hunt with four agents, stepped through
   hop.vec_env with random legal actions, and their share of what `hop bench env` reaches in the
   same minute. Steps of agents that were alive count, in both.
2. Microseconds of one step of hop.parallel_env with four agents.

Python and hop take turns, so both numbers are of one core; taskset keeps them on one. `hop bench
env` counts processor time; so does this, and it prints the time that passed too. The best of
several rounds counts, alternating with hop's, because other programs share the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time

import numpy as np

import hop_marl as hop
from hop_marl._binary import binary


def spent(pid: int) -> float:
    """Processor time of this process and of hop's, in seconds."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    ticks = int(fields[11]) + int(fields[12])
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime + ticks / os.sysconf("SC_CLK_TCK")


def vector(seconds: float, copies: int) -> tuple[float, float]:
    """Agent-steps of vec_env by second of processor time, and of the clock."""
    env = hop.vec_env("staghunt", copies)
    _, infos = env.reset(seed=1)
    alive = infos["alive"]
    for _ in range(50):
        env.step(env.random_actions())
    pid, steps = env._game.peer.pid, 0
    cpu, clock = spent(pid), time.perf_counter()
    while time.perf_counter() - clock < seconds:
        for _ in range(20):
            steps += int(np.count_nonzero(alive))
            env.step(env.random_actions())
    cpu, clock = spent(pid) - cpu, time.perf_counter() - clock
    env.close()
    return steps / cpu, steps / clock


def rules(seconds: float) -> float:
    """What `hop bench env` says of the same game, by second of processor time."""
    command = [binary(), "bench", "env", "--game", "staghunt", "--time", f"{seconds}s", "--json"]
    rows = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["rows"]
    return next(r["agent_steps_per_s"] for r in rows if r["size"] == 4 and r["agents"] == 4)


def pettingzoo(seconds: float) -> tuple[float, float]:
    """Microseconds of a step of parallel_env while all four agents are there: mean, best tenth."""
    env = hop.parallel_env("staghunt", illegal="replace")
    times: list[float] = []
    stay = env.spec_of_game["actions"].index("stay")
    until, clock = time.perf_counter() + seconds, time.perf_counter
    env.reset(seed=1)
    actions = dict.fromkeys(env.possible_agents, stay)
    while clock() < until:
        if not env.agents:
            env.reset()
        begun = clock()
        env.step(actions)
        times.append(clock() - begun)
    env.close()
    times = sorted(times[100:])
    return 1e6 * float(np.mean(times)), 1e6 * times[len(times) // 10]


def main() -> None:
    """Measures in turns and prints the best of each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement")
    parser.add_argument("--copies", type=int, default=1024)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    got = []
    for _ in range(args.rounds):
        base = rules(args.seconds / 4)
        cpu, clock = vector(args.seconds, args.copies)
        mean, best = pettingzoo(args.seconds)
        got.append((cpu, clock, base, mean, best))
        if not args.json:
            print(
                f"vec_env {cpu / 1e6:.2f} M agent-steps/s of processor time, {clock / 1e6:.2f} M "
                f"by the clock; hop bench env {base / 1e6:.2f} M; ratio {cpu / base:.2f}; "
                f"parallel_env {mean:.0f} us a step, {best:.0f} in the best tenth",
                file=sys.stderr,
            )
    cpu, clock, base = (max(g[i] for g in got) for i in range(3))
    out = {
        "copies": args.copies,
        "vec_agent_steps_per_s": cpu,
        "vec_agent_steps_per_s_clock": clock,
        "bench_env_agent_steps_per_s": base,
        "ratio": cpu / base,
        "ratio_each_round": [g[0] / g[2] for g in got],
        "parallel_env_us": min(g[3] for g in got),
        "parallel_env_us_best_tenth": min(g[4] for g in got),
    }
    if args.json:
        print(json.dumps(out, indent=2))
        return
    share = f"{100 * cpu / base:.0f} % of hop bench env ({base / 1e6:.2f} M)"
    print(f"vec_env: {cpu / 1e6:.2f} M agent-steps a second, {share}")
    print(f"parallel_env: {out['parallel_env_us']:.0f} us a step with four agents")


if __name__ == "__main__":
    main()
