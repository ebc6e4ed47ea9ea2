"""CleanRL's PPO on a PettingZoo parallel environment, in PyTorch: what `hop train ppo --env` is
compared with in docs/environments.md.

    python python/bench/torch_ppo.py mpe2.simple_spread_v3:parallel_env --steps 100000

One network and one optimiser an agent, all settings as in hop's preset ppo-env. Agents must
end together and see vectors. Truncated episodes bootstrap, as hop's do. The final agents play
fresh episodes, sampled; prints one JSON object.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical


def layer(wide: int, out: int, std: float = 2**0.5) -> nn.Linear:
    """A linear layer as CleanRL makes it."""
    made = nn.Linear(wide, out)
    nn.init.orthogonal_(made.weight, std)
    nn.init.zeros_(made.bias)
    return made


class Agent(nn.Module):
    """An actor and a critic on two layers that they share, as hop's."""

    def __init__(self, numbers: int, actions: int):
        super().__init__()
        self.trunk = nn.Sequential(layer(numbers, 64), nn.ReLU(), layer(64, 64), nn.ReLU())
        self.actor, self.critic = layer(64, actions, 0.01), layer(64, 1, 1.0)

    def policy(self, obs: torch.Tensor, legal: torch.Tensor) -> Categorical:
        """The distribution over legal actions."""
        return Categorical(logits=self.actor(self.trunk(obs)).masked_fill(~legal, -1e9))

    def value(self, obs: torch.Tensor) -> torch.Tensor:
        """What a state is worth."""
        return self.critic(self.trunk(obs)).squeeze(-1)


class Envs:
    """Copies of an environment in this process, reset as soon as they end."""

    def __init__(self, make: Any, copies: int, seed: int):
        self.envs = [make() for _ in range(copies)]
        self.draw = np.random.default_rng(seed)
        first = self.envs[0]
        self.agents = list(first.possible_agents)
        spaces = [first.observation_space(a) for a in self.agents]
        self.scale = [np.where(self._known(s), 1 / self._most(s), 1) for s in spaces]
        self.numbers = [s.shape[0] for s in spaces]
        self.actions = [int(first.action_space(a).n) for a in self.agents]
        self.seen = [self._reset(env) for env in self.envs]
        self.returns = np.zeros((copies, len(self.agents)))
        self.ended: list[np.ndarray] = []

    @staticmethod
    def _most(space: Any) -> np.ndarray:
        return np.maximum(np.abs(space.low), np.abs(space.high)).astype(np.float64)

    def _known(self, space: Any) -> np.ndarray:
        most = self._most(space)
        return np.isfinite(most) & (most > 1) & (most < 1e6)

    def _reset(self, env: Any) -> tuple[dict, dict]:
        return env.reset(seed=int(self.draw.integers(2**31)))

    def look(self, a: int, seen: list) -> tuple[torch.Tensor, torch.Tensor]:
        """What agent a sees, and what it may do, in all copies."""
        name = self.agents[a]
        obs = np.stack([s[0][name] * self.scale[a] for s in seen]).astype(np.float32)
        legal = np.ones((len(seen), self.actions[a]), bool)
        for i, (_, infos) in enumerate(seen):
            mask = infos.get(name, {}).get("action_mask")
            if mask is not None:
                legal[i] = np.asarray(mask) != 0
        return torch.from_numpy(obs), torch.from_numpy(legal)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, list]:
        """Rewards [N][A], who has ended and who was cut [N], and what was seen before a reset."""
        rewards = np.zeros(actions.shape, np.float32)
        ended, cut, last = np.zeros(len(self.envs), bool), np.zeros(len(self.envs), bool), []
        for i, env in enumerate(self.envs):
            acts = dict(zip(self.agents, actions[i].tolist()))
            obs, paid, over, late, infos = env.step(acts)
            rewards[i] = [paid[a] for a in self.agents]
            last.append((obs, infos))
            self.returns[i] += rewards[i]
            ended[i], cut[i] = any(over.values()), any(late.values()) and not any(over.values())
            if not env.agents:
                self.ended.append(self.returns[i].copy())
                self.returns[i] = 0
                obs, infos = self._reset(env)
            self.seen[i] = (obs, infos)
        return rewards, ended, cut, last


def main() -> None:
    """Trains, scores and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("env")
    parser.add_argument("--kwargs", default="{}")
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    module, function = args.env.split(":")
    kwargs = json.loads(args.kwargs)
    make = getattr(importlib.import_module(module), function)

    copies, window, gamma, lam, epochs, batch, scale = 16, 64, 0.99, 0.95, 10, 128, 0.3
    envs = Envs(lambda: make(**kwargs), copies, args.seed)
    nets = [Agent(n, k) for n, k in zip(envs.numbers, envs.actions)]
    learners = [torch.optim.Adam(n.parameters(), 1e-3, eps=1e-5) for n in nets]
    order = np.random.default_rng(args.seed)
    start, updates = time.perf_counter(), args.steps // (copies * window)
    for update in range(updates):
        rows: list[list[list[torch.Tensor]]] = [[] for _ in nets]
        rewards, ends, cuts, after = [], [], [], []
        for _ in range(window):
            actions = np.zeros((copies, len(nets)), np.int64)
            for a, net in enumerate(nets):
                obs, legal = envs.look(a, envs.seen)
                with torch.no_grad():
                    policy = net.policy(obs, legal)
                    act = policy.sample()
                    rows[a].append([obs, legal, act, policy.log_prob(act), net.value(obs)])
                actions[:, a] = act.numpy()
            paid, ended, cut, last = envs.step(actions)
            rewards.append(torch.from_numpy(paid) * scale)
            ends.append(torch.from_numpy(ended))
            cuts.append(torch.from_numpy(cut))
            after.append(last)
        share = update / updates
        for a, (net, learner) in enumerate(zip(nets, learners)):
            obs, legal, act, logp, value = (torch.stack(x) for x in zip(*rows[a]))
            advantage = torch.zeros_like(value)
            follow = torch.zeros(copies)
            for t in reversed(range(window)):
                stops = ends[t] | cuts[t]
                if t == window - 1 or cuts[t].any():
                    with torch.no_grad():
                        beyond = net.value(envs.look(a, after[t])[0])
                ahead = value[t + 1] if t < window - 1 else beyond
                ahead = torch.where(cuts[t], beyond, ahead) * ~ends[t]
                delta = rewards[t][:, a] + gamma * ahead - value[t]
                follow = delta + gamma * lam * follow * ~stops
                advantage[t] = follow
            flat = [x.flatten(0, 1) for x in (obs, legal, act, logp, advantage, advantage + value)]
            learner.param_groups[0]["lr"] = 1e-3 + (2e-4 - 1e-3) * share
            entropy = 0.01 + (0.001 - 0.01) * share
            for _ in range(epochs):
                for part in np.array_split(
                    order.permutation(copies * window), copies * window // batch
                ):
                    o, m, k, lp, adv, ret = (x[torch.from_numpy(part)] for x in flat)
                    policy = net.policy(o, m)
                    ratio = (policy.log_prob(k) - lp).exp()
                    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                    gain = torch.min(adv * ratio, adv * ratio.clamp(0.8, 1.2)).mean()
                    worth = 0.5 * ((net.value(o) - ret) ** 2).mean()
                    loss = -gain - entropy * policy.entropy().mean() + 0.5 * worth
                    learner.zero_grad()
                    loss.backward()
                    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
                    learner.step()
    took = time.perf_counter() - start
    fresh = Envs(lambda: make(**kwargs), copies, args.seed + 1000)
    while len(fresh.ended) < args.episodes:
        actions = np.zeros((copies, len(nets)), np.int64)
        for a, net in enumerate(nets):
            with torch.no_grad():
                actions[:, a] = net.policy(*fresh.look(a, fresh.seen)).sample().numpy()
        fresh.step(actions)
    scored = np.stack(fresh.ended[: args.episodes])
    print(
        json.dumps(
            {
                "env": args.env,
                "steps": updates * copies * window,
                "seed": args.seed,
                "mean": float(scored.mean()),
                "agents": scored.mean(0).tolist(),
                "se": float(scored.mean(1).std(ddof=1) / len(scored) ** 0.5),
                "train_s": took,
            }
        )
    )


if __name__ == "__main__":
    main()
