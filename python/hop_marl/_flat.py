"""A vec_env whose envs are agents: what libraries for a single agent take as it is. Made by `hop.vec_env(..., flat=True)`."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv

from ._game import _NEXT, START, bounds
from ._vec import HopVecEnv


class FlatVecEnv(VectorEnv):
    """Every agent of every copy as an env of its own: env n * agents + a is agent a of copy n.

    An agent that has left sees zeros, earns 0 and may only play action 0 until its copy's episode is
    over; infos["alive"] tells those rows from the others. infos["action_mask"] is [envs][actions].
    """

    def __init__(self, inner: HopVecEnv, autoreset: str):
        modes = {"next_step": AutoresetMode.NEXT_STEP, "same_step": AutoresetMode.SAME_STEP}
        if autoreset not in modes:
            raise ValueError(f'autoreset is {autoreset!r}, want "next_step" or "same_step"')
        self.inner, self._same = inner, autoreset == "same_step"
        self.num_envs, self.num_agents = inner.num_envs * inner.num_agents, inner.num_agents
        self.metadata = {**inner.metadata, "autoreset_mode": modes[autoreset]}
        self.render_mode = None
        low, high = bounds(inner.spec_of_game)
        self.single_observation_space = spaces.Box(low, high)
        self.observation_space = spaces.Box(np.tile(low, (self.num_envs, 1)), np.tile(high, (self.num_envs, 1)))
        self.single_action_space = spaces.Discrete(inner.num_actions)
        self.action_space = spaces.MultiDiscrete(np.full(self.num_envs, inner.num_actions))

    def _flat(self, a: np.ndarray) -> np.ndarray:
        return a.reshape(self.num_envs, *a.shape[2:]).copy()

    def _infos(self, infos: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: self._flat(infos[name]) for name in ("action_mask", "alive")}

    def reset(
        self, *, seed: int | list[int] | None = None, options: dict | None = None
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Starts an episode in every copy; copy n gets seed + n, or the n-th of a list."""
        obs, infos = self.inner.reset(seed=seed, options=options)
        return self._flat(obs), self._infos(infos)

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Plays an action for each agent of each copy; those of agents that have left are not looked at.

        Agents' episodes end with their copy's. With "next_step" the step after that only starts the next
        one; with "same_step" it has started already, and infos["final_obs"] has the last observations.
        """
        actions = np.asarray(actions).reshape(self.inner.num_envs, self.num_agents)
        obs, rewards, _, truncated, infos = self.inner.step(actions)
        over = infos["over"] & (infos["steps"] > 0)
        cut = np.repeat(over & truncated.any(1), self.num_agents)
        ended = np.repeat(over, self.num_agents) & ~cut
        paid, more = self._flat(rewards), {}
        if self._same and over.any():
            lanes = np.repeat(over, self.num_agents)
            more = {"final_obs": self._flat(obs), "_final_obs": lanes}
            game = self.inner._game
            game.arrays["restart"][:] = np.where(over, _NEXT, 0)
            game.peer.tick(START)
        return self._flat(obs), paid, ended, cut, {**self._infos(infos), **more}

    def random_actions(self) -> np.ndarray:
        """Uniform legal actions for the next step, drawn by hop; they follow from the seeds."""
        return self._flat(self.inner.random_actions())

    def sb3(self) -> Any:
        """The same as Stable-Baselines3 has it, with action masks for sb3-contrib's MaskablePPO."""
        from ._sb3 import Sb3VecEnv

        if not self._same:
            raise ValueError('Stable-Baselines3 starts an episode in the step that ends one: use autoreset="same_step"')
        return Sb3VecEnv(self)

    def close(self, **kwargs: Any) -> None:
        """Ends the game's process."""
        self.inner.close()

    def close_extras(self, **kwargs: Any) -> None:
        """What gymnasium's close calls: nothing is left to do."""

    def __repr__(self) -> str:
        return f"<hop.vec_env {self.inner.spec_of_game['label']}, {self.inner.num_envs} copies of {self.num_agents} agents>"
