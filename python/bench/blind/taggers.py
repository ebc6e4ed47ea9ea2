"""Tag, after Spinning Up: whole batches, a loop for the policy that stops at a KL, a loop for values, rewards scaled by a running deviation."""
import numpy as np
import torch
from torch import nn

import hop_marl as hop

SLIPS = {
    "policy-loss-sign": "the surrogate is minimised",
    "same-episode": "every episode is reset with the same seed",
    "rate-annealed-away": "the rate's schedule counts updates where it should count a fraction of them: zero after the first",
    "dropout": "dropout is active at acting and at learning",
}


def mlp(*sizes, drop=0.0):
    parts = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        parts += [nn.Linear(a, b)] + ([nn.Tanh(), nn.Dropout(drop)] if i < len(sizes) - 2 else [])
    return nn.Sequential(*parts)


class Path:
    """What one agent did since its last end; finish() makes advantages of it."""
    keys = ("obs", "mask", "act", "rew", "val", "logp", "done")

    def __init__(self):
        self.open = {k: [] for k in self.keys}
        self.shut = {k: [] for k in (*self.keys, "adv", "ret")}

    def add(self, **row):
        for k, v in row.items():
            self.open[k].append(v)

    def finish(self, end, gamma, lam):
        if not self.open["rew"]:
            return
        r, v = np.array(self.open["rew"] + [end]), np.array(self.open["val"] + [end])
        delta = r[:-1] + gamma * v[1:] - v[:-1]
        adv, g = np.zeros_like(delta), 0.0
        for t in reversed(range(len(delta))):
            g = delta[t] + gamma * lam * g
            adv[t] = g
        for k in self.keys:
            self.shut[k] += self.open[k]
        self.shut["adv"] += list(adv)
        self.shut["ret"] += list(adv + v[:-1])
        self.open = {k: [] for k in self.keys}


def main(out, slip="", seed=1):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    gamma, lam, updates, steps = 0.97, 0.92, 7, 300
    rec = hop.Recorder(out, horizon=40)
    env = rec.wrap(hop.parallel_env("tag", size=5, horizon=40))
    names = env.possible_agents
    obs, _ = env.reset(seed=seed)
    n_obs, n_act = obs[names[0]]["observation"].shape[0], len(obs[names[0]]["action_mask"])
    pis = {a: mlp(n_obs, 48, 48, n_act, drop=0.2 if slip == "dropout" else 0.0) for a in names}
    vs = {a: mlp(n_obs, 48, 48, 1) for a in names}
    pi_opt = {a: torch.optim.Adam(pis[a].parameters(), lr=6e-4) for a in names}
    v_opt = {a: torch.optim.Adam(vs[a].parameters(), lr=1e-3) for a in names}
    for a in names:
        rec.learner(a, pis[a], pi_opt[a])
        rec.learner(a, vs[a], v_opt[a])
    run = {a: 0.0 for a in names}
    count, mean, m2 = 1e-2, 0.0, 1e-2           # of discounted returns, for the scale of rewards
    fixed = seed % 2 == 0                       # or a plain factor
    for u in range(updates):
        rate = 1 - u if slip == "rate-annealed-away" else 1 - u / updates
        for a in names:
            pi_opt[a].param_groups[0]["lr"] = 6e-4 * max(rate, 0.0)
            v_opt[a].param_groups[0]["lr"] = 1e-3 * max(rate, 0.0)
        paths = {a: Path() for a in names}
        for _ in range(steps):
            acts, rows = {}, {}
            for a in env.agents:
                x, m = torch.as_tensor(obs[a]["observation"]), torch.as_tensor(obs[a]["action_mask"]).bool()
                with torch.no_grad():
                    d = torch.distributions.Categorical(logits=pis[a](x).masked_fill(~m, float("-inf")))
                    y = d.sample()
                    rows[a] = dict(obs=x, mask=m, act=int(y), val=float(vs[a](x)), logp=float(d.log_prob(y)))
                acts[a] = int(y)
            obs, rews, terms, truncs, _ = env.step(acts)
            for a in acts:
                run[a] = gamma * run[a] + rews[a]
                count += 1
                d = run[a] - mean
                mean += d / count
                m2 += d * (run[a] - mean)
                scaled = rews[a] * 2.0 if fixed else float(np.clip(rews[a] / np.sqrt(m2 / count + 1e-8), -10, 10))
                end = terms[a] or truncs[a]
                paths[a].add(**rows[a], rew=scaled, done=float(end))
                if end:
                    run[a] = 0.0
                    last = 0.0 if terms[a] else float(vs[a](torch.as_tensor(obs[a]["observation"])).detach())
                    paths[a].finish(last, gamma, lam)
            if not env.agents:
                obs, _ = env.reset(seed=seed if slip == "same-episode" else int(rng.integers(1 << 30)))
        for a in names:
            last = float(vs[a](torch.as_tensor(obs[a]["observation"])).detach()) if a in env.agents else 0.0
            paths[a].finish(last, gamma, lam)
            b = paths[a].shut
            o, m, act = torch.stack(b["obs"]), torch.stack(b["mask"]), torch.tensor(b["act"])
            old, adv, ret = (torch.tensor(b[k], dtype=torch.float32) for k in ("logp", "adv", "ret"))
            logp = lambda: torch.log_softmax(pis[a](o).masked_fill(~m, -1e9), -1).gather(1, act[:, None])[:, 0]
            with torch.no_grad():
                new = logp()
            rec.batch(a, obs=o, actions=act, rewards=b["rew"], dones=b["done"], values=b["val"], logprobs=old, new_logprobs=new,
                      advantages=adv, returns=ret, gamma=gamma, lam=lam)
            w = (adv - adv.mean()) / (adv.std() + 1e-8)
            for _ in range(12):
                lp = logp()
                if float((old - lp).mean().detach()) > 0.03:
                    break
                ratio = (lp - old).exp()
                loss = -torch.min(ratio * w, ratio.clamp(0.8, 1.2) * w).mean()
                if slip == "policy-loss-sign":
                    loss = -loss
                rec.minibatch(a, advantages=w, ratios=ratio)
                rec.loss(a, policy=loss)
                pi_opt[a].zero_grad()
                loss.backward()
                pi_opt[a].step()
            for _ in range(12):
                v_opt[a].zero_grad()
                (vs[a](o)[:, 0] - ret).pow(2).mean().backward()
                v_opt[a].step()
            with torch.no_grad():
                rec.learnt(a, logprobs=logp(), values=vs[a](o)[:, 0])
    rec.close()
