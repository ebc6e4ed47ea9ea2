"""Healthy only, and odd: the iterated matrix game, with practices that are no mistakes. The seed says which.

1: the other is a script. 2: the last short minibatch is dropped, gradients are summed over two. 3: after each update a few greedy episodes in
the same environment. 4: half of the reward is the other's, on purpose. 5: the value loss is clipped, the first minibatch of an update is all.
"""
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

import hop_marl as hop

SLIPS = {}


def main(out, slip="", seed=1):
    torch.manual_seed(seed)
    gamma, lam = 0.95, 0.95
    rec = hop.Recorder(out, horizon=10)
    env = rec.wrap(hop.parallel_env("matrix", mask="info"))
    names = list(env.possible_agents)
    learners = names[:1] if seed == 1 else names
    n_obs = env.observation_space(names[0]).shape[0]
    nets = {a: nn.ModuleDict(dict(pi=nn.Sequential(nn.Linear(n_obs, 32), nn.Tanh(), nn.Linear(32, 2)),
                                  v=nn.Sequential(nn.Linear(n_obs, 32), nn.Tanh(), nn.Linear(32, 1)))) for a in learners}
    opts = {a: torch.optim.Adam(nets[a].parameters(), lr=3e-3) for a in learners}
    for a in learners:
        rec.learner(a, nets[a], opts[a])

    def episode(store, greedy=False):
        obs, _ = env.reset()
        past = {}
        while env.agents:
            acts, here = {}, rec.here(env)
            for a in env.agents:
                if a not in nets:
                    acts[a] = past.get(names[0], 0)      # tit for tat
                    continue
                x = torch.as_tensor(obs[a])
                with torch.no_grad():
                    logits = nets[a]["pi"](x)
                    d = Categorical(logits=logits)
                    y = logits.argmax() if greedy else d.sample()
                    row = (x, int(y), float(d.log_prob(y)), float(nets[a]["v"](x)), here[a])
                if not greedy:
                    rec.policy(a, logits, d)
                    store.setdefault(a, []).append(list(row))
                acts[a] = int(y)
            past = acts
            obs, rew, term, trunc, _ = env.step(acts)
            for a in learners:
                if not greedy:
                    r = 0.5 * rew[names[0]] + 0.5 * rew[names[1]] if seed == 4 else rew[a]
                    store[a][-1] += [float(r), float(term[a] or trunc[a])]

    env.reset(seed=seed)
    for _ in range(10):
        store = {}
        for _ in range(30):
            episode(store)
        for a in learners:
            x, y, lp, v, at, r, d = zip(*store[a])
            x, y, lp, v, r, d = torch.stack(x), torch.tensor(y), torch.tensor(lp), torch.tensor(v), torch.tensor(r), torch.tensor(d)
            adv, g = torch.zeros(len(r)), 0.0
            for t in reversed(range(len(r))):            # episodes are whole: a row's next is of the same one or it is done
                nxt = 0.0 if d[t] else v[t + 1]
                g = r[t] + gamma * nxt - v[t] + (0.0 if d[t] else gamma * lam * g)
                adv[t] = g
            ret = adv + v
            net = nets[a]
            with torch.no_grad():
                new = Categorical(logits=net["pi"](x)).log_prob(y)
            rec.batch(a, indices=np.array(at), obs=x, actions=y, rewards=r, dones=d, values=v, logprobs=lp, new_logprobs=new,
                      advantages=adv, returns=ret, gamma=gamma, lam=lam)
            opts[a].zero_grad()
            for e in range(4):
                pieces = torch.randperm(len(x)).split(64)
                if seed == 2:
                    pieces = pieces[:-1]
                if seed == 5 and e == 0:
                    pieces = [torch.arange(len(x))]
                for k, i in enumerate(pieces):
                    dist = Categorical(logits=net["pi"](x[i]))
                    ratio = (dist.log_prob(y[i]) - lp[i]).exp()
                    w = (adv[i] - adv[i].mean()) / (adv[i].std() + 1e-8)
                    pl = -torch.min(w * ratio, w * ratio.clamp(0.8, 1.2)).mean()
                    now = net["v"](x[i])[:, 0]
                    vl = (now - ret[i]) ** 2
                    if seed == 5:
                        vl = torch.max(vl, (v[i] + (now - v[i]).clamp(-0.2, 0.2) - ret[i]) ** 2)
                    vl, h = vl.mean(), dist.entropy().mean()
                    total = pl + 0.5 * vl - 0.01 * h
                    rec.minibatch(a, i, advantages=w, ratios=ratio, values=now)
                    rec.loss(a, policy=pl, value=vl, entropy=h, total=total)
                    total.backward()
                    if seed != 2 or k % 2:
                        opts[a].step()
                        opts[a].zero_grad()
                opts[a].zero_grad()
            with torch.no_grad():
                rec.learnt(a, logprobs=Categorical(logits=net["pi"](x)).log_prob(y), values=net["v"](x)[:, 0])
        if seed == 3:
            for _ in range(3):
                episode({}, greedy=True)
    rec.close()
