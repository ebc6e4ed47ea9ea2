"""The operators of RLMutation, planted in Stable-Baselines3, recorded by RecorderCallback and audited.

    python python/bench/bugs/rlmutation.py [--only PPO:CartPole-v1:RN,...] [--seeds 1-3] [--keep DIR]

After the descriptions in "Mutation Testing of Deep Reinforcement Learning Based on Real Faults" (Tambon,
Majdinasab, Nikanjam, Khomh, Antoniol, 2023); the code is our own. Prints a line a run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import warnings

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnvWrapper

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hop_marl.sb3 import RecorderCallback
from run import audit

warnings.filterwarnings("ignore")
torch.set_num_threads(1)

ENVS = {"CartPole-v1": 500, "Acrobot-v1": 100}  # and their time limits
SETTINGS = {
    PPO: dict(n_steps=128, batch_size=128, n_epochs=4),
    A2C: dict(n_steps=8),
}


class Sensor(gym.Wrapper):
    """Returns something else than the environment did: RN, M, Ra or R."""

    def __init__(self, env: gym.Env, what: str, seed: int):
        super().__init__(env)
        self.what, self.rng = what, np.random.default_rng(seed)
        self.past: list[tuple] = []

    def reset(self, **kwargs):
        obs, info = self.env.reset(**kwargs)
        self.last = obs, 0.0
        return obs, info

    def step(self, action):
        obs, reward, ended, cut, info = self.env.step(action)
        true = obs, float(reward)
        self.past.append(true)
        one, other = (self.past[self.rng.integers(len(self.past))] for _ in range(2))
        if self.what == "RN":
            reward = reward + self.rng.normal(0, abs(0.1 * reward))
        elif self.what == "M":
            obs, reward = one[0], other[1]
        elif self.what == "Ra":
            obs, reward = one
        elif self.what == "R":
            obs, reward = self.last
        self.last = true
        return obs, reward, ended, cut, info


class Endless(VecEnvWrapper):
    """MTS: no end is ever told."""

    def reset(self):
        return self.venv.reset()

    def step_wait(self):
        obs, rewards, dones, infos = self.venv.step_wait()
        return obs, rewards, np.zeros_like(dones), infos


class NoDiscount(RolloutBuffer):
    """NDF: returns are sums."""

    def compute_returns_and_advantage(self, last_values, dones):
        gamma, self.gamma = self.gamma, 1.0
        super().compute_returns_and_advantage(last_values, dones)
        self.gamma = gamma


class Forwards(RolloutBuffer):
    """NR: the sum runs from the first step to the last."""

    def compute_returns_and_advantage(self, last_values, dones):
        run = np.zeros(self.n_envs, np.float32)
        for t in range(self.buffer_size):
            over = dones if t + 1 == self.buffer_size else self.episode_starts[t + 1]
            ahead = last_values.clone().cpu().numpy().flatten() if t + 1 == self.buffer_size else self.values[t + 1]
            on = 1.0 - over.astype(np.float32)
            run = self.rewards[t] + self.gamma * ahead * on - self.values[t] + self.gamma * self.gae_lambda * on * run
            self.advantages[t] = run
        self.returns = self.advantages + self.values


class WrongSign(RolloutBuffer):
    """ILF: the loss of the policy has the other sign, which is to read the other advantages."""

    def get(self, batch_size=None):
        for s in super().get(batch_size):
            yield s._replace(advantages=-s.advantages)


class WrongTarget(RolloutBuffer):
    """ILF: the loss of the value has the other sign, which is to read returns from the other side of it."""

    def get(self, batch_size=None):
        for s in super().get(batch_size):
            yield s._replace(returns=2 * s.old_values - s.returns)


def stale(kind: type) -> type:
    """MSU: the state that the agent acts on is never brought up to date."""

    class Stale(kind):
        @property
        def _last_obs(self):
            return self.__dict__.get("first")

        @_last_obs.setter
        def _last_obs(self, obs):
            if obs is not None:
                self.__dict__.setdefault("first", obs)

    return Stale


MUTANTS = ("RN", "M", "Ra", "R", "NDF", "MTS", "NR", "MSU", "ILF policy", "ILF value", "POC SGD", "PAC Sigmoid", "PAC ReLU")
BUFFERS = {"NDF": NoDiscount, "NR": Forwards, "ILF policy": WrongSign, "ILF value": WrongTarget}


def train(path: str, algorithm: str, env: str, what: str, seed: int, steps: int = 4096) -> None:
    """A run of some thousand steps, with a mutant in it or, if `what` is "", without."""
    kind = {"PPO": PPO, "A2C": A2C}[algorithm]
    settings = dict(SETTINGS[kind])
    recorder = RecorderCallback(path)

    def make(i: int):
        one = gym.make(env, max_episode_steps=ENVS[env])
        one = recorder.wrap(one) if hasattr(recorder, "wrap") else one
        one = Sensor(one, what, seed + i) if what in ("RN", "M", "Ra", "R") else one
        one.reset(seed=seed * 100 + i)
        return one

    envs = DummyVecEnv([lambda i=i: make(i) for i in range(4)])
    if what == "MTS":
        envs = Endless(envs)
    policy = {}
    if what.startswith("PAC"):
        policy["activation_fn"] = {"Sigmoid": torch.nn.Sigmoid, "ReLU": torch.nn.ReLU}[what.split()[1]]
    if what.startswith("POC"):
        policy.update(optimizer_class=torch.optim.SGD, optimizer_kwargs={})
        settings |= {"use_rms_prop": False} if kind is A2C else {}
    if what in BUFFERS:
        settings["rollout_buffer_class"] = BUFFERS[what]
    if what == "MSU":
        kind = stale(kind)
    model = kind("MlpPolicy", envs, device="cpu", seed=seed, policy_kwargs=policy, **settings)
    model.learn(steps, callback=recorder)


def main() -> None:
    args = argparse.ArgumentParser()
    args.add_argument("--only", default="", help="ALGORITHM:ENV:MUTANT, with commas")
    args.add_argument("--seeds", default="1-3", help="of the healthy twins; mutants have the first")
    args.add_argument("--keep", default="")
    args = args.parse_args()
    first, last = (int(x) for x in (args.seeds.split("-") * 2)[:2])
    runs = [(a, e, m, first) for a in ("PPO", "A2C") for e in ENVS for m in MUTANTS]
    runs += [(a, e, "", s) for a in ("PPO", "A2C") for e in ENVS for s in range(first, last + 1)]
    if args.only:
        runs = [r for r in runs if ":".join(r[:3]) in args.only.split(",")]
    with tempfile.TemporaryDirectory() as here:
        for a, e, m, s in runs:
            path = os.path.join(args.keep or here, f"{a}-{e}-{m or 'healthy'}-{s}.npz".replace(" ", "-"))
            train(path, a, e, m, s)
            print(json.dumps({"case": f"{a} {e} {m or 'healthy'}", "seed": s, "said": audit(path)}), flush=True)


if __name__ == "__main__":
    main()
