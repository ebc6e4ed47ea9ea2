"""An environment of our own, and PPO with a GRU on whole episodes, n-step advantages and normalised observations.

Three agents live of two stores. Whoever goes to a store eats of it, the more go the less each gets, and a store grows back slowly. An agent
sees only the store that it was at last. Who has no energy left is out; after 30 steps the episode is cut.
"""
import gymnasium as gym
import numpy as np
import torch
from pettingzoo import ParallelEnv
from torch import nn

import hop_marl as hop

SLIPS = {
    "normaliser-goes-on": "observations are normalised again at learning, by the statistics of then",
    "no-zero-grad": "gradients pile up",
    "memory-carried-over": "at acting the GRU's state is not reset between episodes",
    "random-actions-left-in": "an eighth of the actions are replaced by random ones, their log-probabilities stay those of the network",
}


class Pantry(ParallelEnv):
    metadata = {"name": "pantry_v0"}

    def __init__(self, n=3, limit=30):
        self.possible_agents = [f"eater_{i}" for i in range(n)]
        self.limit = limit
        self.agents = []
        self._rng = np.random.default_rng()

    def observation_space(self, agent):
        return gym.spaces.Box(-5, 5, (7,), np.float32)

    def action_space(self, agent):
        return gym.spaces.Discrete(3)

    def _see(self, a):
        o = np.zeros(7, np.float32)
        o[0], o[1] = self.energy[a], self._rng.normal(0, 0.1)
        at = self.at[a]
        if at:
            o[1 + at], o[3 + at] = 1, self.stock[at - 1]
        o[6] = len(self.agents)
        return o

    def reset(self, seed=None, options=None):
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self.agents = list(self.possible_agents)
        self.energy = {a: float(self._rng.uniform(0.3, 0.8)) for a in self.agents}
        self.at = {a: 0 for a in self.agents}
        self.stock = self._rng.uniform(0.2, 1.5, 2)
        self.t = 0
        return {a: self._see(a) for a in self.agents}, {a: {} for a in self.agents}

    def step(self, actions):
        self.t += 1
        rewards = {}
        for a in self.agents:
            self.at[a] = int(actions[a])
        for a in self.agents:
            got = 0.0
            if self.at[a]:
                crowd = sum(self.at[b] == self.at[a] for b in self.agents)
                got = min(0.4, 0.5 * self.stock[self.at[a] - 1] / crowd)
            rewards[a] = got - (0.05 if self.at[a] else 0.0)
            self.energy[a] = min(1.0, self.energy[a] + 0.5 * got - 0.09)
        for s in (0, 1):
            eaten = sum(min(0.4, 0.5 * self.stock[s] / max(1, sum(self.at[b] == s + 1 for b in self.agents)))
                        for b in self.agents if self.at[b] == s + 1)
            self.stock[s] = min(1.5, max(0.0, self.stock[s] - eaten) + 0.12)
        terms = {a: self.energy[a] <= 0 for a in self.agents}
        truncs = {a: self.t >= self.limit and not terms[a] for a in self.agents}
        rewards = {a: rewards[a] - (1.0 if terms[a] else 0.0) for a in self.agents}
        obs = {a: self._see(a) for a in self.agents}
        infos = {a: {} for a in self.agents}
        self.agents = [a for a in self.agents if not (terms[a] or truncs[a])]
        return obs, rewards, terms, truncs, infos


class Scale:
    def __init__(self, n):
        self.n, self.mean, self.m2 = 1e-4, np.zeros(n), np.ones(n) * 1e-4

    def add(self, x):
        for row in x:
            self.n += 1
            d = row - self.mean
            self.mean = self.mean + d / self.n
            self.m2 = self.m2 + d * (row - self.mean)

    def __call__(self, x):
        return np.clip((x - self.mean) / np.sqrt(self.m2 / self.n + 1e-4), -5, 5).astype(np.float32)


class Mind(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.gru = nn.Linear(7, 32), nn.GRU(32, 32, batch_first=True)
        self.pi, self.v = nn.Linear(32, 3), nn.Linear(32, 1)

    def forward(self, x, h=None):             # x [b, t, 7]
        y, h = self.gru(torch.tanh(self.enter(x)), h)
        return self.pi(y), self.v(y)[..., 0], h


def main(out, slip="", seed=1):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    gamma, n_step, per_update, updates = 0.95, 5, 12, 9
    rec = hop.Recorder(out)
    env = rec.wrap(Pantry())
    names = env.possible_agents
    minds = {a: Mind() for a in names}
    opts = {a: torch.optim.RMSprop(minds[a].parameters(), lr=1e-3) if seed % 3 == 0 else torch.optim.Adam(minds[a].parameters(), lr=2e-3)
            for a in names}
    for a in names:
        rec.learner(a, minds[a], opts[a])
    scales = {a: Scale(7) for a in names}
    env.reset(seed=seed)
    for _ in range(40):                        # to have statistics to begin with
        o, *_ = env.step({a: int(rng.integers(3)) for a in env.agents})
        for a in o:
            scales[a].add(o[a][None])
        if not env.agents:
            env.reset()
    state = {a: None for a in names}
    for u in range(updates):
        store = {a: [] for a in names}         # episodes
        for _ in range(per_update):
            obs, _ = env.reset()
            ep = {a: dict(raw=[], x=[], act=[], rew=[], done=[], val=[], logp=[], row=[], end=0.0) for a in names}
            if slip != "memory-carried-over":
                state = {a: None for a in names}
            while env.agents:
                here, acts = rec.here(env), {}
                for a in env.agents:
                    x = scales[a](obs[a])
                    with torch.no_grad():
                        logits, v, state[a] = minds[a](torch.from_numpy(x)[None, None], state[a])
                        d = torch.distributions.Categorical(logits=logits[0, 0])
                        act = d.sample()
                        if slip == "random-actions-left-in" and rng.random() < 0.125:
                            act = torch.tensor(int(rng.integers(3)))
                    rec.policy(a, logits[0, 0], d)
                    e = ep[a]
                    for k, y in (("raw", obs[a].copy()), ("x", x), ("act", int(act)), ("val", float(v)), ("logp", float(d.log_prob(act))),
                                 ("row", here[a])):
                        e[k].append(y)
                    acts[a] = int(act)
                obs, rew, term, trunc, _ = env.step(acts)
                for a in acts:
                    ep[a]["rew"].append(rew[a])
                    ep[a]["done"].append(bool(term[a] or trunc[a]))
                    if trunc[a]:
                        with torch.no_grad():
                            ep[a]["end"] = float(minds[a](torch.from_numpy(scales[a](obs[a]))[None, None], state[a])[1])
            for a in names:
                store[a].append(ep[a])
        for a in names:
            mind, scale, eps = minds[a], scales[a], store[a]
            if slip == "normaliser-goes-on":
                for e in eps:
                    scale.add(np.stack(e["raw"]))
                    e["x"] = None
                for e in eps:
                    e["x"] = list(scale(np.stack(e["raw"])))
            for e in eps:
                T = len(e["rew"])
                vals = e["val"] + [e["end"]]
                e["ret"] = []
                for t in range(T):
                    m = min(n_step, T - t)
                    e["ret"].append(sum(gamma**k * e["rew"][t + k] for k in range(m)) + gamma**m * vals[t + m])
                e["adv"] = [g - v for g, v in zip(e["ret"], e["val"])]
            first = np.concatenate([[0], np.cumsum([len(e["rew"]) for e in eps])])
            cat = {k: np.concatenate([np.asarray(e[k]) for e in eps]) for k in ("x", "act", "rew", "done", "val", "logp", "row", "ret", "adv")}

            def evaluate(which):
                lp, vs, hs = [], [], []
                for i in which:
                    logits, v, _ = mind(torch.from_numpy(np.stack(eps[i]["x"]))[None])
                    d = torch.distributions.Categorical(logits=logits[0])
                    lp.append(d.log_prob(torch.tensor(eps[i]["act"]))); vs.append(v[0]); hs.append(d.entropy())
                return torch.cat(lp), torch.cat(vs), torch.cat(hs)

            with torch.no_grad():
                new = evaluate(range(len(eps)))[0]
            rec.batch(a, indices=cat["row"], obs=cat["x"], actions=cat["act"], rewards=cat["rew"], dones=cat["done"], values=cat["val"],
                      logprobs=cat["logp"], new_logprobs=new, advantages=cat["adv"], returns=cat["ret"])
            adv = torch.as_tensor((cat["adv"] - cat["adv"].mean()) / (cat["adv"].std() + 1e-8), dtype=torch.float32)
            old, ret = torch.as_tensor(cat["logp"], dtype=torch.float32), torch.as_tensor(cat["ret"], dtype=torch.float32)
            for _ in range(3):
                for which in np.array_split(rng.permutation(len(eps)), 3):
                    idx = np.concatenate([np.arange(first[i], first[i + 1]) for i in which])
                    lp, v, h = evaluate(which)
                    ratio = (lp - old[idx]).exp()
                    loss = -torch.min(ratio * adv[idx], ratio.clamp(0.8, 1.2) * adv[idx]).mean() + 0.5 * (v - ret[idx]).pow(2).mean() \
                        - 0.01 * h.mean()
                    rec.minibatch(a, idx, advantages=adv[idx], ratios=ratio, values=v)
                    if slip != "no-zero-grad":
                        opts[a].zero_grad()
                    loss.backward()
                    opts[a].step()
            if slip != "normaliser-goes-on":
                for e in eps:
                    scale.add(np.stack(e["raw"]))
    rec.close()
