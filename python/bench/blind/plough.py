"""Snowdrift with one network for everybody: the agent's number is appended to what it sees, one batch of all agents' rows."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import hop_marl as hop

SLIPS = {
    "reward-off-by-one": "the reward of a step is stored beside the next observation",
    "ratio-one": "the old log-probability is the new one, detached",
    "entropy-sign": "entropy is added to the loss",
    "one-minibatch": "the first minibatch again and again",
    "transposed-advantages": "advantages are flattened in another order than observations",
    "gamma-lambda-swapped": "gae(lam, gamma)",
}


class Brain(nn.Module):
    def __init__(self, n_obs, n_act):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(n_obs, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU())
        self.pi, self.v = nn.Linear(96, n_act), nn.Linear(96, 1)

    def forward(self, x, mask):
        h = self.trunk(x)
        logits = self.pi(h)
        return logits, torch.where(mask > 0, logits, torch.tensor(-1e8)), self.v(h)[..., 0]


def gae(rew, val, done, gamma, lam):          # rew, done [T, ...]; val [T+1, ...]
    adv, tail = np.zeros_like(rew), 0.0
    for t in range(len(rew) - 1, -1, -1):
        tail = rew[t] + gamma * (1 - done[t]) * val[t + 1] - val[t] + gamma * lam * (1 - done[t]) * tail
        adv[t] = tail
    return adv


def main(out, slip="", seed=1):
    torch.manual_seed(seed)
    n_agents, n_copies, T, updates, epochs, parts = 3, 3, 50 if seed % 2 else 64, 8, 4, 4
    gamma, lam = 0.99, 0.9
    rec = hop.Recorder(out, horizon=50)
    copies = [rec.wrap(hop.parallel_env("snowdrift", agents=n_agents, size=4, drifts=4)) for _ in range(n_copies)]
    names = list(copies[0].possible_agents)
    now = [c.reset(seed=100 * seed + k)[0] for k, c in enumerate(copies)]
    eye = np.eye(n_agents, dtype=np.float32)
    see = lambda o: np.stack([np.concatenate([o[a]["observation"], eye[i]]) for i, a in enumerate(names)])
    msk = lambda o: np.stack([o[a]["action_mask"] for a in names])
    n_act = int(copies[0].action_space(names[0]).n)
    brain = Brain(see(now[0]).shape[1], n_act)
    opt = torch.optim.Adam(brain.parameters(), lr=7e-4)
    rec.learner(names, brain, opt)
    prev_rew = np.zeros((n_copies, n_agents), np.float32)
    for u in range(updates):
        X, M, A, R, D, V, L, I = ([] for _ in range(8))
        for t in range(T):
            x, m = np.stack([see(o) for o in now]), np.stack([msk(o) for o in now])
            with torch.no_grad():
                raw, masked, v = brain(torch.from_numpy(x), torch.from_numpy(m))
                p = F.softmax(masked, -1)
                act = torch.multinomial(p.reshape(-1, n_act), 1).reshape(n_copies, n_agents)
                logp = F.log_softmax(masked, -1).gather(-1, act[..., None])[..., 0]
            r, d, here = np.zeros((n_copies, n_agents), np.float32), np.zeros((n_copies, n_agents), np.float32), []
            for k, c in enumerate(copies):
                here.append([rec.here(c)[a] for a in names])
                for i, a in enumerate(names):
                    rec.policy(a, raw[k, i], p[k, i], env=c)
                o, rew, term, trunc, _ = c.step({a: int(act[k, i]) for i, a in enumerate(names)})
                r[k] = [rew[a] for a in names]
                d[k] = [term[a] or trunc[a] for a in names]
                now[k] = o if c.agents else c.reset()[0]
            X.append(x); M.append(m); A.append(act.numpy()); D.append(d); V.append(v.numpy()); L.append(logp.numpy()); I.append(here)
            R.append(prev_rew.copy() if slip == "reward-off-by-one" else r)
            prev_rew = r
        X, M, A, R, D, V, L, I = (np.stack([np.asarray(y) for y in z]) for z in (X, M, A, R, D, V, L, I))
        with torch.no_grad():
            x, m = np.stack([see(o) for o in now]), np.stack([msk(o) for o in now])
            last = brain(torch.from_numpy(x), torch.from_numpy(m))[2].numpy()
        vals = np.concatenate([V, last[None]])
        adv = gae(R, vals, D, lam, gamma) if slip == "gamma-lambda-swapped" else gae(R, vals, D, gamma, lam)
        ret = adv + V
        flat = lambda z: torch.from_numpy(np.ascontiguousarray(z.reshape(-1, *z.shape[3:])))
        b_obs, b_mask, b_act, b_old, b_adv, b_ret = map(flat, (X, M, A, L, adv, ret))
        if slip == "transposed-advantages":
            b_adv = flat(adv.transpose(1, 2, 0).copy())
        with torch.no_grad():
            b_new = F.log_softmax(brain(b_obs, b_mask)[1], -1).gather(-1, b_act[:, None])[:, 0]
        rec.batch(names, indices=I.reshape(-1), actions=b_act, rewards=R.reshape(-1), dones=D.reshape(-1), values=V.reshape(-1),
                  logprobs=b_old, new_logprobs=b_new, advantages=b_adv, returns=b_ret, gamma=gamma, lam=lam)
        n = len(b_obs)
        for e in range(epochs):
            pieces = torch.randperm(n).chunk(parts)
            for idx in pieces:
                if slip == "one-minibatch":
                    idx = pieces[0] if e == 0 else first
                first = idx
                _, masked, v = brain(b_obs[idx], b_mask[idx])
                lp = F.log_softmax(masked, -1)
                new = lp.gather(-1, b_act[idx][:, None])[:, 0]
                old = new.detach() if slip == "ratio-one" else b_old[idx]
                ratio = torch.exp(new - old)
                g = b_adv[idx]
                g = (g - g.mean()) / (g.std() + 1e-6)
                surrogate = torch.minimum(ratio * g, torch.clamp(ratio, 0.8, 1.2) * g).mean()
                entropy = -(lp.exp() * lp.clamp(min=-50)).sum(-1).mean()
                value = F.mse_loss(v, b_ret[idx])
                sign = -1 if slip == "entropy-sign" else 1
                total = -surrogate + 0.25 * value - sign * 0.02 * entropy
                rec.minibatch(names, idx, advantages=g, ratios=ratio, values=v)
                rec.loss(names, policy=-surrogate, value=value, entropy=entropy, total=total)
                opt.zero_grad(set_to_none=True)
                total.backward()
                opt.step()
        with torch.no_grad():
            _, masked, v = brain(b_obs, b_mask)
            rec.learnt(names, logprobs=F.log_softmax(masked, -1).gather(-1, b_act[:, None])[:, 0], values=v)
    rec.close()
