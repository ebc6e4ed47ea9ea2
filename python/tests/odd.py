"""Small environments with one peculiarity each, for tests of the worker and of `--env`."""

from __future__ import annotations

import os
import time

import numpy as np


class Space:
    """A space as gymnasium's, by its name and its fields."""

    def __new__(cls, kind: str, **fields):
        made = type(kind, (), fields)()
        return made


def box(*shape: int, low=-np.inf, high=np.inf, dtype=np.float32):
    """A Box."""
    return Space("Box", shape=shape, low=low, high=high, dtype=dtype)


def discrete(n: int, start: int = 0):
    """A Discrete."""
    return Space("Discrete", n=n, start=start)


class Line:
    """Two walkers on a line of nine cells, paid for each step to the right; seeded, replayable.

    A walker sees its cell, by a number from -1 to 1, and the other's. `at` lets something
    happen at a step: subclasses override it.
    """

    metadata = {"name": "line"}

    def __init__(self, max_cycles: int = 12):
        self.max_cycles = max_cycles
        self.possible_agents = ["walker_0", "walker_1"]

    def observation_space(self, agent):
        return box(2)

    def action_space(self, agent):
        return discrete(3)

    def reset(self, seed=None, options=None):
        self.draw = np.random.default_rng(seed)
        self.agents, self.t = list(self.possible_agents), 0
        self.cell = {a: int(self.draw.integers(9)) for a in self.agents}
        return self.seen(self.agents), {a: {} for a in self.agents}

    def seen(self, agents):
        there = [self.cell[a] / 4 - 1 for a in self.possible_agents]
        return {a: np.array(there if a == "walker_0" else there[::-1], np.float32) for a in agents}

    def at(self, t):
        """Something that happens at step t."""

    def step(self, actions):
        self.t += 1
        self.at(self.t)
        acted = self.agents
        paid = dict.fromkeys(acted, 0.0)
        for a, k in actions.items():
            before = self.cell[a]
            self.cell[a] = min(max(before + int(k) - 1, 0), 8)
            paid[a] = float(self.cell[a] - before) + 0.01 * self.draw.standard_normal()
        late = self.t >= self.max_cycles
        seen = self.seen(acted)
        ended, cut = dict.fromkeys(acted, False), dict.fromkeys(acted, late)
        self.agents = [] if late else acted
        return seen, paid, ended, cut, {a: {} for a in acted}


def line(**kwargs):
    """The environment without any peculiarity."""
    return Line(**kwargs)


def odd(fault: str, at: int = 5, **kwargs):
    """A Line with a fault at a step of every episode but the first three of a copy."""

    class Odd(Line):
        episodes = 0

        def observation_space(self, agent):
            return box(2, low=-1.0, high=1.0) if fault == "outside" else box(2)

        def reset(self, seed=None, options=None):
            self.episodes += 1
            return super().reset(seed)

        def at(self, t):
            if self.episodes < 4 or t != at:
                return
            if fault == "raises":
                raise KeyError("the treasure")
            if fault == "dies":
                os._exit(3)
            if fault == "exits":
                raise SystemExit(4)
            if fault == "prints":
                print("x" * 10_000, flush=True)
                os.write(1, b"straight to the file descriptor\n" * 1000)
            if fault == "hangs":
                time.sleep(1000)

        def step(self, actions):
            seen, paid, ended, cut, infos = super().step(actions)
            if self.episodes >= 4 and self.t == at:
                if fault == "nan":
                    seen["walker_1"][1] = np.nan
                if fault == "outside":
                    seen["walker_1"][0] = 7
                if fault == "array":
                    paid["walker_0"] = np.array([1.0])
                if fault == "unknown":
                    paid["walker_9"] = 0.0
                if fault == "infinite":
                    paid["walker_0"] = float("inf")
                if fault == "shape":
                    seen["walker_0"] = np.zeros(3, np.float32)
                if fault == "mask":
                    infos["walker_0"] = {"action_mask": np.zeros(3)}
                if fault == "stranger":
                    self.agents = [*self.agents, "walker_7"]
                if fault == "forgets":
                    del seen["walker_1"]
            return seen, paid, ended, cut, infos

    return Odd(**kwargs)


def unseeded(**kwargs):
    """A Line whose starts do not follow from the seed: no two are the same."""

    class Unseeded(Line):
        def reset(self, seed=None, options=None):
            super().reset(seed)
            self.cell["walker_0"] = int.from_bytes(os.urandom(4), "little") / 2**29
            return self.seen(self.agents), {a: {} for a in self.agents}

    return Unseeded(**kwargs)


def remembers(**kwargs):
    """A Line that begins where the last episode ended: a fresh copy plays otherwise."""

    class Remembers(Line):
        cell: dict = {}

        def reset(self, seed=None, options=None):
            was = dict(self.cell)
            super().reset(seed)
            self.cell = {a: was.get(a, c) for a, c in self.cell.items()}
            return self.seen(self.agents), {}

    return Remembers(**kwargs)


def leaves(returns: bool = False, **kwargs):
    """A Line whose walkers leave at the right end; with returns, the first comes back."""

    class Leaves(Line):
        def step(self, actions):
            seen, paid, ended, cut, infos = super().step(actions)
            for a in list(self.agents):
                ended[a] = self.cell[a] == 8
            self.agents = [a for a in self.agents if not ended[a]]
            if returns and self.t == 6 and self.agents and "walker_0" not in self.agents:
                self.agents = ["walker_0", *self.agents]
            return seen, paid, ended, cut, infos

    return Leaves(**kwargs)


def some(**kwargs):
    """A Line with one walker or two an episode, each of which earns 1 a step."""

    class Some(Line):
        def reset(self, seed=None, options=None):
            super().reset(seed)
            self.agents = self.agents[: 1 + int(self.draw.integers(2))]
            return self.seen(self.agents), {a: {} for a in self.agents}

        def step(self, actions):
            seen, paid, ended, cut, infos = super().step(actions)
            return seen, dict.fromkeys(paid, 1.0), ended, cut, infos

    return Some(**kwargs)


def rich(**kwargs):
    """A Line that pays a million a step."""

    class Rich(Line):
        def step(self, actions):
            seen, paid, ended, cut, infos = super().step(actions)
            return seen, dict.fromkeys(paid, 1e6), ended, cut, infos

    return Rich(**kwargs)


class Aim:
    """Two archers whose actions are vectors: each sees its aim and is paid for how near it shoots.

    The first shoots at a point, in a Box of 0 to 10; the second at a number of no bounds.
    """

    metadata = {"name": "aim"}

    def __init__(self, max_cycles: int = 10):
        self.max_cycles = max_cycles
        self.possible_agents = ["archer_0", "archer_1"]

    def observation_space(self, agent):
        return box(2)

    def action_space(self, agent):
        return box(2, low=np.zeros(2, np.float32), high=np.full(2, 10, np.float32)) if agent == "archer_0" else box(1)

    def reset(self, seed=None, options=None):
        self.draw = np.random.default_rng(seed)
        self.agents, self.t = list(self.possible_agents), 0
        return self.seen(), {a: {} for a in self.agents}

    def seen(self):
        self.aims = {a: self.draw.uniform(-0.8, 0.8, 2).astype(np.float32) for a in self.possible_agents}
        return dict(self.aims)

    def step(self, actions):
        self.t += 1
        shot = {"archer_0": actions["archer_0"] / 5 - 1, "archer_1": np.append(actions["archer_1"], self.aims["archer_1"][1])}
        assert (actions["archer_0"] >= 0).all() and (actions["archer_0"] <= 10).all() and actions["archer_1"].shape == (1,)
        paid = {a: -float(np.square(shot[a] - self.aims[a]).sum()) for a in self.agents}
        late = dict.fromkeys(self.agents, self.t >= self.max_cycles)
        acted, self.agents = self.agents, [] if self.t >= self.max_cycles else self.agents
        return self.seen(), paid, dict.fromkeys(acted, False), late, {a: {} for a in acted}


def aim(**kwargs):
    """The archers."""
    return Aim(**kwargs)


def eye(size: int = 48, vectors: bool = False):
    """Somebody who sees a picture, grey noise with a bright half, and is paid for naming that half."""

    class Eye:
        metadata = {"name": "eye"}
        possible_agents = ["eye_0"]
        max_cycles = 5

        def observation_space(self, agent):
            return box(size, size, 3, low=0, high=255, dtype=np.uint8)

        def action_space(self, agent):
            return box(1, low=-1.0, high=1.0) if vectors else discrete(2)

        def reset(self, seed=None, options=None):
            self.draw = np.random.default_rng(seed)
            self.agents, self.t = ["eye_0"], 0
            return {"eye_0": self.seen()}, {"eye_0": {}}

        def seen(self):
            self.right = int(self.draw.integers(2))
            picture = self.draw.integers(100, size=(size, size, 3), dtype=np.uint8)
            picture[:, self.right * size // 2 : (self.right + 1) * size // 2] += 100
            return picture

        def step(self, actions):
            self.t += 1
            said = actions["eye_0"] > 0 if vectors else actions["eye_0"]
            paid = float(int(np.asarray(said).item()) == self.right)
            late = self.t >= self.max_cycles
            self.agents = [] if late else ["eye_0"]
            return {"eye_0": self.seen()}, {"eye_0": paid}, {"eye_0": False}, {"eye_0": late}, {"eye_0": {}}

    return Eye()
