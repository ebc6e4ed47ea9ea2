"""Records a training of Stable-Baselines3 for `hop audit --trajectories`.

    from hop_marl.sb3 import RecorderCallback

    model.learn(20_000, callback=RecorderCallback("run.npz"))

Of PPO, A2C and MaskablePPO it writes down what is played, what every update learns from and what the
optimiser does. Envs of one agent are copies with agent_0; `hop.vec_env(..., flat=True).sb3()` has its agents.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from ._lanes import Lanes
from .recorder import Recorder


class _Fed:
    """A vector of environments that returns what it is given, and starts anew in the step that ends an episode."""

    metadata = {"autoreset_mode": "SameStep"}

    def __init__(self, env: Any):
        self.single_action_space, self.num_envs = env.action_space, env.num_envs
        self.num_agents = getattr(getattr(env, "flat", None), "num_agents", 1)
        self.out: Any = None

    def reset(self) -> Any:
        return self.out

    def step(self, actions: Any) -> Any:
        return self.out


class RecorderCallback(BaseCallback):
    """Writes down what an on-policy algorithm plays and learns; the file is there when training ends."""

    def __init__(self, path: str | os.PathLike[str], **recorder: Any):
        super().__init__()
        self.recorder = Recorder(path, **recorder)
        self._lanes: Lanes | None = None

    def _on_training_start(self) -> None:
        env = self.model.get_env()
        inner = env
        while hasattr(inner, "venv"):
            inner = inner.venv
        self._fed = _Fed(inner)
        self._lanes = Lanes(self.recorder._wrapped, self._fed)
        self._fed.out = (np.array(self.model._last_obs), self._masks(inner))
        self._lanes.reset()
        self._inner = inner
        self._names = [f"agent_{a}" for a in range(self._fed.num_agents)]
        who = self._names if len(self._names) > 1 else self._names[0]
        self.recorder.learner(who, self.model.policy, self.model.policy.optimizer)
        self._who = who

    def _masks(self, env: Any) -> dict:
        return {"action_mask": np.stack(env.env_method("action_masks"))} if hasattr(env, "action_masks") else {}

    def _on_step(self) -> bool:
        now, n = self.locals, self._fed.num_envs
        infos, done = now["infos"], np.asarray(now["dones"])
        cut = np.array([bool(done[i] and infos[i].get("TimeLimit.truncated")) for i in range(n)])
        last = np.array(now["new_obs"])
        for i in np.flatnonzero(done):
            last[i] = infos[i].get("terminal_observation", last[i])
        more = self._masks(self._inner)
        if "alive" in infos[0]:
            more["alive"] = np.array([x["alive"] for x in infos])
        rewards = np.asarray(now["rewards"], np.float64)
        self._fed.out = (np.array(now["new_obs"]), rewards, done & ~cut, cut, {"final_obs": last, **more})
        self._lanes.step(np.asarray(now["actions"]).reshape(-1))
        return True

    def _on_rollout_end(self) -> None:
        b = self.model.rollout_buffer
        # Rewards in the buffer have the value of what comes after a time limit added: those are skipped by the audit.
        self.recorder.batch(
            self._who, obs=b.observations, actions=b.actions, rewards=b.rewards, values=b.values, logprobs=b.log_probs,
            advantages=b.advantages, returns=b.returns, dones=b.episode_starts,
        )

    def _on_training_end(self) -> None:
        self.recorder.close()
