"""Axelrod's library (axelrod on PyPI) meets hop's agents over 200 rounds of the dilemma.

    python tournament.py round_robin.json runs/aa-ipd-001/seed-1 runs/ppo-ipd-001/seed-1 --page page.md

The library's players meet each other once and themselves, which is kept in the first file; then every
run meets each of them. Nobody meets the strategies that the library itself calls long running. A best
response is exact for co-players whose next move follows from at most eight rounds, or from one round by
chance; of all others it is the most that anybody here earned, so what is normalised by it is then at most so.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import os
import random
import statistics
from typing import Any

import axelrod
from axelrod.action import Action

C, D = Action.C, Action.D
TURNS = 200
PAY = {(C, C): 3, (C, D): 0, (D, C): 5, (D, D): 1}
DEEP = 8  # rounds of memory that a best response is solved for


def library(some: int = 0) -> list[Any]:
    """The library's players; some: about so many, evenly spread."""
    players = [s for s in axelrod.ordinary_strategies if s not in axelrod.long_run_time_strategies]
    return players[:: max(1, len(players) // some)] if some else players


def sit(strategy: Any, seed: int) -> Any:
    """A player before its first round; it knows how many there are, as in the library's tournaments."""
    player = strategy()
    player.set_match_attributes(length=TURNS, game=axelrod.DefaultGame, noise=0)
    player.set_seed(seed)
    return player


def note(one: Any, other: Any, a: Action, b: Action) -> None:
    one.update_history(a, b)
    other.update_history(b, a)


def met(one: Any, other: Any) -> tuple[float, float, float, float]:
    """What both earn a round, and how often they cooperate."""
    for _ in range(TURNS):
        note(one, other, one.strategy(other), other.strategy(one))
    return told(one.history, other.history)


def told(mine: Any, theirs: Any) -> tuple[float, float, float, float]:
    pairs = list(zip(mine, theirs))
    return (
        sum(PAY[a, b] for a, b in pairs) / TURNS,
        sum(PAY[b, a] for a, b in pairs) / TURNS,
        sum(a == C for a, _ in pairs) / TURNS,
        sum(b == C for _, b in pairs) / TURNS,
    )


def round_robin(players: list[Any], file: str) -> dict[str, list[Any]]:
    """Everybody with everybody, [of whom][with whom] as told; a row is written as soon as it is played."""
    rows: dict[str, list[Any]] = {}
    if os.path.exists(file):
        with open(file) as f:
            rows = json.load(f)
    for i, one in enumerate(players):
        if one.name in rows:
            continue
        row: list[Any] = [None] * len(players)
        for j, other in enumerate(players):
            if j < i:
                a, b, c, d = rows[other.name][i]
                row[j] = (b, a, d, c)
            else:
                row[j] = met(sit(one, 2 * (i * len(players) + j)), sit(other, 2 * (i * len(players) + j) + 1))
        rows[one.name] = row
        with open(file + ".part", "w") as f:
            json.dump(rows, f)
        os.replace(file + ".part", file)
        print(f"{i + 1} of {len(players)}: {one.name}", flush=True)
    return rows


def solved(strategy: Any) -> float | None:
    """What the best response earns a round; None where it cannot be solved."""
    player = sit(strategy, 1)
    about = player.classifier
    if isinstance(player, axelrod.MemoryOnePlayer):
        return by_chance(player)
    if about["stochastic"] or about["memory_depth"] > DEEP:
        return None
    return by_rounds(strategy, int(about["memory_depth"]))


def by_chance(player: Any) -> float:
    """The best response to a table of one round: dynamic programming over the last joint action."""
    chance = player._four_vector  # of cooperating, by its own last action and the other's
    value = {last: 0.0 for last in PAY}  # by one's own and the other's

    def best(p: float) -> float:
        return max(p * (PAY[a, C] + value[a, C]) + (1 - p) * (PAY[a, D] + value[a, D]) for a in (C, D))

    for _ in range(TURNS - 1):
        value = {(a, b): best(chance[b, a]) for a, b in PAY}
    return best(float(player._initial == C)) / TURNS


def by_rounds(strategy: Any, deep: int) -> float | None:
    """The best response to who looks back so many rounds, played once to see that it is right."""
    moves: dict[Any, tuple[Action, dict[Action, Any]]] = {}  # by the rounds seen: its move, and where one's own lead

    def look(mine: tuple[Action, ...]) -> tuple[Any, Action]:
        one, other = sit(axelrod.Cooperator, 0), sit(strategy, 1)
        for a in mine:
            note(one, other, a, other.strategy(one))
        seen = list(zip(one.history, other.history))
        return (min(len(seen), deep), *seen[len(seen) - min(len(seen), deep) :]), other.strategy(one)

    start, _ = look(())
    todo: list[tuple[Action, ...]] = [()]
    for mine in todo:  # which grows: the shortest first
        key, move = look(mine)
        if key in moves:
            continue
        moves[key] = (move, {a: look((*mine, a))[0] for a in (C, D)})
        todo += [(*mine, a) for a in (C, D)]
    value, plans = dict.fromkeys(moves, 0), []
    for _ in range(TURNS):
        plan = {k: max((C, D), key=lambda a: PAY[a, move] + value[then[a]]) for k, (move, then) in moves.items()}
        value = {k: PAY[plan[k], move] + value[then[plan[k]]] for k, (move, then) in moves.items()}
        plans.append(plan)
    one, other, key = sit(axelrod.Cooperator, 0), sit(strategy, 1), start
    for plan in reversed(plans):
        a = plan[key]
        note(one, other, a, other.strategy(one))
        key = moves[key][1][a]
    earned = told(one.history, other.history)[0]
    return earned if abs(earned * TURNS - value[start]) < 1e-9 else None  # it looks further back than it says


def run_row(name: str, players: list[Any]) -> list[tuple[float, float, float, float]]:
    """A run of hop, or planner:Planner or its like, with everybody, all of them side by side."""
    import hop_marl as hop
    import numpy as np

    module, _, kind = name.partition(":")
    minds = [getattr(importlib.import_module(module), kind)() for _ in players] if kind else []
    agent = None if kind else hop.load(name)
    env = hop.vec_env("matrix", num_envs=len(players), rounds=TURNS, hidden=True)
    seen, infos = env.reset(seed=1)
    ours = [sit(axelrod.Cooperator, 0) for _ in players]  # they only keep what was played
    theirs = [sit(s, 7 + i) for i, s in enumerate(players)]
    for _ in range(TURNS):
        acts = np.zeros((len(players), 2), np.int32) if agent is None else np.array(agent.act(env))
        for n, (one, other) in enumerate(zip(ours, theirs)):
            if kind:
                acts[n, 0] = minds[n].act(seen[n, 0], None, None)
            b = other.strategy(one)
            acts[n, 1] = int(b == D)
            note(one, other, D if acts[n, 0] else C, b)
        seen = env.step(acts)[0]
    env.close()
    return [told(one.history, other.history) for one, other in zip(ours, theirs)]


def decile(x: list[float]) -> float:
    """The worst tenth's upper end."""
    return sorted(x)[len(x) // 10]


def page(players: list[Any], rows: dict[str, list[Any]], agents: dict[str, list[Any]], best: list[float | None]) -> str:
    """Everything as Markdown."""
    names = [p.name for p in players]
    column = [max(r[j][0] for r in (*rows.values(), *agents.values())) for j in range(len(players))]
    top = [most if b is None else b for b, most in zip(best, column)]
    reached = [most / b for b, most in zip(best, column) if b is not None]
    chosen = set(random.Random(40).sample(range(len(players)), len(players) // 2))
    field = sorted((statistics.mean(x[0] for x in r) for r in rows.values()), reverse=True)
    first = max(rows, key=lambda name: statistics.mean(x[0] for x in rows[name]))
    shown = {**agents, **{n: rows[n] for n in ("Tit For Tat", "Win-Stay Lose-Shift", "Defector", "Cooperator", first) if n in rows}}
    out = [
        f"{len(players)} players of axelrod {axelrod.__version__}, {TURNS} rounds, each meets each once; "
        f"the best response is exact for {len(reached)} of them, for the others the most that anybody earned. Of the exact ones that is "
        f"{statistics.median(reached or [1]):.3f} in the median, {decile(reached or [1]):.3f} in the worst decile.\n",
        "| | rank | a round | of the best response: median | worst decile | exact ones alone: median | worst decile | cooperates |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, row in shown.items():
        mean = statistics.mean(x[0] for x in row)
        share = [x[0] / t for x, t in zip(row, top)]
        exact = [s for s, b in zip(share, best) if b is not None] or [float("nan")]
        out.append(
            f"| `{name}` | {1 + sum(f > mean for f in field)} | {mean:.3f} | {statistics.median(share):.2f} | {decile(share):.2f} "
            f"| {statistics.median(exact):.2f} | {decile(exact):.2f} | {statistics.mean(x[2] for x in row):.2f} |"
        )
    for name, row in agents.items():
        share = [[x[0] / t for i, (x, t) in enumerate(zip(row, top)) if (i in chosen) == half] for half in (True, False)]
        out.append(f"\n`{name}`, halves drawn by seed 40, median and worst decile: "
                   + "; ".join(f"{statistics.median(s):.3f} and {decile(s):.3f} of {len(s)}" for s in share) + ".")
        gap = sorted((x[1] - x[0], n) for x, n in zip(row, names))
        out.append(f"\n`{name}` loses most to " + ", ".join(f"{n} ({g:.2f} a round)" for g, n in gap[:-6:-1]) + "; takes most from "
                   + ", ".join(f"{n} ({-g:.2f})" for g, n in gap[:5]) + ".")
    return "\n".join(out) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=inspect.getdoc(inspect.getmodule(main)))
    parser.add_argument("file", help="where what the library's players earn is kept")
    parser.add_argument("runs", nargs="*", help="runs of hop, RUN or RUN/seed-N, and policies, MODULE:CLASS")
    parser.add_argument("--some", type=int, default=0, help="only about so many players")
    parser.add_argument("--page", default="axelrod.md")
    args = parser.parse_args()
    players = library(args.some)
    rows = round_robin(players, args.file)
    agents = {run: run_row(run, players) for run in args.runs}
    best = [solved(p) for p in players]
    with open(args.page, "w") as f:
        f.write(page(players, rows, agents, best))


if __name__ == "__main__":
    main()
