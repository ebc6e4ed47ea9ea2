"""Small learners in PyTorch, in parts that a case of this folder replaces, with hop's recorder in them.

`Run` is PPO of one agent in a vector of CartPoles, `Team` independent PPO of agents that leave a walk
one by one. Both are meant to be right; a case overrides the one method that its bug was in.
"""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torch import nn
from torch.distributions import Categorical

import hop_marl as hop

torch.set_num_threads(1)
warnings.filterwarnings("ignore")


def layers(i: int, o: int, scale: float) -> nn.Sequential:
    """A network of two layers of 32."""
    net = nn.Sequential(nn.Linear(i, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, o))
    nn.init.orthogonal_(net[-1].weight, scale)
    return net


class Net(nn.Module):
    """A policy and a value."""

    def __init__(self, sees: int, acts: int):
        super().__init__()
        self.actor, self.critic = layers(sees, acts, 0.5), layers(sees, 1, 1.0)

    def forward(self, obs: Any) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.as_tensor(obs, dtype=torch.float32)
        return self.actor(x), self.critic(x).squeeze(-1)


def gae(rewards, values, ends, last, gamma, lam):
    """Advantages [T, n]; ends[t]: the episode is over after step t; last [n]: the value of what comes."""
    out, run = np.zeros_like(rewards), 0.0
    for t in reversed(range(len(rewards))):
        ahead = (values[t + 1] if t + 1 < len(rewards) else last) * (1 - ends[t])
        run = rewards[t] + gamma * ahead - values[t] + gamma * lam * (1 - ends[t]) * run
        out[t] = run
    return out


class Learner:
    """What PPO does with a batch; told to the recorder step by step."""

    def __init__(self, rec: hop.Recorder, who: str, net: Net, run: "Run | Team"):
        self.rec, self.who, self.net, self.run = rec, who, net, run
        self.opt = torch.optim.Adam(net.parameters(), 3e-3, eps=1e-5)
        rec.learner(who, net, self.opt)

    def update(self, obs, actions, logprobs, values, rewards, dones, adv, returns, masks=None) -> None:
        shape = adv.shape
        flat = lambda x: torch.as_tensor(np.asarray(x).reshape(-1, *np.shape(x)[len(shape):]))
        obs, actions, logprobs, values, adv, returns = map(flat, (obs, actions, logprobs, values, adv, returns))
        masks = None if masks is None else flat(masks)
        new, _ = self.run.score(self.net, obs, actions, masks)
        self.rec.batch(self.who, obs=obs, actions=actions, rewards=rewards, dones=dones, values=values, logprobs=logprobs,
                       new_logprobs=new, advantages=adv, returns=returns, gamma=self.run.gamma, lam=self.run.lam)
        n = len(obs)
        for _ in range(2):
            for part in np.array_split(self.run.rng.permutation(n), max(1, n // 64)):
                now, entropy = self.run.score(self.net, obs[part], actions[part], None if masks is None else masks[part])
                old = self.run.old(logprobs[part].float(), now)
                a = self.run.normalised(adv[part].float())
                ratio = (now - old).exp()
                policy = -torch.min(ratio * a, ratio.clamp(0.8, 1.2) * a).mean()
                v = self.net(obs[part])[1]
                value = self.run.value_loss(v, returns[part].float())
                loss = policy + 0.5 * value + self.run.entropy_sign() * 0.01 * entropy.mean()
                self.rec.minibatch(self.who, part, advantages=a, ratios=ratio, values=v)
                self.rec.loss(self.who, policy=policy, value=value, entropy=entropy.mean(), total=loss)
                self.opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.net.parameters(), 0.5)
                self.opt.step()
        self.rec.learnt(self.who, logprobs=self.run.score(self.net, obs, actions, masks)[0], values=self.net(obs)[1])


class Parts:
    """What cases replace, as it should be."""

    gamma, lam, horizon = 0.99, 0.95, 0

    def __init__(self, path: str, fixed: bool, seed: int = 1):
        self.path, self.fixed, self.seed = path, fixed, seed
        self.rng = np.random.default_rng(seed)
        torch.manual_seed(seed)

    def score(self, net, obs, actions, masks):
        """Log-probabilities of actions, and entropies."""
        dist = Categorical(logits=self.masked(net(obs)[0], masks))
        return dist.log_prob(actions), dist.entropy()

    def masked(self, logits, masks):
        return logits if masks is None else logits.masked_fill(~torch.as_tensor(masks, dtype=torch.bool), -1e8)

    def old(self, stored, now):
        return stored

    def value_loss(self, values, returns):
        return ((values - returns) ** 2).mean()

    def normalised(self, adv):
        return (adv - adv.mean()) / (adv.std() + 1e-8)

    def entropy_sign(self):
        return -1

    def advantages(self, rewards, values, ends, last):
        return gae(rewards, values, ends, last, self.gamma, self.lam)

    def returns(self, adv, values):
        return adv + values

    def after_cut(self, now, last):
        """What a cut adds to the reward; the value at the last step and that of what was seen after it."""
        return self.gamma * last


class Run(Parts):
    """PPO of one agent in a vector of environments of Gymnasium."""

    env, copies, steps, updates, limit = "CartPole-v1", 4, 64, 10, 0
    reset = AutoresetMode.SAME_STEP

    def make(self):
        return gym.make(self.env, **({"max_episode_steps": self.limit} if self.limit else {}))

    def seeds(self):
        return [self.seed + i for i in range(self.copies)]

    def wrapped(self, envs):
        """What stands between the environments and the learner."""
        return envs

    def bootstrap(self, values, last):
        return last

    def go(self) -> None:
        with hop.Recorder(self.path, horizon=self.horizon) as rec:
            played = rec.wrap(SyncVectorEnv([self.make] * self.copies, autoreset_mode=self.reset))
            envs = self.wrapped(played)
            net = Net(envs.single_observation_space.shape[0], envs.single_action_space.n)
            learner = Learner(rec, "agent_0", net, self)
            self.now, infos = envs.reset(seed=self.seeds())
            self.mask, self.done = infos.get("action_mask"), np.zeros(self.copies)
            for _ in range(self.updates):
                self.learn(learner, *self.rollout(rec, played, envs, net))

    def rollout(self, rec, played, envs, net):
        rows, cuts = [], []
        for _ in range(self.steps):
            seen, before, mask = self.now, self.done, self.mask
            with torch.no_grad():
                logits, value = net(seen)
                dist = Categorical(logits=self.masked(logits, mask))
                action = dist.sample()
            for n, copy in enumerate(played.copies):
                rec.policy("agent_0", logits[n], dist.probs[n], env=copy)
            self.now, reward, ended, cut, infos = envs.step(action.numpy())
            reward, self.mask = reward.astype(np.float64), infos.get("action_mask")
            for n in np.flatnonzero(cut & ~ended) if self.reset is AutoresetMode.SAME_STEP else ():
                with torch.no_grad():
                    last = float(net(infos["final_obs"][n])[1])
                reward[n] += self.after_cut(float(value[n]), last)
            self.done = np.asarray(ended | cut, np.float64)
            cuts.append(cut & ~ended)
            mask = np.ones(dist.probs.shape, bool) if mask is None else np.array(mask, bool)
            rows.append((np.array(seen), action.numpy(), dist.log_prob(action).numpy(), value.numpy(), reward, before,
                         self.done, mask))
        self.cuts = np.stack(cuts)  # [T, n]: the episode was over by the time limit only
        with torch.no_grad():
            last = net(self.now)[1].numpy()
        return [np.stack(x) for x in zip(*rows)], last

    def learn(self, learner, rows, last):
        obs, actions, logprobs, values, rewards, before, ends, masks = rows
        adv = self.advantages(rewards, values, ends, self.bootstrap(values, last))
        learner.update(obs, actions, logprobs, values, rewards, before, adv, self.returns(adv, values), masks)


class Walk:
    """Three agents on a line; who reaches the end is paid and leaves. After `limit` steps the rest is cut off."""

    possible_agents = ["agent_0", "agent_1", "agent_2"]

    def __init__(self, seed: int, limit: int = 24, end: int = 5):
        self.rng, self.limit, self.end = np.random.default_rng(seed), limit, end

    def action_space(self, agent: str) -> Any:
        return gym.spaces.Discrete(3)

    def sees(self, agents: list[str]) -> dict:
        return {a: np.array([self.at[a], *self.rng.normal(size=3), self.possible_agents.index(a)], np.float32)
                for a in agents}

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[dict, dict]:
        self.agents, self.t = list(self.possible_agents), 0
        self.at = {a: int(self.rng.integers(3)) for a in self.agents}
        return self.sees(self.agents), {a: {} for a in self.agents}

    def step(self, actions: dict) -> tuple[dict, dict, dict, dict, dict]:
        here, self.t = list(self.agents), self.t + 1
        for a in here:
            self.at[a] = max(0, self.at[a] + (0, 1, -1)[int(actions[a])])
        out = {a: self.at[a] >= self.end for a in here}
        cut = {a: self.t >= self.limit and not out[a] for a in here}
        self.agents = [a for a in here if not (out[a] or cut[a])]
        paid = {a: 1.0 if out[a] else -0.05 for a in here}
        return self.sees(here), paid, out, cut, {a: {} for a in here}


class Team(Parts):
    """Independent PPO of three agents in a walk."""

    steps, updates = 192, 5

    def sight(self, agent: str, obs: dict) -> np.ndarray:
        """What an agent acts on and learns from."""
        return obs[agent]

    def acting(self, here: list[str], gone: dict) -> list[str]:
        """Whose actions are drawn and kept; gone: what those who have left saw last."""
        return here

    def go(self) -> None:
        with hop.Recorder(self.path, horizon=self.horizon) as rec:
            env = rec.wrap(Walk(self.seed))
            nets = {a: Net(5, 3) for a in env.possible_agents}
            learners = {a: Learner(rec, a, nets[a], self) for a in nets}
            obs, gone = env.reset()[0], {}
            for _ in range(self.updates):
                rows: dict[str, list] = {a: [] for a in nets}
                for _ in range(self.steps):
                    obs, gone = self.step(rec, env, nets, obs, gone, rows)
                for a, own in rows.items():
                    self.learn(learners[a], nets[a], own, obs.get(a))

    def step(self, rec, env, nets, obs, gone, rows):
        here, acts, kept = list(env.agents), {}, {}
        for a in self.acting(here, gone):
            see = self.sight(a, obs) if a in here else gone[a]
            with torch.no_grad():
                logits, value = nets[a](see)
            dist = Categorical(logits=logits)
            acts[a] = dist.sample()
            kept[a] = [see, int(acts[a]), float(dist.log_prob(acts[a])), float(value)]
            if a in here:
                rec.policy(a, logits, dist)
        new, paid, out, cut, _ = env.step({a: int(acts[a]) for a in here})
        for a, row in kept.items():
            reward, over = paid.get(a, 0.0), out.get(a, True) or cut.get(a, True)
            if cut.get(a):
                with torch.no_grad():
                    reward += self.after_cut(row[3], float(nets[a](self.sight(a, new))[1]))
            rows[a].append([*row, reward, float(over)])
        gone = {**gone, **{a: new[a] for a in here if a not in env.agents}}
        if not env.agents:
            return env.reset()[0], {}
        return {a: x for a, x in new.items() if a in env.agents}, gone

    def learn(self, learner, net, rows, see):
        obs, actions, logprobs, values, rewards, ends = (np.array(x) for x in zip(*rows))
        with torch.no_grad():
            last = 0.0 if see is None else float(net(see)[1])
        adv = self.advantages(rewards, values, ends, last)
        learner.update(obs, actions, logprobs, values, rewards, ends, adv, self.returns(adv, values))
