"""Many copies of a game as arrays. Imported by `hop.vec_env`; gymnasium is used if it is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._game import RANDOM, Game, bounds
from ._wire import HopError

try:
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
except ImportError:  # the same methods, without spaces
    spaces, VectorEnv = None, object


class HopVecEnv(VectorEnv):
    """Copies of one of hop's games, stepped together. Make it with `hop.vec_env`."""

    def __init__(
        self, game: str, params: dict, num_envs: int, threads: int, illegal: str, copy: bool
    ):
        self._made_with = (game, params, num_envs, threads, illegal, copy)
        self.num_envs, self.copy = num_envs, copy
        self._open()
        spec = self._game.spec
        self.spec_of_game: dict = spec
        self.agents = [f"agent_{a}" for a in range(spec["agents"])]
        self.num_agents, self.num_actions = spec["agents"], len(spec["actions"])
        self.obs_length: int = spec["obs"]["length"]
        self.metadata: dict[str, Any] = {"name": f"hop_{game}", "autoreset_mode": "NextStep"}
        self.render_mode = None
        if spaces is None:
            return
        self.metadata["autoreset_mode"] = AutoresetMode.NEXT_STEP
        low, high = bounds(spec)
        one, many = (self.num_agents, 1), (num_envs, self.num_agents, 1)
        self.single_observation_space = spaces.Box(np.tile(low, one), np.tile(high, one))
        self.observation_space = spaces.Box(np.tile(low, many), np.tile(high, many))
        self.single_action_space = spaces.MultiDiscrete([self.num_actions] * self.num_agents)
        self.action_space = spaces.MultiDiscrete(np.full(many[:2], self.num_actions))

    def _open(self) -> None:
        """Starts the game's process and keeps what a step returns."""
        game, params, num_envs, threads, illegal, _ = self._made_with
        self._game = Game(
            game=game, params=params, envs=num_envs, threads=threads, illegal=illegal, render=False
        )
        a = self._game.arrays
        self._actions = a["actions"]
        self._obs = a["obs"]
        self._infos = {
            "action_mask": a["legal"],
            "alive": a["alive"],
            "over": a["over"],
            "returns": a["returns"],
            "steps": a["steps"],
        }
        self._outcome = (a["rewards"], a["terminated"], a["truncated"])
        self._step = self._game.step

    def reset(
        self, *, seed: int | list[int] | None = None, options: dict | None = None
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Starts an episode in every copy.

        Copy n gets seed + n, or the n-th of a list of seeds, and plays what `parallel_env` plays
        with that seed, however many copies there are. Without a seed each goes on to its next
        episode; the first time, seeds are drawn.
        """
        if not self._game.usable:
            self._game.peer.close()
            self._open()
        self._game.start(seed)
        if self.copy:
            return self._obs.copy(), {name: a.copy() for name, a in self._infos.items()}
        return self._obs, dict(self._infos)

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Plays actions [num_envs][num_agents]; those of agents that have left are not looked at.

        A copy whose episode was over before only starts its next one.
        """
        if not self._game.started:
            raise HopError("the env must be reset before the first step")
        if actions is not self._actions:
            np.copyto(self._actions, actions, casting="same_kind")
        self._step()
        if self.copy:
            rewards, terminated, truncated = (a.copy() for a in self._outcome)
            infos = {name: a.copy() for name, a in self._infos.items()}
            return self._obs.copy(), rewards, terminated, truncated, infos
        return self._obs, *self._outcome, dict(self._infos)

    def random_actions(self) -> np.ndarray:
        """Uniform legal actions [num_envs][num_agents] for the next step, drawn by hop.

        They follow from the seeds. The array is the one that hop reads: `step` takes it as it is.
        """
        if not self._game.started:
            raise HopError("the env must be reset before actions are drawn")
        self._game.peer.tick(RANDOM)
        return self._actions

    def close(self, **kwargs: Any) -> None:
        """Ends the game's process. More than once does no harm."""
        self._game.peer.close()

    def close_extras(self, **kwargs: Any) -> None:
        """What gymnasium's close calls: nothing is left to do."""

    def __getstate__(self) -> dict:
        """What a pickle or a copy needs: how the env was made, and where it is."""
        state = self._game.save() if self._game.usable else None
        return {"made_with": self._made_with, "state": state}

    def __setstate__(self, kept: dict) -> None:
        self.__init__(*kept["made_with"])  # a process of its own
        self._game.load(kept["state"])

    def __del__(self) -> None:
        """Nothing: the game's process ends with its last reference."""

    def __repr__(self) -> str:
        return f"<hop.vec_env {self._game.spec['label']}, {self.num_envs} copies>"
