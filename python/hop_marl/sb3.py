"""Records a training of Stable-Baselines3 for `hop audit --trajectories`.

    from hop_marl.sb3 import RecorderCallback

    model.learn(20_000, callback=RecorderCallback("run.npz"))

Of PPO, A2C and MaskablePPO it writes down what is played, what every update learns from and does, and what
the optimiser does. Envs of one agent are copies with agent_0; `hop.vec_env(..., flat=True).sb3()` has its agents.

Without more it takes the environment's word for what was played as the algorithm hears it. To hold all that lies
between them against the environment itself (wrappers, vectors, normalisers), wrap it where you trust it:

    recorder = RecorderCallback("run.npz")
    env = DummyVecEnv([lambda: MyWrapper(recorder.wrap(gym.make("CartPole-v1")))] * 4)
    PPO("MlpPolicy", env).learn(20_000, callback=recorder)
"""

from __future__ import annotations

import os
from typing import Any

import gymnasium as gym
import numpy as np
import torch
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


class _Wrapped(gym.Wrapper):
    """An environment whose steps are written down where they are played."""

    def __init__(self, env: gym.Env, recorder: Recorder):
        super().__init__(env)
        self.lanes = Lanes(recorder._wrapped, env)
        self.row = -1  # of the last step

    def reset(self, **kwargs: Any) -> Any:
        return self.lanes.reset(**kwargs)

    def step(self, action: Any) -> Any:
        self.row = self.lanes.copies[0].number
        return self.lanes.step(action)


class RecorderCallback(BaseCallback):
    """Writes down what an on-policy algorithm plays and learns; the file is there when training ends."""

    def __init__(self, path: str | os.PathLike[str], **recorder: Any):
        super().__init__()
        self.recorder = Recorder(path, **recorder)
        self._lanes: Lanes | None = None
        self._wrapped: list[_Wrapped] = []
        self._rows: list[list[int]] = []
        self._batch: tuple[Any, ...] | None = None  # what the update to come learns from

    def wrap(self, env: gym.Env) -> gym.Env:
        """The environment, recorded where it stands: what lies above it is held against it.

        Call it once for each copy, in the order of the vector, in this process.
        """
        self._wrapped.append(_Wrapped(env, self.recorder))
        return self._wrapped[-1]

    def _on_training_start(self) -> None:
        env = self.model.get_env()
        inner = env
        while hasattr(inner, "venv"):
            inner = inner.venv
        if self._wrapped:
            if len(self._wrapped) != env.num_envs:
                raise ValueError(f"{len(self._wrapped)} environments are wrapped, the vector has {env.num_envs}: "
                                 "recorder.wrap each of them, or none")
            self._who = "agent_0"
            self.recorder.learner(self._who, self.model.policy, self.model.policy.optimizer)
            return
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
        if self._wrapped:
            self._rows.append([e.row for e in self._wrapped])
            return True
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

    def _on_rollout_start(self) -> None:
        self._rows = []
        if self._batch is not None:
            values, logprobs = self._scored()
            self.recorder.learnt(self._who, values=values, logprobs=logprobs)
            self._batch = None

    def _scored(self) -> tuple[Any, Any]:
        """What the network says now of the rows of the batch."""
        with torch.no_grad():
            values, logprobs, _ = self.model.policy.evaluate_actions(*self._batch)
        return values, logprobs

    def _on_rollout_end(self) -> None:
        b, more = self.model.rollout_buffer, {}
        if not hasattr(self.model.policy, "lstm_actor"):  # a memory is not in the buffer's rows alone
            flat = [torch.as_tensor(np.array(x).reshape(-1, *x.shape[2:]), device=self.model.device)
                    for x in (b.observations, b.actions)]
            flat[1] = flat[1].flatten()
            if hasattr(b, "action_masks"):
                flat.append(torch.as_tensor(np.array(b.action_masks).reshape(len(flat[1]), -1)))
            self._batch = tuple(flat)
            more["new_logprobs"] = self._scored()[1]
        obs = b.observations
        if self._wrapped:
            more["indices"] = np.array(self._rows)
            if obs[0, 0].size != self.recorder._played.sizes[0]:  # stacked, or otherwise another one
                obs = None
        # Rewards in the buffer have the value of what comes after a time limit added; the audit understands that.
        self.recorder.batch(
            self._who, obs=obs, actions=b.actions, rewards=b.rewards, values=b.values, logprobs=b.log_probs,
            advantages=b.advantages, returns=b.returns, dones=b.episode_starts, gamma=self.model.gamma,
            lam=self.model.gae_lambda, **more,
        )

    def _on_training_end(self) -> None:
        self._on_rollout_start()
        self.recorder.close()
