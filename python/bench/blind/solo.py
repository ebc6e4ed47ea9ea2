"""One agent of Gymnasium: CartPole cut at 40 steps, eight copies, the reset a step of its own (NEXT_STEP)."""
import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

import hop_marl as hop

SLIPS = {
    "truncation-as-termination": "no value after a cut",
    "value-broadcast": "[n, 1] minus [n] in the value loss",
    "reset-rows": "the rows in which the copy only resets are learnt from",
    "no-last-value": "the value after the last step of a rollout is taken as 0",
}


def main(out, slip="", seed=1):
    torch.manual_seed(seed)
    K, T, gamma, lam = 8, 64, 0.98, 0.95
    rec = hop.Recorder(out)
    envs = rec.wrap(gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1", max_episode_steps=40)] * K))
    policy = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
    critic = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
    both = nn.ModuleList([policy, critic])
    opt = torch.optim.AdamW(both.parameters(), lr=1e-3) if seed % 2 else torch.optim.Adam(both.parameters(), lr=3e-3)
    rec.learner("agent_0", both, opt)
    obs, _ = envs.reset(seed=seed)
    fresh = np.zeros(K, bool)                 # the last step ended an episode: this one only resets
    for _ in range(9):
        O, A, L, R, Te, Do, Fr = [], [], [], [], [], [], []
        for _ in range(T):
            x = torch.as_tensor(obs, dtype=torch.float32)
            with torch.no_grad():
                pi = Categorical(logits=policy(x))
                a = pi.sample()
            O.append(x.clone()); A.append(a); L.append(pi.log_prob(a)); Fr.append(torch.as_tensor(fresh.copy()))
            obs, r, term, trunc, _ = envs.step(a.numpy())
            R.append(torch.as_tensor(r, dtype=torch.float32)); Te.append(torch.as_tensor(term).float())
            Do.append(torch.as_tensor(term | trunc).float())
            fresh = term | trunc
        O, A, L, R, Te, Do, Fr = map(torch.stack, (O, A, L, R, Te, Do, Fr))
        with torch.no_grad():
            V = critic(torch.cat([O, torch.as_tensor(obs, dtype=torch.float32)[None]])).squeeze(-1)
        if slip == "no-last-value":
            V[-1] = 0
        stop = Do if slip == "truncation-as-termination" else Te
        adv = torch.zeros(T, K)
        g = torch.zeros(K)
        for t in range(T - 1, -1, -1):
            g = R[t] + gamma * (1 - stop[t]) * V[t + 1] - V[t] + gamma * lam * (1 - Do[t]) * g
            adv[t] = g
        ret = adv + V[:-1]
        use = torch.ones(T * K, dtype=torch.bool) if slip == "reset-rows" else ~Fr.flatten()
        o, a, l, gg, rr, vv = O.flatten(0, 1)[use], A.flatten()[use], L.flatten()[use], adv.flatten()[use], ret.flatten()[use], \
            V[:-1].flatten()[use]
        rec.batch("agent_0", obs=o, actions=a, rewards=R.flatten()[use], dones=Do.flatten()[use], values=vv, logprobs=l,
                  advantages=gg, returns=rr, gamma=gamma, lam=lam)
        gn = (gg - gg.mean()) / gg.std()
        for _ in range(4):
            for idx in torch.randperm(len(o)).split(128):
                pi = Categorical(logits=policy(o[idx]))
                ratio = torch.exp(pi.log_prob(a[idx]) - l[idx])
                lp = torch.max(-gn[idx] * ratio, -gn[idx] * ratio.clamp(0.8, 1.2)).mean()
                pred = critic(o[idx])
                lv = ((pred - rr[idx]) ** 2).mean() if slip == "value-broadcast" else ((pred[:, 0] - rr[idx]) ** 2).mean()
                total = lp + 0.5 * lv - 0.005 * pi.entropy().mean()
                rec.minibatch("agent_0", idx, advantages=gn[idx], ratios=ratio, values=pred)
                rec.loss(policy=lp, value=lv, entropy=pi.entropy().mean(), total=total)
                opt.zero_grad()
                total.backward()
                nn.utils.clip_grad_norm_(both.parameters(), 1.0)
                opt.step()
    envs.close()
    rec.close()
