"""A flat vec_env as Stable-Baselines3's VecEnv. Imported by `hop.vec_env(..., flat=True).sb3()`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env.base_vec_env import VecEnv


class Sb3VecEnv(VecEnv):
    """Every agent of every copy as an env; agents that have left are told by infos[i]["alive"]."""

    def __init__(self, flat: Any):
        self.flat = flat
        self._mask: np.ndarray | None = None
        super().__init__(flat.num_envs, flat.single_observation_space, flat.single_action_space)

    def reset(self) -> np.ndarray:
        """Starts an episode everywhere; `seed` has said with which seed."""
        seeds = [s for s in self._seeds if s is not None]
        obs, infos = self.flat.reset(seed=seeds[0] if seeds else None)
        self._mask = infos["action_mask"]
        self._reset_seeds()
        return obs

    def step_async(self, actions: np.ndarray) -> None:
        """Takes the actions."""
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict]]:
        """Plays them."""
        obs, rewards, ended, cut, infos = self.flat.step(self._actions)
        self._mask = infos["action_mask"]
        each: list[dict] = [{"alive": bool(x)} for x in infos["alive"]]
        for i in np.flatnonzero(ended | cut):
            each[i]["terminal_observation"] = infos["final_obs"][i]
            each[i]["TimeLimit.truncated"] = bool(cut[i])
        return obs, rewards, ended | cut, each

    def action_masks(self) -> list[np.ndarray]:
        """What each agent may do now."""
        return list(self._mask)

    def close(self) -> None:
        """Ends the game's process."""
        self.flat.close()

    def has_attr(self, attr_name: str) -> bool:
        """What MaskablePPO asks."""
        return attr_name == "action_masks" or hasattr(self.flat, attr_name)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The same for every env."""
        return [getattr(self.flat, attr_name)] * len(self._indices(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Sets it for all."""
        setattr(self.flat, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Action masks by env; nothing else can be asked of one env alone."""
        if method_name != "action_masks":
            raise AttributeError(f"envs of hop have no {method_name}; they have action_masks")
        return [self._mask[i] for i in self._indices(indices)]

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """None is."""
        return [False] * len(self._indices(indices))

    def _indices(self, indices: Any) -> Sequence[int]:
        if indices is None:
            return range(self.num_envs)
        return [indices] if isinstance(indices, int) else list(indices)
