"""Level-based foraging, whose gymnasium environment speaks in tuples, as a parallel environment."""

from __future__ import annotations

import warnings

import gymnasium
import lbforaging  # noqa: F401  registers the environments


class Foraging:
    """One copy. Agents see numbers, act at once and stay until the end."""

    def __init__(self, name: str):
        warnings.filterwarnings("ignore", module="gymnasium")
        self._env = gymnasium.make(name, disable_env_checker=True)
        self.metadata, self.max_cycles = {"name": name}, self._env.spec.kwargs["max_episode_steps"]
        self.possible_agents = [f"player_{i}" for i in range(len(self._env.action_space))]

    def observation_space(self, agent):
        return self._env.observation_space[self.possible_agents.index(agent)]

    def action_space(self, agent):
        return self._env.action_space[self.possible_agents.index(agent)]

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        for player in self._env.unwrapped.players:  # else where they stood last is kept free
            player.position = None
        obs, _ = self._env.reset(seed=seed)
        return dict(zip(self.agents, obs)), {}

    def step(self, actions):
        acted = self.agents
        obs, rewards, over, late, _ = self._env.step([actions[a] for a in acted])
        ended, cut = dict.fromkeys(acted, bool(over)), dict.fromkeys(acted, bool(late))
        self.agents = [] if over or late else acted
        return dict(zip(acted, obs)), dict(zip(acted, rewards)), ended, cut, {}


def make(name: str = "Foraging-8x8-2p-2f-v3"):
    """The environment that gymnasium knows by that name."""
    return Foraging(name)
