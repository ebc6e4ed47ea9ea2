"""The coin game on hop's vector of copies, flat; actor and critic of each agent have an optimiser each."""
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

import hop_marl as hop

SLIPS = {
    "half-of-the-parameters": "the actor's optimiser does not hold its last layer",
    "returns-of-normalised": "advantages are normalised before returns are made of them",
    "observations-not-copied": "the buffer holds one tensor many times, which every step fills anew",
    "one-network-by-mistake": "[Actor()] * 2",
}


class Actor(nn.Module):
    def __init__(self, n, m):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n, 64), nn.ELU(), nn.Linear(64, 64), nn.ELU())
        self.head = nn.Linear(64, m)

    def forward(self, x, mask):
        return Categorical(logits=self.head(self.body(x)) + (mask.float() - 1) * 1e9)


def main(out, slip="", seed=1):
    torch.manual_seed(seed)
    copies, n, T, gamma, lam = 6, 2, 75, 0.96, 0.9
    rec = hop.Recorder(out, horizon=50)
    envs = rec.wrap(hop.vec_env("coin", num_envs=copies, flat=True, size=3, horizon=50))
    obs, infos = envs.reset(seed=seed)
    n_obs, n_act = obs.shape[1], infos["action_mask"].shape[1]
    names = [f"agent_{i}" for i in range(n)]
    critic_of = lambda: nn.Sequential(nn.Linear(n_obs, 64), nn.ELU(), nn.Linear(64, 1), nn.Flatten(0))
    actors = [Actor(n_obs, n_act)] * n if slip == "one-network-by-mistake" else [Actor(n_obs, n_act) for _ in range(n)]
    critics = [critic_of()] * n if slip == "one-network-by-mistake" else [critic_of() for _ in range(n)]
    held = [list((a.body if slip == "half-of-the-parameters" else a).parameters()) for a in actors]
    pi_opts = [torch.optim.Adam(h, lr=1e-3) for h in held]
    v_opts = [torch.optim.Adam(c.parameters(), lr=2e-3) for c in critics]
    for i, a in enumerate(names):
        rec.learner(a, actors[i], pi_opts[i])
        rec.learner(a, critics[i], v_opts[i])
    seen = torch.zeros(copies * n, n_obs)
    for _ in range(8):
        O, M, A, L, R, D, Y = [], [], [], [], [], [], []
        for _ in range(T):
            seen.copy_(torch.from_numpy(obs))
            O.append(seen if slip == "observations-not-copied" else seen.clone())
            M.append(torch.from_numpy(np.copy(infos["action_mask"])))
            Y.append(np.copy(infos["alive"]).astype(bool))
            act, lp = np.zeros(copies * n, np.int64), np.zeros(copies * n, np.float32)
            with torch.no_grad():
                for i in range(n):             # env k*n+i is agent i of copy k
                    d = actors[i](torch.from_numpy(np.copy(obs[i::n])), M[-1][i::n])
                    x = d.sample()
                    act[i::n], lp[i::n] = x, d.log_prob(x)
            obs, r, te, tr, infos = envs.step(act)
            A.append(act); L.append(lp); R.append(np.copy(r)); D.append(np.copy(te | tr))
        last = torch.from_numpy(np.copy(obs))
        for i, a in enumerate(names):
            o = torch.stack([x[i::n].clone() for x in O])
            m, al = torch.stack([x[i::n] for x in M]), torch.as_tensor(np.stack([y[i::n] for y in Y]))
            ac, lo, re, do = (torch.as_tensor(np.stack([x[i::n] for x in z])) for z in (A, L, R, D))
            re, do = re.float(), do.float()
            with torch.no_grad():
                v = critics[i](torch.cat([o, last[i::n][None]]).reshape(-1, n_obs)).reshape(T + 1, copies)
            adv, g = torch.zeros(T, copies), torch.zeros(copies)
            for t in reversed(range(T)):
                g = re[t] + gamma * (1 - do[t]) * v[t + 1] - v[t] + gamma * lam * (1 - do[t]) * g
                adv[t] = g
            use = al.flatten()
            f = lambda z: z.flatten(0, 1)[use]
            fo, fm, fa, fl, fr, fd, fv, fadv = map(f, (o, m, ac, lo, re, do, v[:-1], adv))
            norm = (fadv - fadv.mean()) / (fadv.std() + 1e-8)
            ret = (norm if slip == "returns-of-normalised" else fadv) + fv
            with torch.no_grad():
                new = actors[i](fo, fm).log_prob(fa)
            rec.batch(a, obs=fo, actions=fa, rewards=fr, dones=fd, values=fv, logprobs=fl, new_logprobs=new, advantages=fadv, returns=ret,
                      gamma=gamma, lam=lam)
            for _ in range(4):
                for idx in torch.randperm(len(fo)).split(150):
                    d = actors[i](fo[idx], fm[idx])
                    ratio = (d.log_prob(fa[idx]) - fl[idx]).exp()
                    w = norm[idx]
                    pl = -torch.min(ratio * w, ratio.clamp(0.85, 1.15) * w).mean()
                    h = d.entropy().mean()
                    pv = critics[i](fo[idx])
                    vl = nn.functional.smooth_l1_loss(pv, ret[idx]) if seed % 2 == 0 else nn.functional.mse_loss(pv, ret[idx])
                    rec.minibatch(a, idx, advantages=w, ratios=ratio, values=pv)
                    rec.loss(a, policy=pl, value=vl, entropy=h)
                    pi_opts[i].zero_grad(); v_opts[i].zero_grad()
                    (pl - 0.02 * h).backward()
                    vl.backward()
                    pi_opts[i].step(); v_opts[i].step()
            with torch.no_grad():
                rec.learnt(a, logprobs=actors[i](fo, fm).log_prob(fa), values=critics[i](fo))
    envs.close()
    rec.close()
