"""Four hunters, a network each, in the manner of CleanRL: arrays [steps, copies], rows of those who left are padding."""
import numpy as np
import torch
from torch import nn

import hop_marl as hop

SLIPS = {
    "done-ignored": "advantages run over the end of an episode",
    "next-agents-rewards": "an agent learns from the next agent's rewards",
    "normalised-over-dead": "advantages are normalised over the padding too",
    "mask-only-at-acting": "log-probabilities at learning are without the mask",
    "one-learning-rate": "agent_2's rate is a hundredth",
    "dead-rows": "the padding is learnt from",
}


def layer(n_in, n_out, gain=2**0.5):
    out = nn.Linear(n_in, n_out)
    nn.init.orthogonal_(out.weight, gain)
    nn.init.zeros_(out.bias)
    return out


class Net(nn.Module):
    def __init__(self, n_obs, n_act):
        super().__init__()
        self.actor = nn.Sequential(layer(n_obs, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, n_act, 0.01))
        self.critic = nn.Sequential(layer(n_obs, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, 1, 1.0))

    def dist(self, obs, mask):
        logits = self.actor(obs)
        return logits, torch.distributions.Categorical(logits=logits.masked_fill(~mask, -1e9))

    def value(self, obs):
        return self.critic(obs).squeeze(-1)


def main(out, slip="", seed=1):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    n_copies, n_steps, n_updates, epochs, mb = 4, 72, 8, 3, 96
    gamma, lam, clip, vf, ent = 0.97, 0.95, 0.2, 0.5, 0.01
    anneal, norm = seed % 2 == 0, seed % 3 != 0
    rec = hop.Recorder(out, horizon=35)
    envs = [rec.wrap(hop.parallel_env("staghunt", mask="info")) for _ in range(n_copies)]
    names = envs[0].possible_agents
    n_obs, n_act = envs[0].observation_space(names[0]).shape[0], int(envs[0].action_space(names[0]).n)
    nets = {a: Net(n_obs, n_act) for a in names}
    opts = {a: torch.optim.Adam(nets[a].parameters(), lr=1e-3, eps=1e-5) for a in names}
    if slip == "one-learning-rate":
        opts["agent_2"] = torch.optim.Adam(nets["agent_2"].parameters(), lr=1e-5, eps=1e-5)
    base = {a: opts[a].param_groups[0]["lr"] for a in names}
    for a in names:
        rec.learner(a, nets[a], opts[a])
    cur = [env.reset(seed=seed * 1000 + k) for k, env in enumerate(envs)]
    for update in range(n_updates):
        if anneal:
            for a in names:
                opts[a].param_groups[0]["lr"] = base[a] * (1 - update / n_updates)
        buf = {a: dict(obs=torch.zeros(n_steps, n_copies, n_obs), mask=torch.ones(n_steps, n_copies, n_act, dtype=torch.bool),
                       act=torch.zeros(n_steps, n_copies, dtype=torch.long), rew=torch.zeros(n_steps, n_copies),
                       done=torch.zeros(n_steps, n_copies), val=torch.zeros(n_steps, n_copies),
                       logp=torch.zeros(n_steps, n_copies), alive=torch.zeros(n_steps, n_copies, dtype=torch.bool)) for a in names}
        for t in range(n_steps):
            for k, env in enumerate(envs):
                obs, infos = cur[k]
                actions = {}
                for a in env.agents:
                    o, m = torch.as_tensor(obs[a]), torch.as_tensor(infos[a]["action_mask"]).bool()
                    with torch.no_grad():
                        logits, dist = nets[a].dist(o, m)
                        x = dist.sample()
                        b = buf[a]
                        b["obs"][t, k], b["mask"][t, k], b["act"][t, k] = o, m, x
                        b["val"][t, k], b["logp"][t, k], b["alive"][t, k] = nets[a].value(o), dist.log_prob(x), True
                    rec.policy(a, logits, dist, env=env)
                    actions[a] = int(x)
                obs, rews, terms, truncs, infos = env.step(actions)
                for i, a in enumerate(names):
                    if a not in actions:
                        continue
                    buf[a]["rew"][t, k] = rews[a]
                    buf[a]["done"][t, k] = float(terms[a] or truncs[a])
                if slip == "next-agents-rewards":
                    for i, a in enumerate(names):
                        buf[a]["rew"][t, k] = rews.get(names[(i + 1) % len(names)], 0.0)
                cur[k] = (obs, infos) if env.agents else env.reset(seed=int(rng.integers(1 << 30)))
        for a in names:
            b, net = buf[a], nets[a]
            with torch.no_grad():
                last = torch.zeros(n_copies)
                for k, env in enumerate(envs):
                    if a in env.agents:
                        last[k] = net.value(torch.as_tensor(cur[k][0][a]))
                adv, run = torch.zeros(n_steps, n_copies), torch.zeros(n_copies)
                for t in reversed(range(n_steps)):
                    nextv = last if t == n_steps - 1 else b["val"][t + 1]
                    on = torch.ones(n_copies) if slip == "done-ignored" else 1 - b["done"][t]
                    run = b["rew"][t] + gamma * on * nextv - b["val"][t] + gamma * lam * on * run
                    if slip != "dead-rows":
                        run = run * b["alive"][t]
                    adv[t] = run
                ret = adv + b["val"]
            keep = torch.ones_like(b["alive"]).flatten() if slip == "dead-rows" else b["alive"].flatten()
            f = {n: v.flatten(0, 1)[keep] for n, v in b.items()}
            f_adv, f_ret = adv.flatten()[keep], ret.flatten()[keep]
            learn_mask = torch.ones_like(f["mask"]) if slip == "mask-only-at-acting" else f["mask"]
            with torch.no_grad():
                new = net.dist(f["obs"], learn_mask)[1].log_prob(f["act"])
            rec.batch(a, obs=f["obs"], actions=f["act"], rewards=f["rew"], dones=f["done"], values=f["val"], logprobs=f["logp"],
                      new_logprobs=new, advantages=f_adv, returns=f_ret, gamma=gamma, lam=lam)
            mean_all, std_all = adv.mean(), adv.std()
            n = len(f_adv)
            for _ in range(epochs):
                order = torch.randperm(n)
                for start in range(0, n, mb):
                    idx = order[start:start + mb]
                    if len(idx) < 2:
                        continue
                    _, dist = net.dist(f["obs"][idx], learn_mask[idx])
                    ratio = (dist.log_prob(f["act"][idx]) - f["logp"][idx]).exp()
                    g = f_adv[idx]
                    if slip == "normalised-over-dead":
                        g = (g - mean_all) / (std_all + 1e-8)
                    elif norm:
                        g = (g - g.mean()) / (g.std() + 1e-8)
                    pl = -torch.min(ratio * g, ratio.clamp(1 - clip, 1 + clip) * g).mean()
                    v = net.value(f["obs"][idx])
                    vl = 0.5 * ((v - f_ret[idx]) ** 2).mean()
                    h = dist.entropy().mean()
                    loss = pl + vf * vl - ent * h
                    rec.minibatch(a, idx, advantages=g, ratios=ratio, values=v)
                    rec.loss(a, policy=pl, value=vl, entropy=h, total=loss)
                    opts[a].zero_grad()
                    loss.backward()
                    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
                    opts[a].step()
            with torch.no_grad():
                rec.learnt(a, logprobs=net.dist(f["obs"], learn_mask)[1].log_prob(f["act"]), values=net.value(f["obs"]))
    rec.close()
