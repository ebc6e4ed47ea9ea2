"""Independent PPO as CleanRL writes it, for several agents, with hop's recorder in it.

Written for the tests of the recorder: a small stag hunt in numpy as a PettingZoo parallel
environment whose agents leave, and one PPO learner for each of them. `train(path)` is a
healthy run of some thousand steps.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

from hop import Recorder

MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1), (0, 0)]  # then: hunt the stag, hunt a hare
ACTIONS = 7


class Discrete:
    """An action space, without gymnasium."""

    def __init__(self, n: int):
        self.n = n


class StagHunt:
    """Hunters on a board; a stag pays 10 to those who hunt it together, a hare pays 1.

    Who caught something leaves. After `limit` steps the others are cut off.
    """

    def __init__(self, hunters: int = 4, size: int = 4, limit: int = 20):
        self.possible_agents = [f"agent_{i}" for i in range(hunters)]
        self.agents: list[str] = []
        self.size, self.limit = size, limit

    def action_space(self, agent: str) -> Discrete:
        return Discrete(ACTIONS)

    def reset(self, seed: int | None = None, options: dict | None = None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.agents, self.t = list(self.possible_agents), 0
        cells = self.size * self.size
        self.at = {a: int(self.rng.integers(cells)) for a in self.agents}
        self.stag, *self.hares = (int(c) for c in self.rng.choice(cells, 3, replace=False))
        return self._see(self.agents), self._masks(self.agents)

    def step(self, actions: dict):
        was = self.agents
        hunters = [a for a in was if actions[a] == 5]
        reward = {a: 0.0 for a in was}
        left = []
        for a in was:
            if actions[a] < 5:
                dy, dx = MOVES[actions[a]]
                y, x = divmod(self.at[a], self.size)
                y, x = y + dy, x + dx
                if 0 <= y < self.size and 0 <= x < self.size:
                    self.at[a] = y * self.size + x
            elif actions[a] == 5 and self.at[a] == self.stag and len(hunters) > 1:
                reward[a] = 10.0 / len(hunters)
                left.append(a)
            elif actions[a] == 6 and self.at[a] in self.hares:
                reward[a] = 1.0
                left.append(a)
        self.t += 1
        ends = {a: a in left for a in was}
        cuts = {a: a not in left and self.t == self.limit for a in was}
        self.agents = [a for a in was if not ends[a] and not cuts[a]]
        return self._see(was), reward, ends, cuts, self._masks(was)

    def _see(self, who: list[str]) -> dict:
        cells = self.size * self.size
        everybody = np.zeros(cells, np.float32)
        for a in self.agents:
            everybody[self.at[a]] += 1
        prey = np.zeros((2, cells), np.float32)
        prey[0, self.stag] = 1
        prey[1, self.hares] = 1
        seen = {}
        for a in who:
            own = np.zeros(cells, np.float32)
            own[self.at[a]] = 1
            time = np.float32([self.t / self.limit])
            seen[a] = np.concatenate([own, everybody - own, prey[0], prey[1], time])
        return seen

    def _masks(self, who: list[str]) -> dict:
        out = {}
        for a in who:
            mask = np.ones(ACTIONS, np.int8)
            company = sum(self.at[b] == self.stag for b in self.agents) > 1
            mask[5] = self.at[a] == self.stag and company
            mask[6] = self.at[a] in self.hares
            out[a] = {"action_mask": mask}
        return out


class Network(nn.Module):
    """A trunk with a head for the policy and one for the value."""

    def __init__(self, inputs: int, hidden: int = 32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh(),
                                   nn.Linear(hidden, hidden), nn.Tanh())
        self.actor = nn.Linear(hidden, ACTIONS)
        self.critic = nn.Linear(hidden, 1)
        nn.init.orthogonal_(self.actor.weight, 0.01)

    def forward(self, obs: torch.Tensor):
        h = self.trunk(obs)
        return self.actor(h), self.critic(h).squeeze(-1)


def masked(logits: torch.Tensor, mask: torch.Tensor) -> Categorical:
    return Categorical(logits=logits.masked_fill(~mask, -1e8))


def train(path: str, seed: int = 1, updates: int = 8, envs: int = 4, steps: int = 64,
          hunters: int = 4, size: int = 4, gamma: float = 0.99, lam: float = 0.95,
          lr: float = 1e-3) -> None:
    """Trains and records; see the module."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    rec = Recorder(path)
    copies = [rec.wrap(StagHunt(hunters, size)) for _ in range(envs)]
    names = copies[0].possible_agents
    seen, masks = [], []
    for n, env in enumerate(copies):
        obs, infos = env.reset(seed=1000 * seed + n)
        seen.append(obs)
        masks.append({a: infos[a]["action_mask"] for a in obs})
    width = len(seen[0][names[0]])
    nets = {a: Network(width) for a in names}
    optimizers = {a: torch.optim.Adam(nets[a].parameters(), lr=lr, eps=1e-5) for a in names}
    for a in names:
        rec.learner(a, nets[a], optimizers[a])

    def buffer(*shape: int) -> dict:
        return {a: torch.zeros(steps, envs, *shape) for a in names}

    obs_, act_, logp_, rew_, val_, next_ = (buffer(width), buffer(), buffer(), buffer(), buffer(),
                                            buffer())
    mask_ = {a: torch.ones(steps, envs, ACTIONS, dtype=torch.bool) for a in names}
    alive_ = {a: torch.zeros(steps, envs, dtype=torch.bool) for a in names}
    end_ = {a: torch.zeros(steps, envs, dtype=torch.bool) for a in names}

    for update in range(updates):
        for a in names:
            alive_[a].zero_(), end_[a].zero_()
        for t in range(steps):
            actions: list[dict] = [{} for _ in copies]
            for a in names:
                here = [n for n, env in enumerate(copies) if a in env.agents]
                if not here:
                    continue
                x = torch.as_tensor(np.stack([seen[n][a] for n in here]))
                m = torch.as_tensor(np.stack([masks[n][a] for n in here])).bool()
                with torch.no_grad():
                    logits, value = nets[a](x)
                    dist = masked(logits, m)
                    action = dist.sample()
                obs_[a][t, here], mask_[a][t, here], alive_[a][t, here] = x, m, True
                act_[a][t, here], logp_[a][t, here] = action.float(), dist.log_prob(action)
                val_[a][t, here] = value
                for k, n in enumerate(here):
                    rec.policy(a, logits[k], dist.probs[k], env=copies[n])
                    actions[n][a] = int(action[k])
            after: dict = {a: [] for a in names}
            for n, env in enumerate(copies):
                obs, rewards, ends, cuts, infos = env.step(actions[n])
                for a in actions[n]:
                    rew_[a][t, n], end_[a][t, n] = rewards[a], ends[a] or cuts[a]
                    next_[a][t, n] = 0
                    if not ends[a]:
                        after[a].append((n, obs[a]))
                if not env.agents:
                    obs, infos = env.reset()
                seen[n] = obs
                masks[n] = {a: infos[a]["action_mask"] for a in obs}
            for a in names:  # what comes next is worth; also of the last sight before a cut
                if after[a]:
                    where, what = zip(*after[a])
                    with torch.no_grad():
                        next_[a][t, list(where)] = nets[a](torch.as_tensor(np.stack(what)))[1]

        for a in names:
            adv = torch.zeros(steps, envs)
            last = torch.zeros(envs)
            for t in reversed(range(steps)):
                delta = rew_[a][t] + gamma * next_[a][t] - val_[a][t]
                adv[t] = delta + gamma * lam * (~end_[a][t]) * last
                last = torch.where(alive_[a][t], adv[t], torch.zeros(envs))
            k = alive_[a]
            b_obs, b_act, b_logp, b_mask = obs_[a][k], act_[a][k], logp_[a][k], mask_[a][k]
            b_adv, b_ret, b_val = adv[k], (adv + val_[a])[k], val_[a][k]
            with torch.no_grad():
                b_new = masked(nets[a](b_obs)[0], b_mask).log_prob(b_act)
            rec.batch(a, obs=b_obs, actions=b_act, rewards=rew_[a][k], dones=end_[a][k],
                      values=b_val, logprobs=b_logp, new_logprobs=b_new, advantages=b_adv,
                      returns=b_ret, gamma=gamma, lam=lam)
            for _ in range(3):
                for mb in torch.randperm(len(b_obs)).split(64):
                    logits, value = nets[a](b_obs[mb])
                    dist = masked(logits, b_mask[mb])
                    ratio = (dist.log_prob(b_act[mb]) - b_logp[mb]).exp()
                    mb_adv = b_adv[mb]
                    mb_adv = (mb_adv - mb_adv.mean()) / (mb_adv.std() + 1e-8)
                    loss = torch.max(-mb_adv * ratio, -mb_adv * ratio.clamp(0.8, 1.2)).mean()
                    loss = loss + 0.5 * ((value - b_ret[mb]) ** 2).mean()
                    loss = loss - 0.01 * dist.entropy().mean()
                    optimizers[a].zero_grad()
                    loss.backward()
                    nn.utils.clip_grad_norm_(nets[a].parameters(), 0.5)
                    optimizers[a].step()
    rec.close()


if __name__ == "__main__":
    train("run.npz")
