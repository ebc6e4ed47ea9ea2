"""Records a run of your own code for ``hop audit --trajectories run.npz``.

In the loop that you have::

    rec = hop.Recorder("run.npz")
    env = rec.wrap(env)                               # what was played
    rec.learner("agent_0", network, optimizer)        # what the optimiser does
    ...
    rec.policy("agent_0", logits, dist)               # before env.step
    ...
    rec.batch("agent_0", obs=b_obs, actions=b_actions, rewards=b_rewards, ...)
    ...
    rec.close()

Each call but the first is optional: what is not recorded is not asked, and the audit says
what to record for it. Nothing that passes through is changed. numpy is all that is needed;
torch modules and optimisers are used as they are.

The file appears whole or not at all: at ``close``, at the end of a ``with`` block, at the
end of the program, or whenever ``save`` is called. Memory is bounded: the first and the
newest steps are kept, half each, at most ``steps`` of them and ``memory`` bytes; of
batches the first and the newest 32 of every learner.
"""

from __future__ import annotations

import atexit
import json
import os
from typing import Any, Sequence

import numpy as np

from ._learner import Learner
from ._lanes import wrap_gymnasium
from ._played import Episode, Played, Recorded, rows_of, to_numpy

PARTS = ("ppo", "moa", "world")
COLUMNS = ("actions", "rewards", "dones", "values", "logprobs", "new_logprobs", "advantages",
           "returns", "after_logprobs", "after_values")
MINIS = 64  # minibatches of a batch
KEEP = 32  # batches of a learner, from the beginning and again from the end


class Recorder:
    """Writes down what a run plays and learns, into one file that ``hop audit`` reads."""

    def __init__(self, path: str | os.PathLike, *, steps: int = 20_000, memory: int = 256 << 20,
                 horizon: int = 0):
        """Begins a recording.

        path: the file, an .npz; its folder must exist.
        steps, memory: at most so many steps and about so many bytes are kept.
        horizon: a time limit that is a rule of the game and that agents can see, if there is
        one; without it, agents that all leave at the same step look like a cut.
        """
        self.path = os.fspath(path)
        folder = os.path.dirname(os.path.abspath(self.path))
        if not os.path.isdir(folder):
            raise FileNotFoundError(f"there is no folder {folder} for {self.path}")
        if steps < 64:
            raise ValueError(f"steps={steps}, want at least 64")
        self.horizon = horizon
        self._played = Played(steps, memory)
        self._learners: list[Learner] = []
        self._batches: dict[tuple[str, ...], tuple[list[dict], list[dict]]] = {}
        self._closed = False
        atexit.register(self.close)

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What is recorded ------------------------------------------------------------------

    def wrap(self, env: Any) -> Any:
        """Returns the environment, recorded: a PettingZoo parallel environment.

        An environment of Gymnasium, or a vector of them, is recorded as copies with one agent,
        agent_0; a hop.vec_env(..., flat=True) as copies with its agents.

        Step several copies by wrapping each of them. Observations, masks (in observations or
        in ``infos[agent]["action_mask"]``), actions, rewards, terminations, truncations and
        who is there are written down; what the environment returns is returned as it is.
        """
        if not hasattr(env, "possible_agents"):
            return wrap_gymnasium(self._wrapped, env)
        return self._wrapped(env)

    def _wrapped(self, env: Any) -> Recorded:
        env = self._played.wrap(env)
        for who in [*self._batches, *(tuple(x.agents) for x in self._learners)]:
            self._places(who)
        return env

    def here(self, env: Recorded | None = None) -> dict[str, int]:
        """The number of each agent's row at the step to come.

        Keep it beside the row in the buffer and hand it back to ``rows`` or ``batch``. With
        several wrapped environments say which one.
        """
        env = self._env(env)
        base = env.number * len(self._played.names)
        return {name: base + a for a, name in enumerate(self._played.names)}

    def learner(self, agent: str | Sequence[str], module: Any, optimizer: Any,
                part: str = "ppo") -> None:
        """Watches an optimiser: what it holds, its rate, gradients and changes by parameter.

        agent: whose network it is; a list of names says that they share it on purpose.
        part: "ppo" for the network that acts and values, "moa" for a model of others, "world"
        for a world model. Call it once for each optimiser, before the first update.
        """
        if part not in PARTS:
            raise ValueError(f"part={part!r}, want one of {', '.join(PARTS)}")
        who = self._names(agent)
        self._learners.append(
            Learner(list(who), part, module, optimizer, lambda: self._played.stepped)
        )

    def rows(self, agent: str | Sequence[str], indices: Any) -> None:
        """Says which rows an update learnt from, by the numbers that ``here`` gave."""
        self.batch(agent, indices=indices)

    def batch(self, agent: str | Sequence[str], *, indices: Any = None, obs: Any = None,
              actions: Any = None, rewards: Any = None, dones: Any = None, values: Any = None,
              logprobs: Any = None, new_logprobs: Any = None, advantages: Any = None,
              returns: Any = None, gamma: float | None = None, lam: float | None = None) -> None:
        """Hands in what an update learns from, as the update reads it.

        Call it once an update with the whole batch, before it is shuffled and before
        advantages are normalised; [n, ...] or [steps, envs, ...]. Rows are found by their
        observations, or by ``indices`` from ``here`` where observations are changed on their
        way. Everything else is optional.

        dones: either convention, of the step or of the step before, is understood.
        logprobs: those of the time of acting. new_logprobs: those that the network gives to
        the same rows just before the first step; they must be the same.
        gamma, lam: of generalised advantage estimation; without them it is not checked.
        """
        who = self._names(agent)
        p = self._played
        if not p.sizes:
            raise RuntimeError("nothing is recorded yet: env = rec.wrap(env), then env.reset()")
        if indices is None and obs is None:
            raise ValueError("hand in obs, or indices from rec.here()")
        own = self._places(who)
        given = dict(zip(COLUMNS, (actions, rewards, dones, values, logprobs, new_logprobs,
                                   advantages, returns)))
        column = {k: to_numpy(v).astype(np.float64).ravel() for k, v in given.items()
                  if v is not None}
        flat = None
        if obs is not None:
            x = to_numpy(obs).astype(np.float32)
            size = p.sizes[own[0]]
            if x.size % size or x.size == 0:
                raise ValueError(f"obs has shape {x.shape}, which is no whole number of "
                                 f"observations of {size} numbers")
            flat = x.reshape(-1, size)
        n = len(flat) if flat is not None else rows_of(indices).size
        for name, v in column.items():
            if len(v) != n:
                raise ValueError(f"{name} has {len(v)} numbers for {n} rows")
        if indices is not None:
            number = rows_of(indices)
            kind, sure = np.zeros(len(number), np.uint8), np.ones(len(number), bool)
            if flat is not None:
                if len(flat) != len(number):
                    raise ValueError(f"obs has {len(flat)} rows, indices {len(number)}")
                kind = self._same(number, flat)
        else:
            number, kind, sure = p.find(own, flat, column.get("actions"), column.get("rewards"))
        first, newest = self._batches.setdefault(who, ([], []))
        entry = {"row": number, "kind": kind, "sure": sure, "at": p.stepped,
                 "gamma": np.nan if gamma is None else float(gamma),
                 "lambda": np.nan if lam is None else float(lam), **column}
        (first if len(first) < KEEP else newest).append(entry)
        del newest[:-KEEP]

    def learnt(self, agent: str | Sequence[str], *, logprobs: Any = None,
               values: Any = None) -> None:
        """Hands in what the network says, after the update, of the rows of the last batch.

        With it the audit can ask whether an update does what it is for: actions that turned
        out better than expected become likelier, and values come closer to returns.
        """
        first, newest = self._batches.get(self._names(agent), ([], []))
        if not first:
            raise RuntimeError(f"rec.batch({agent!r}, ...) comes before rec.learnt")
        entry = (newest or first)[-1]
        for name, x in (("after_logprobs", logprobs), ("after_values", values)):
            if x is not None:
                entry[name] = to_numpy(x).astype(np.float64).ravel()
                if len(entry[name]) != len(entry["row"]):
                    raise ValueError(f"{len(entry[name])} numbers for a batch of "
                                     f"{len(entry['row'])} rows")

    def minibatch(self, agent: str | Sequence[str], indices: Any = None, *, advantages: Any = None,
                  ratios: Any = None, values: Any = None) -> None:
        """Hands in what one loss is computed of: which rows of the last batch, and what it reads.

        indices: the places of its rows in the batch that was handed in last, such as mb_inds;
        without it, all of them in their order. advantages: as the loss reads them, normalised or
        not. ratios: exp(new - old log-probability). values: those that the value loss reads.
        Of an update the first 64 are kept.
        """
        entry = self._newest(agent, "rec.minibatch")
        n = len(entry["row"])
        at = np.arange(n) if indices is None else to_numpy(indices).astype(np.int64).ravel()
        if len(at) and (at.min() < 0 or at.max() >= n):
            raise ValueError(f"indices go from {at.min()} to {at.max()}, the batch has rows 0 to {n - 1}")
        mini: dict[str, Any] = {"at": at}
        for name, x in (("advantages", advantages), ("ratios", ratios), ("values", values)):
            if x is not None:
                mini[name] = to_numpy(x).astype(np.float64).ravel()
                if len(mini[name]) != len(at):
                    raise ValueError(f"{name} has {len(mini[name])} numbers for {len(at)} rows")
        entry.setdefault("minis", []).append(mini)
        del entry["minis"][MINIS:]

    def loss(self, agent: str | Sequence[str] | None = None, *, policy: Any = None, value: Any = None,
             entropy: Any = None, total: Any = None) -> None:
        """Hands in the terms of the loss of the last minibatch, and the loss itself.

        entropy: the mean entropy, as it is, without its factor or sign. total: what backward() is
        called on. Without an agent: of the one that there is.
        """
        if agent is None:
            if len(self._batches) != 1:
                raise ValueError(f"say whose loss it is; batches are recorded of {list(self._batches)}")
            agent = next(iter(self._batches))
        entry = self._newest(agent, "rec.loss")
        minis = entry.setdefault("minis", [])
        if not minis or "losses" in minis[-1]:
            if len(minis) >= MINIS:
                return
            minis.append({"at": np.zeros(0, np.int64)})
        terms = {"policy": policy, "value": value, "entropy": entropy, "total": total}
        minis[-1]["losses"] = {k: float(to_numpy(x).reshape(-1)[0]) for k, x in terms.items() if x is not None}

    def _newest(self, agent: str | Sequence[str], what: str) -> dict:
        first, newest = self._batches.get(self._names(agent), ([], []))
        if not first:
            raise RuntimeError(f"rec.batch({agent!r}, ...) comes before {what}")
        return (newest or first)[-1]

    def policy(self, agent: str, logits: Any = None, probs: Any = None,
               env: Recorded | None = None) -> None:
        """What the network put out and what the action is drawn from, before ``env.step``.

        logits: the policy head's output, as it is. probs: the probabilities that the action is
        drawn from, or an object that has them as ``.probs``, such as torch's Categorical.
        """
        e, t, a = self._coming(agent, env)
        if e is None:
            return
        probs = getattr(probs, "probs", probs)
        e.policy[t, a] = tuple(
            None if x is None else to_numpy(x).astype(np.float32).ravel() for x in (logits, probs)
        )

    def predictions(self, model: str, agent: str, *, of: str | None = None, probs: Any = None,
                    next_obs: Any = None, rewards: Any = None, rows: Any = None,
                    env: Recorded | None = None) -> None:
        """What a model of others or a world model of an agent predicts.

        model "moa": probs, the probabilities of the next action of the co-player ``of``.
        model "world": next_obs, what the agent will see after the step, or its reward, or both.
        Without ``rows`` it is about the step to come; with row numbers from ``here`` it may be
        many at once, one after the other in the arrays.
        """
        if model not in ("moa", "world"):
            raise ValueError(f"model {model!r}, want moa or world")
        if model == "moa" and (of is None or probs is None):
            raise ValueError("a model of others needs of=, the co-player, and probs=")
        if model == "world" and next_obs is None and rewards is None:
            raise ValueError("a world model needs next_obs= or rewards=, or both")
        names = self._played.names
        if rows is None:
            e, t, _ = self._coming(agent, env)
            places = [(e, t)]
        else:
            where = self._played.where
            places = [where.get(int(r) // len(names), (None, 0)) for r in rows_of(rows)]
        a = self._places([agent])[0]
        n = len(places)
        if model == "moa":
            b = self._places([of])[0]
            x = to_numpy(probs).astype(np.float32).reshape(n, -1)
            for (e, t), p in zip(places, x):
                if e is not None:
                    e.moa[t, a, b] = p
            return
        seen = None if next_obs is None else to_numpy(next_obs).astype(np.float32).reshape(n, -1)
        paid = None if rewards is None else to_numpy(rewards).astype(np.float32).reshape(n)
        for i, (e, t) in enumerate(places):
            if e is not None:
                e.world[t, a] = (None if seen is None else seen[i],
                                 np.nan if paid is None else paid[i])

    # The file --------------------------------------------------------------------------

    def save(self) -> None:
        """Writes the file as far as the run has come; the recording goes on."""
        arrays = self._arrays()
        if arrays is None:
            return
        name = f"{self.path}.{os.getpid()}.part"
        try:
            with open(name, "wb") as f:
                np.savez(f, **arrays)
            os.replace(name, self.path)
        except BaseException:
            if os.path.exists(name):
                os.unlink(name)
            raise

    def close(self) -> None:
        """Writes the file and leaves optimisers as they were; nothing more is recorded."""
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self.close)
        try:
            self.save()
        finally:
            for x in self._learners:
                x.close()

    def _arrays(self) -> dict[str, np.ndarray] | None:
        """All arrays of the file; None if nothing was played."""
        p = self._played
        episodes = p.episodes()
        if not episodes:
            return None
        out = self._steps(episodes)
        row_at = {}  # the row's place in the file by its step's number
        for t, number in enumerate(np.concatenate([e.number for e in episodes])):
            row_at[int(number)] = t
        out |= self._learnt(row_at)
        out |= self._said(episodes, row_at)
        out |= self._watched()
        return out

    def _steps(self, episodes: list[Episode]) -> dict[str, np.ndarray]:
        """What was played."""
        p = self._played

        def joined(name: str) -> np.ndarray:
            return np.concatenate([getattr(e, name) for e in episodes])

        ends = np.cumsum([e.length for e in episodes]) - 1
        open_ = np.zeros(ends[-1] + 1, bool)
        cut, done, alive = joined("cut"), joined("done"), joined("alive")
        for e, last in zip(episodes, ends):
            if e.running or e.cut_short or e.lost:
                open_[last] = True
                cut[last] |= alive[last] & ~done[last]
        shape = (len(open_), len(p.names))
        tail = p.shape if p.shape is not None and 1 <= len(p.shape) <= 4 else (-1,)
        out = {
            "names": np.frombuffer(",".join(p.names).encode(), np.uint8),
            "roles": self._roles(),
            "episode": np.repeat(np.arange(len(episodes)), [e.length for e in episodes]),
            "open": open_,
            "env": np.repeat([e.env for e in episodes], [e.length for e in episodes]),
            "actions": joined("action"),
            "rewards": joined("reward"),
            "alive": alive,
            "dones": done,
            "truncated": cut,
            "obs": joined("obs").reshape(*shape, *tail),
            "next_obs": joined("after").reshape(*shape, *tail),
        }
        if self.horizon:
            out["horizon"] = np.array(self.horizon)
        seeds = {s: i for i, s in enumerate(dict.fromkeys(e.seed for e in episodes if e.seed is not None))}
        if seeds:  # which of the seeds, -1: none
            out["seed"] = np.repeat([seeds.get(e.seed, -1) for e in episodes], [e.length for e in episodes])
        if p.masks:
            out["legal"] = np.concatenate([
                e.legal if e.actions else np.ones((e.length, shape[1], p.actions), bool)
                for e in episodes
            ])
        return out

    def _roles(self) -> np.ndarray:
        """Which agents are built alike: same name but for its number, same observation."""
        p = self._played
        kinds = [(n.rstrip("0123456789"), size) for n, size in zip(p.names, p.sizes)]
        return np.array([kinds.index(k) for k in kinds], np.int32)

    def _learnt(self, row_at: dict[int, int]) -> dict[str, np.ndarray]:
        """Batches, one after the other; rows that are no longer kept are left out."""
        agents = len(self._played.names)
        whose = {who: i for i, who in enumerate(self._batches)}
        batches = []
        for who, (first, newest) in self._batches.items():
            for b in first + newest:
                place = np.array([
                    -1 if r < 0 else row_at.get(int(r) // agents, -2) * agents + int(r) % agents
                    for r in b["row"]
                ], np.int64)
                kept = place >= -1
                if kept.any():
                    batches.append((whose[who], b, place, kept))
        if not batches:
            return {}
        out = {
            "learn/agents": _text([list(who) for who in self._batches]),
            "learn/learner": np.array([w for w, *_ in batches], np.int32),
            "learn/size": np.array([k.sum() for *_, k in batches], np.int32),
            "learn/at": np.array([b["at"] for _, b, *_ in batches], np.int64),
            "learn/gamma": np.array([b["gamma"] for _, b, *_ in batches]),
            "learn/lambda": np.array([b["lambda"] for _, b, *_ in batches]),
            "learn/row": np.concatenate([x[k] for *_, x, k in batches]),
            "learn/kind": np.concatenate([b["kind"][k] for _, b, _, k in batches]),
            "learn/sure": np.concatenate([b["sure"][k] for _, b, _, k in batches]),
        }
        for name in COLUMNS:
            if any(name in b for _, b, *_ in batches):
                out["learn/" + name] = np.concatenate([
                    b[name][k] if name in b else np.full(k.sum(), np.nan)
                    for _, b, _, k in batches
                ])
        return out | self._minis(batches)

    def _minis(self, batches: list[tuple]) -> dict[str, np.ndarray]:
        """The minibatches of the batches that are written; rows by their place among those kept."""
        minis = [(k, m, kept) for k, (_, b, _, kept) in enumerate(batches) for m in b.get("minis", [])]
        if not minis:
            return {}
        out = {
            "mini/batch": np.array([k for k, *_ in minis], np.int64),
            "mini/size": np.array([len(m["at"]) for _, m, _ in minis], np.int64),
            "mini/at": np.concatenate([np.where(kept, np.cumsum(kept) - 1, -1)[m["at"]] for _, m, kept in minis]),
        }
        for name in ("advantages", "ratios", "values"):
            out["mini/" + name] = np.concatenate([m.get(name, np.full(len(m["at"]), np.nan)) for _, m, _ in minis])
        for name in ("policy", "value", "entropy", "total"):
            out["mini/loss_" + name] = np.array([m.get("losses", {}).get(name, np.nan) for _, m, _ in minis])
        return out

    def _said(self, episodes: list[Episode], row_at: dict[int, int]) -> dict[str, np.ndarray]:
        """Policies and predictions, by row, in the order in which they were made."""
        agents, actions = len(self._played.names), self._played.actions
        policy, moa, world = [], [], []
        for e in episodes:
            for name, into in (("policy", policy), ("moa", moa), ("world", world)):
                for (t, *who), x in getattr(e, name).items():
                    if t < e.length:
                        step = int(e.number[t])
                        into.append((step, row_at[step] * agents + who[0], who[-1], x))
        for into in (policy, moa, world):
            into.sort(key=lambda x: x[0])
            into[:] = [x[1:] for x in into]
        out: dict[str, np.ndarray] = {}
        if policy:
            out["policy/row"] = np.array([r for r, *_ in policy], np.int64)
            for k, name in enumerate(("logits", "probs")):
                if any(x[k] is not None for *_, x in policy):
                    out["policy/" + name] = _table([x[k] for *_, x in policy], actions)
        if moa:
            out["moa/row"] = np.array([r for r, *_ in moa], np.int64)
            out["moa/of"] = np.array([b for _, b, _ in moa], np.int32)
            out["moa/probs"] = _table([x for *_, x in moa], actions)
        if world:
            out["world/row"] = np.array([r for r, *_ in world], np.int64)
            if any(x[0] is not None for *_, x in world):
                out["world/next"] = _table([x[0] for *_, x in world], max(self._played.sizes))
            out["world/reward"] = np.array([x[1] for *_, x in world], np.float32)
        return out

    def _watched(self) -> dict[str, np.ndarray]:
        """What was seen of the optimisers."""
        if not self._learners:
            return {}
        names: dict[int, str] = {}
        for x in self._learners:
            for name, p in zip(x.names, x.tensors):
                names.setdefault(id(p), f"{x.agents[0]}: {name}")
        storages: dict[int, int] = {}
        about = [x.describe(storages, names) for x in self._learners]
        seen = [(i, r) for i, x in enumerate(self._learners) for r in x.records
                if r[4] is not None]
        out = {"learners": _text(about)}
        if seen:
            out["updates/learner"] = np.array([i for i, _ in seen], np.int32)
            out["updates/number"] = np.array([r[0] for _, r in seen], np.int64)
            out["updates/at"] = np.array([r[1] for _, r in seen], np.int64)
            for k, name in ((2, "rate"), (3, "gradient"), (4, "change"), (5, "outside")):
                out["updates/" + name] = np.concatenate([r[k] for _, r in seen]).astype(np.float64)
        return out

    # Names and places ------------------------------------------------------------------

    def _names(self, agent: str | Sequence[str]) -> tuple[str, ...]:
        who = (agent,) if isinstance(agent, str) or not hasattr(agent, "__iter__") else agent
        who = tuple(str(n) for n in who)
        if self._played.names:
            self._places(who)
        return who

    def _places(self, who: Sequence[str]) -> list[int]:
        names = self._played.names
        for n in who:
            if str(n) not in names:
                raise ValueError(f"there is no agent {n!r}; the environment has {names}")
        return [names.index(str(n)) for n in who]

    def _env(self, env: Recorded | None) -> Recorded:
        envs = self._played.envs
        if env is None and len(envs) == 1:
            return envs[0]
        if env is None or env not in envs:
            raise ValueError("say which of the wrapped environments, env=...; wrapped are "
                             f"{len(envs)}")
        return env

    def _coming(self, agent: str, env: Recorded | None) -> tuple[Episode | None, int, int]:
        """Where the step to come will be written; no episode after the end of one."""
        e = self._env(env).episode
        return e, 0 if e is None else e.length, self._places([agent])[0]

    def _same(self, number: np.ndarray, obs: np.ndarray) -> np.ndarray:
        """Whether rows hold the observations that were recorded there: 0; 5: those of another step; else 4."""
        p = self._played
        p.look()
        agents = range(len(p.names))
        kind = np.zeros(len(number), np.uint8)
        for i, r in enumerate(number):
            e, t = p.where.get(int(r) // len(p.names), (None, 0))
            a = int(r) % len(p.names)
            if e is not None:
                e.settle()
            if e is not None and e.alive[t, a]:
                if not np.array_equal(e.obs[t, a, : p.sizes[a]], obs[i]):
                    key = p.hash(obs[i])
                    kind[i] = 5 if any((b, key) in p.index or (b, key) in p.finals for b in agents) else 4
        return kind


def _text(x: Any) -> np.ndarray:
    """A description as JSON, in bytes, because the file holds numbers only."""
    return np.frombuffer(json.dumps(x).encode(), np.uint8)


def _table(rows: list, width: int) -> np.ndarray:
    """Rows of equal width; what is missing is NaN."""
    width = max([width, *(len(x) for x in rows if x is not None)])
    out = np.full((len(rows), width), np.nan, np.float32)
    for i, x in enumerate(rows):
        if x is not None:
            out[i, : len(x)] = x
    return out

