"""Independent PPO as CleanRL writes it, for several agents, with hop's recorder in it.

Written for the tests of the recorder: a small stag hunt in numpy as a PettingZoo parallel
environment whose agents leave, and one PPO learner for each of them. The first agent also
has a model of the second one and a model of its own next sight. `train(path)` is a healthy
run of some thousand steps; `slip` plants one of SLIPS, as somebody could make it.
"""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

from hop_marl import Recorder

MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1), (0, 0)]  # then: hunt the stag, hunt a hare
ACTIONS = 7

# What can be planted, and where the audit ought to look for it first.
SLIPS = {
    "shared network": "spec",
    "optimizer misses a head": "ppo",
    "agent 0's buffer": "buffers",
    "rows after exit": "buffers",
    "softmax twice": "ppo",
    "rewards a step late": "buffers",
    "names sorted as strings": "buffers",
    "time limit as death": "ppo",
    "advantages run over ends": "ppo",
    "masks ignored when learning": "ppo",
    "gradients never cleared": "ppo",
    "one agent stops learning": "ppo",
}

# What stays inside the loss, which minibatches and the terms of the loss show.
INSIDE = {
    "the next agent's rewards": ("learnt rewards", "the next agent's"),
    "normalised over the dead": ("advantages are normalised over what is learnt from", "agents that have left"),
    "ratio of 1": ("ratios", "exactly 1"),
    "entropy pushed down": ("the terms of the loss", "pushed down"),
    "value loss of all pairs": ("the value loss", "every value against every row"),
    "one minibatch again and again": ("every row is learnt from", "the same rows"),
}

# Planted when the questions were written, by what they are and not by what can be seen.
LATER = (
    "next sight with this action",
    "stale sight after reset",
    "value loss of all pairs",
    "acts with an old network",
    "copies seeded alike",
    "actions not shuffled with rows",
    "entropy pushed down",
    "columns move up",
)


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

    def __init__(self, inputs: int, hidden: int = 32, softmax: bool = False):
        super().__init__()
        self.softmax = softmax
        self.trunk = nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh(),
                                   nn.Linear(hidden, hidden), nn.Tanh())
        self.actor = nn.Linear(hidden, ACTIONS)
        self.critic = nn.Linear(hidden, 1)
        nn.init.orthogonal_(self.actor.weight, 0.01)

    def forward(self, obs: torch.Tensor):
        h = self.trunk(obs)
        logits = self.actor(h)
        return logits.softmax(-1) if self.softmax else logits, self.critic(h).squeeze(-1)


class Both:
    """Two optimisers that step together."""

    def __init__(self, *all: torch.optim.Optimizer):
        self.all = all

    def zero_grad(self) -> None:
        for x in self.all:
            x.zero_grad()

    def step(self) -> None:
        for x in self.all:
            x.step()


def masked(logits: torch.Tensor, mask: torch.Tensor) -> Categorical:
    return Categorical(logits=logits.masked_fill(~mask, -1e8))


def train(path: str, slip: str = "", seed: int = 1, updates: int = 6, envs: int = 8,
          steps: int = 32, hunters: int = 4, size: int = 4, gamma: float = 0.99,
          lam: float = 0.95, lr: float = 1e-3, two: bool = False) -> None:
    """Trains and records; see the module."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    rec = Recorder(path)
    copies = [rec.wrap(StagHunt(hunters, size)) for _ in range(envs)]
    names = copies[0].possible_agents
    seen, masks = [], []
    for n, env in enumerate(copies):
        alike = slip == "copies seeded alike"
        obs, infos = env.reset(seed=1000 * seed + (0 if alike else n))
        seen.append(obs)
        masks.append({a: infos[a]["action_mask"] for a in obs})
    last_seen = [dict(x) for x in seen]
    width = len(seen[0][names[0]])
    nets = {a: Network(width, softmax=slip == "softmax twice") for a in names}
    if slip == "shared network":
        nets = dict.fromkeys(names, Network(width))
    optimizers = {}
    for a in names:
        params = list(nets[a].parameters())
        if slip == "optimizer misses a head":
            params = [*nets[a].trunk.parameters(), *nets[a].actor.parameters()]
        optimizers[a] = torch.optim.Adam(params, lr=lr, eps=1e-5)
        if two:  # one optimiser for the policy, a faster one for the values
            heads = nn.ModuleList([nets[a].trunk, nets[a].actor]), nets[a].critic
            optimizers[a] = Both(*(torch.optim.Adam(x.parameters(), lr=r, eps=1e-5) for x, r in zip(heads, (lr, 3 * lr))))
            for x, opt in zip(heads, optimizers[a].all):
                rec.learner(a, x, opt)
            continue
        rec.learner(a, nets[a], optimizers[a])
    me, mate = names[:2]
    moa = nn.Sequential(nn.Linear(width, 32), nn.Tanh(), nn.Linear(32, ACTIONS))
    world = nn.Sequential(nn.Linear(width + ACTIONS, 64), nn.Tanh(), nn.Linear(64, width))
    moa_opt = torch.optim.Adam(moa.parameters(), lr=3e-3)
    world_opt = torch.optim.Adam(world.parameters(), lr=3e-3)
    rec.learner(me, moa, moa_opt, part="moa")
    rec.learner(me, world, world_opt, part="world")

    def buffer(*shape: int, dtype: torch.dtype = torch.float32) -> dict:
        return {a: torch.zeros(steps, envs, *shape, dtype=dtype) for a in names}

    obs_, act_, logp_, rew_ = buffer(width), buffer(), buffer(), buffer()
    val_, next_, sight_ = buffer(), buffer(), buffer(width)  # next_: what comes next is worth
    mask_ = buffer(ACTIONS, dtype=torch.bool)
    alive_, end_ = buffer(dtype=torch.bool), buffer(dtype=torch.bool)
    row_ = torch.zeros(steps, envs, dtype=torch.long)  # of the first agent

    for update in range(updates):
        if slip != "acts with an old network" or update % 2 == 0:
            actors = {a: copy.deepcopy(nets[a]) for a in names}
        for a in names:
            alive_[a].zero_(), end_[a].zero_(), rew_[a].zero_()
        for t in range(steps):
            actions: list[dict] = [{} for _ in copies]
            for a in names:
                here = [n for n, env in enumerate(copies) if a in env.agents]
                if slip == "rows after exit":
                    obs_[a][t], mask_[a][t], act_[a][t], next_[a][t] = 0, True, 4, 0
                    with torch.no_grad():
                        logits, val_[a][t] = nets[a](obs_[a][t])
                    logp_[a][t] = logits.log_softmax(-1)[:, 4]
                    end_[a][t] = True
                if not here:
                    continue
                x = torch.as_tensor(np.stack([seen[n][a] for n in here]))
                m = torch.as_tensor(np.stack([masks[n][a] for n in here])).bool()
                with torch.no_grad():
                    logits, value = actors[a](x)
                    dist = masked(logits, m)
                    action = dist.sample()
                obs_[a][t, here], mask_[a][t, here], alive_[a][t, here] = x, m, True
                act_[a][t, here], logp_[a][t, here] = action.float(), dist.log_prob(action)
                val_[a][t, here] = value
                for k, n in enumerate(here):
                    rec.policy(a, logits[k], dist.probs[k], env=copies[n])
                    actions[n][a] = int(action[k])
            with torch.no_grad():
                predicted = moa(obs_[me][t]).softmax(-1)
            for n, env in enumerate(copies):
                row_[t, n] = rec.here(env)[me]
                if me in env.agents and mate in env.agents:
                    rec.predictions("moa", me, of=mate, probs=predicted[n], env=env)
            after: dict = {a: [] for a in names}
            for n, env in enumerate(copies):
                obs, rewards, ends, cuts, infos = env.step(actions[n])
                for a in actions[n]:
                    if slip == "the next agent's rewards":
                        further = names[(names.index(a) + 1) % len(names)]
                        rew_[a][t, n] = rewards.get(further, 0.0)
                    elif slip != "rewards a step late":
                        rew_[a][t, n] = rewards[a]
                    elif t + 1 < steps:
                        rew_[a][t + 1, n] = rewards[a]
                    end_[a][t, n] = ends[a] or cuts[a]
                    sight_[a][t, n] = torch.as_tensor(obs[a])
                    if slip == "next sight with this action":
                        obs_[a][t, n] = sight_[a][t, n]
                    next_[a][t, n] = 0
                    if not ends[a] and not (slip == "time limit as death" and cuts[a]):
                        after[a].append(n)
                last_seen[n].update(obs)
                if not env.agents:
                    obs, infos = env.reset()
                    if slip == "stale sight after reset":
                        obs = dict(last_seen[n])
                seen[n] = obs
                if slip == "columns move up":  # the n-th that is still there is the n-th agent
                    there = [obs[a] for a in env.agents]
                    seen[n] = {**obs, **dict(zip(names, there))}
                masks[n] = {a: infos[a]["action_mask"] for a in obs}
            for a in names:
                if after[a]:
                    with torch.no_grad():
                        next_[a][t, after[a]] = nets[a](sight_[a][t, after[a]])[1]

        together = alive_[me] & alive_[mate]
        going = alive_[me] & ~end_[me]
        x = torch.cat([obs_[me], nn.functional.one_hot(act_[me].long(), ACTIONS)], -1)[going]
        with torch.no_grad():
            rec.predictions("world", me, next_obs=obs_[me][going] + world(x), rows=row_[going])
        for epoch in range(20):
            if epoch < 4:  # more, and it knows this window by heart and the next one worse
                predicted = moa(obs_[me][together])
                loss = nn.functional.cross_entropy(predicted, act_[mate][together].long())
                moa_opt.zero_grad()
                loss.backward()
                moa_opt.step()
            loss = ((obs_[me][going] + world(x) - sight_[me][going]) ** 2).sum(-1).mean()
            world_opt.zero_grad()
            loss.backward()
            world_opt.step()

        for a in names:
            if slip == "one agent stops learning" and a == names[2] and update >= 2:
                continue
            of = a  # whose buffer
            if slip == "agent 0's buffer":
                of = names[0]
            elif slip == "names sorted as strings":
                of = names[sorted(names).index(a)]
            adv = torch.zeros(steps, envs)
            last = torch.zeros(envs)
            for t in reversed(range(steps)):
                value, going = next_[of][t], ~end_[of][t]
                if slip == "advantages run over ends":
                    value = val_[of][t + 1] if t + 1 < steps else value
                    going = torch.ones(envs)
                delta = rew_[of][t] + gamma * value - val_[of][t]
                adv[t] = delta + gamma * lam * going * last
                last = torch.where(alive_[of][t], adv[t], last * 0)
            k = alive_[of]
            if slip == "rows after exit":
                k = torch.ones_like(k)
            b_obs, b_act, b_logp, b_mask = obs_[of][k], act_[of][k], logp_[of][k], mask_[of][k]
            b_adv, b_ret, b_val = adv[k], (adv + val_[of])[k], val_[of][k]
            if slip == "masks ignored when learning":
                b_mask = torch.ones_like(b_mask)
            with torch.no_grad():
                b_new = masked(nets[a](b_obs)[0], b_mask).log_prob(b_act)
            rec.batch(a, obs=b_obs, actions=b_act, rewards=rew_[of][k], dones=end_[of][k],
                      values=b_val, logprobs=b_logp, new_logprobs=b_new, advantages=b_adv,
                      returns=b_ret, gamma=gamma, lam=lam)
            for _ in range(3):
                chunks = torch.randperm(len(b_obs)).chunk(max(2, len(b_obs) // 100))
                if slip == "one minibatch again and again":
                    chunks = [torch.arange(len(b_obs) // 2)] * len(chunks)
                for mb in chunks:
                    logits, value = nets[a](b_obs[mb])
                    dist = masked(logits, b_mask[mb])
                    act = b_act[mb]
                    if slip == "actions not shuffled with rows":
                        act = b_act[: len(mb)]
                    ratio = (dist.log_prob(act) - b_logp[mb]).exp()
                    if slip == "ratio of 1":
                        now = dist.log_prob(act)
                        ratio = (now - now.detach()).exp()
                    mb_adv = b_adv[mb]
                    mb_adv = (mb_adv - mb_adv.mean()) / (mb_adv.std() + 1e-8)
                    if slip == "normalised over the dead":
                        mb_adv = (b_adv[mb] - adv.mean()) / (adv.std() + 1e-8)
                    rec.minibatch(a, mb, advantages=mb_adv, ratios=ratio, values=value)
                    loss = torch.max(-mb_adv * ratio, -mb_adv * ratio.clamp(0.8, 1.2)).mean()
                    if slip == "value loss of all pairs":
                        value = value[:, None]
                    policy_loss, value_loss = loss, 0.5 * ((value - b_ret[mb]) ** 2).mean()
                    bonus = -1 if slip == "entropy pushed down" else 1
                    loss = policy_loss + value_loss - bonus * 0.01 * dist.entropy().mean()
                    rec.loss(a, policy=policy_loss, value=value_loss, entropy=dist.entropy().mean(), total=loss)
                    if slip != "gradients never cleared":
                        optimizers[a].zero_grad()
                    loss.backward()
                    nn.utils.clip_grad_norm_(nets[a].parameters(), 0.5)
                    optimizers[a].step()
            with torch.no_grad():
                logits, value = nets[a](b_obs)
            rec.learnt(a, logprobs=masked(logits, b_mask).log_prob(b_act), values=value)
    rec.close()


if __name__ == "__main__":
    train("run.npz")
