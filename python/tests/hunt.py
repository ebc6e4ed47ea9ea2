"""A stag hunt on a board, as a user of PettingZoo would write it, for tests.

Hunters walk on a board with a stag and hares. A stag pays 10, shared by the two or
more who hunt on its cell in the same step; a hare pays 1 to whoever hunts it alone.
Who has caught something leaves. `hop_layout` declares that the observation is a
board with the observer's own plane first, so that hop can read it around oneself,
model the others and learn the rules.
"""

from __future__ import annotations

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete
from pettingzoo import ParallelEnv

_MOVES = np.array([(-1, 0), (1, 0), (0, -1), (0, 1), (0, 0)])
_HUNT_STAG, _HUNT_HARE = 5, 6


class Hunt(ParallelEnv):
    """The environment."""

    metadata = {"name": "hunt"}

    def __init__(self, size: int = 4, hunters: int = 2, hares: int = 2, horizon: int = 20):
        self.size, self.hares, self.max_cycles = size, hares, horizon
        self.possible_agents = [f"hunter_{i}" for i in range(hunters)]
        planes = ["self"] + [f"other{i}" for i in range(1, hunters)] + ["stag", "hare"]
        self.hop_layout = {
            "planes": planes,
            "legal": True,
            "time": True,
            "last": True,
            "symmetric": True,
            "horizon": horizon,
            "actions": ["up", "down", "left", "right", "stay", "hunt-stag", "hunt-hare"],
        }
        self._board = Box(0, 1, (size, size, len(planes)), np.int8)

    def observation_space(self, agent):
        return Dict({"observation": self._board, "action_mask": Box(0, 1, (7,), np.int8)})

    def action_space(self, agent):
        return Discrete(7)

    def reset(self, seed=None, options=None):
        draw = np.random.default_rng(seed)
        self.agents, self.t = list(self.possible_agents), 0
        cells = draw.permutation(self.size**2)[: 1 + self.hares]
        self.stag, self.hare = cells[0], set(cells[1:].tolist())
        self.at = {a: divmod(int(draw.integers(self.size**2)), self.size) for a in self.agents}
        return self._seen(), {a: {} for a in self.agents}

    def _cell(self, agent):
        return self.at[agent][0] * self.size + self.at[agent][1]

    def _mask(self, agent):
        (y, x), cell, last = self.at[agent], self._cell(agent), self.size - 1
        return np.array(
            [y > 0, y < last, x > 0, x < last, True, cell == self.stag, cell in self.hare], np.int8
        )

    def _seen(self):
        out = {}
        for i, a in enumerate(self.possible_agents):
            if a not in self.agents and a not in self.left:
                continue
            board = np.zeros((self.size**2, len(self.hop_layout["planes"])), np.int8)
            for k in range(len(self.possible_agents)):
                other = self.possible_agents[(i + k) % len(self.possible_agents)]
                if other in self.agents or other == a:
                    board[self._cell(other), k] = 1
            if self.stag >= 0:
                board[self.stag, -2] = 1
            board[list(self.hare), -1] = 1
            out[a] = {
                "observation": board.reshape(self.size, self.size, -1),
                "action_mask": self._mask(a),
            }
        return out

    left: tuple = ()

    def step(self, actions):
        self.t += 1
        rewards = dict.fromkeys(self.agents, 0.0)
        for a, k in actions.items():
            if k < len(_MOVES):
                self.at[a] = tuple(int(v) for v in np.array(self.at[a]) + _MOVES[k])
        gone = [a for a, k in actions.items() if k == _HUNT_STAG]
        gone = gone if len(gone) > 1 else []
        for a in gone:
            rewards[a] = 10 / len(gone)
        if gone:
            self.stag = -1
        for cell in sorted(self.hare):
            hunters = [a for a, k in actions.items() if k == _HUNT_HARE and self._cell(a) == cell]
            if len(hunters) == 1:
                rewards[hunters[0]] = 1.0
                self.hare.discard(cell)
                gone += hunters
        over = self.t >= self.max_cycles
        acted, self.left = self.agents, tuple(self.agents)
        terminated = {a: a in gone or over for a in acted}
        self.agents = [a for a in acted if not terminated[a]]
        out = self._seen()
        self.left = ()
        return out, rewards, terminated, dict.fromkeys(acted, False), {a: {} for a in acted}


def make(**kwargs):
    """The environment, as hop's --env calls it."""
    return Hunt(**kwargs)
