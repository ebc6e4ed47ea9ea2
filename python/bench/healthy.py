"""How many healthy PyTorch loops `hop audit --trajectories` accuses: none, one hopes.

    python python/bench/healthy.py [--runs 60] [--first 0] [--keep DIR]

Each run draws its own habits: seeds, sizes, numbers of agents, masks, copies, minibatches, clipped
values, how advantages are normalised, one or two optimisers and which, a memory (GRU), a network that
is shared on purpose, scaled rewards. One in ten is a single agent in a vector of CartPoles, and one
in ten is Stable-Baselines3 with its callback. Nothing in them is wrong. Prints a line a run, and one
JSON object: how many were accused, of what. Needs torch, gymnasium and stable-baselines3.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests"))
from torch_ppo import ACTIONS, StagHunt

import hop_marl as hop
from hop_marl._binary import binary

CHOICES = {
    "hunters": (2, 3, 4, 5),
    "size": (3, 4, 5, 6),
    "limit": (12, 20, 30),
    "copies": (1, 4, 8),
    "steps": (16, 32),
    "masks": (True, False),
    "memory": (False, False, True),
    "minibatches": (1, 2, 4),
    "epochs": (2, 4),
    "normalise": ("minibatch", "batch", "none"),
    "clip_value": (True, False),
    "optimisers": ("one", "two"),
    "kind": ("adam", "adamw", "rmsprop"),
    "shared": (False, False, False, True),
    "lr": (3e-4, 1e-3, 3e-3),
    "gamma": (0.9, 0.99, 1.0),
    "lam": (0.0, 0.95, 1.0),
    "entropy": (0.0, 0.01, 0.05),
    "reward": (1.0, 0.1),
    "hidden": (16, 64),
    "activation": ("tanh", "relu"),
    "ratios": (True, False),
    "loss": (True, False),
}


class Open(StagHunt):
    """The hunt without masks: a hunt where nothing is to be caught does nothing."""

    def _masks(self, who: list[str]) -> dict:
        return {a: {} for a in who}


class Net(nn.Module):
    """A trunk, a memory where one is wanted, and two heads."""

    def __init__(self, inputs: int, actions: int, c: dict):
        super().__init__()
        act = {"tanh": nn.Tanh, "relu": nn.ReLU}[c["activation"]]
        self.trunk = nn.Sequential(nn.Linear(inputs, c["hidden"]), act(), nn.Linear(c["hidden"], c["hidden"]), act())
        self.memory = nn.GRUCell(c["hidden"], c["hidden"]) if c["memory"] else None
        self.actor, self.critic = nn.Linear(c["hidden"], actions), nn.Linear(c["hidden"], 1)

    def forward(self, x: torch.Tensor, h: torch.Tensor | None = None):
        y = self.trunk(x)
        if self.memory is not None:
            y = h = self.memory(y, h)
        return self.actor(y), self.critic(y).squeeze(-1), h


def optimisers(net: Net, c: dict) -> list[tuple[nn.Module, torch.optim.Optimizer]]:
    """The parts of a network, each with its optimiser."""
    make = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "rmsprop": torch.optim.RMSprop}[c["kind"]]
    if c["optimisers"] == "one":
        return [(net, make(net.parameters(), lr=c["lr"]))]
    rest = nn.ModuleList([m for name, m in net.named_children() if name != "critic"])
    return [(rest, make(rest.parameters(), lr=c["lr"])), (net.critic, make(net.critic.parameters(), lr=min(3 * c["lr"], 3e-3)))]  # values diverge by more


def hunt(path: str, seed: int, c: dict, updates: int = 5) -> None:
    """Independent or shared PPO on the stag hunt, as the choices say."""
    torch.manual_seed(seed)
    rec = hop.Recorder(path)
    envs = [rec.wrap((StagHunt if c["masks"] else Open)(c["hunters"], c["size"], c["limit"])) for _ in range(c["copies"])]
    names, T, N = envs[0].possible_agents, c["steps"], len(envs)
    now = [env.reset(seed=100 * seed + n) for n, env in enumerate(envs)]
    width = len(now[0][0][names[0]])
    first = Net(width, ACTIONS, c)
    nets = {a: first if c["shared"] else Net(width, ACTIONS, c) for a in names}
    opts = {}
    for a in names[:1] if c["shared"] else names:
        opts[a] = optimisers(nets[a], c)
        for module, opt in opts[a]:
            rec.learner(names if c["shared"] else a, module, opt)
    carry = {a: torch.zeros(N, c["hidden"]) for a in names}
    for _ in range(updates):
        play = {a: [] for a in names}  # step, copy, obs, mask, action, logp, value, row; then reward, over, what follows is worth
        began = {a: carry[a].clone() for a in names}
        for t in range(T):
            acts: list[dict] = [{} for _ in envs]
            for a in names:
                here = [n for n, env in enumerate(envs) if a in env.agents]
                if not here:
                    continue
                obs = torch.as_tensor(np.stack([now[n][0][a] for n in here]))
                mask = torch.ones(len(here), ACTIONS, dtype=torch.bool)
                if c["masks"]:
                    mask = torch.as_tensor(np.stack([now[n][1][a]["action_mask"] for n in here])).bool()
                with torch.no_grad():
                    logits, value, h = nets[a](obs, carry[a][here])
                    dist = Categorical(logits=logits.masked_fill(~mask, -1e9))
                k = dist.sample()
                logp = dist.log_prob(k)
                if h is not None:
                    carry[a][here] = h
                for i, n in enumerate(here):
                    rec.policy(a, logits[i], dist.probs[i], env=envs[n])
                    play[a].append([t, n, obs[i], mask[i], k[i], logp[i], value[i], rec.here(envs[n])[a]])
                    acts[n][a] = int(k[i])
            stepped: dict = {a: [] for a in names}
            for n, env in enumerate(envs):
                obs, rewards, ends, cuts, infos = env.step(acts[n])
                for a in acts[n]:
                    stepped[a].append((n, torch.as_tensor(obs[a]), c["reward"] * rewards[a], ends[a], ends[a] or cuts[a]))
                now[n] = env.reset() if not env.agents else (obs, infos)
            for a, those in stepped.items():
                if not those:
                    continue
                at = [n for n, *_ in those]
                with torch.no_grad():
                    after = nets[a](torch.stack([x for _, x, *_ in those]), carry[a][at])[1]
                for (n, _, paid, end, over), v, row in zip(those, after, play[a][-len(those) :]):
                    row += [paid, float(over), torch.zeros(()) if end else v]
                    if over:
                        carry[a][n] = 0
        for a in opts:
            learn(rec, a, names if c["shared"] else [a], play, began, nets[a], opts[a], c)
    rec.close()


def learn(rec, a, who, play, began, net, opts, c) -> None:
    """An update of one network, from the rows of those who share it."""
    rows, adv = [], []
    for b in who:
        for n in range(c["copies"]):
            mine = [r for r in play[b] if r[1] == n]
            last, out = 0.0, []
            for i in reversed(range(len(mine))):
                *_, reward, over, after = mine[i]
                delta = reward + c["gamma"] * float(after) - float(mine[i][6])
                last = delta + c["gamma"] * c["lam"] * (1 - over) * (last if i + 1 < len(mine) else 0.0)
                out.append(last)
            rows += [(b, r) for r in mine]
            adv += out[::-1]
    if not rows:
        return
    obs, mask = torch.stack([r[2] for _, r in rows]), torch.stack([r[3] for _, r in rows])
    act, logp, value = (torch.stack([r[k] for _, r in rows]) for k in (4, 5, 6))
    adv = torch.tensor(adv)
    ret = adv + value

    lives: dict = {}  # with a memory: the rows of an agent in a copy, in their order
    for i, (b, r) in enumerate(rows):
        lives.setdefault((b, r[1]), []).append(i)
    lives = list(lives.values())

    def run(idx):
        """Log-probabilities, entropies and values of rows; with a memory all are gone through in order."""
        if net.memory is None:
            logits, v, _ = net(obs[idx])
            d = Categorical(logits=logits.masked_fill(~mask[idx], -1e9))
            return d.log_prob(act[idx]), d.entropy(), v
        at = torch.stack([began[rows[g[0]][0]][rows[g[0]][1][1]] for g in lives])
        place, logits, v = [], [], []
        for t in range(max(map(len, lives))):
            here = [k for k, g in enumerate(lives) if len(g) > t]
            now = [lives[k][t] for k in here]
            going = torch.tensor([t == 0 or not rows[lives[k][t - 1]][1][9] for k in here])
            x, y, h = net(obs[now], at[here] * going[:, None])
            at = at.clone()
            at[here] = h
            place += now
            logits.append(x)
            v.append(y)
        order = torch.tensor(place).argsort()[idx]
        d = Categorical(logits=torch.cat(logits)[order].masked_fill(~mask[idx], -1e9))
        return d.log_prob(act[idx]), d.entropy(), torch.cat(v)[order]

    whole = torch.arange(len(rows))
    with torch.no_grad():
        new = run(whole)[0]
    rec.batch(who if len(who) > 1 else a, indices=[r[7] for _, r in rows], obs=obs, actions=act, rewards=[r[8] for _, r in rows],
              dones=[r[9] for _, r in rows], values=value, logprobs=logp, new_logprobs=new, advantages=adv, returns=ret,
              gamma=c["gamma"], lam=c["lam"])
    name = who if len(who) > 1 else a
    scaled = (adv - adv.mean()) / (adv.std() + 1e-8) if c["normalise"] == "batch" and len(adv) > 1 else adv
    for _ in range(c["epochs"]):
        for mb in torch.randperm(len(rows)).chunk(min(c["minibatches"], len(rows))):
            now, ent, v = run(mb)
            ratio, part = (now - logp[mb]).exp(), scaled[mb]
            if c["normalise"] == "minibatch" and len(part) > 1:
                part = (part - part.mean()) / (part.std() + 1e-8)
            rec.minibatch(name, mb, advantages=part, values=v, **({"ratios": ratio} if c["ratios"] else {}))
            pg = torch.max(-part * ratio, -part * ratio.clamp(0.8, 1.2)).mean()
            vl = 0.5 * (v - ret[mb]) ** 2
            if c["clip_value"]:
                held = value[mb] + (v - value[mb]).clamp(-0.2, 0.2)
                vl = torch.max(vl, 0.5 * (held - ret[mb]) ** 2)
            total = pg + 0.5 * vl.mean() - c["entropy"] * ent.mean()
            if c["loss"]:
                rec.loss(name, policy=pg, value=vl.mean(), entropy=ent.mean(), total=total)
            for _, opt in opts:
                opt.zero_grad()
            total.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            for _, opt in opts:
                opt.step()
    with torch.no_grad():
        after = run(whole)
    rec.learnt(name, logprobs=after[0], values=after[2])


def poles(path: str, seed: int, c: dict) -> None:
    """CleanRL's loop for one agent in a vector of CartPoles (autoreset by the next step)."""
    import gymnasium as gym

    torch.manual_seed(seed)
    c = {**c, "memory": False}
    rec = hop.Recorder(path)
    T, N = c["steps"], max(2, c["copies"])
    envs = rec.wrap(gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1") for _ in range(N)]))
    obs, _ = envs.reset(seed=seed)
    net = Net(4, 2, c)
    (module, opt), *more = optimisers(net, {**c, "optimisers": "one"})
    rec.learner("agent_0", module, opt)
    before = np.zeros(N)
    for _ in range(6):
        data = {k: [] for k in ("obs", "act", "logp", "value", "reward", "done", "after", "on")}
        for _ in range(T):
            x = torch.as_tensor(obs)
            with torch.no_grad():
                logits, value, _ = net(x)
                dist = Categorical(logits=logits)
                act = dist.sample()
            new, reward, term, trunc, _ = envs.step(act.numpy())
            with torch.no_grad():
                after = net(torch.as_tensor(new))[1] * torch.as_tensor(~term)
            for k, y in zip(data, (x, act, dist.log_prob(act), value, torch.as_tensor(reward, dtype=torch.float32),
                                   torch.as_tensor(term | trunc), after, torch.as_tensor(before == 0))):
                data[k].append(y)
            obs, before = new, (term | trunc).astype(float)
        d = {k: torch.stack(v) for k, v in data.items()}
        adv, last = torch.zeros(T, N), torch.zeros(N)
        for t in reversed(range(T)):
            delta = d["reward"][t] + c["gamma"] * d["after"][t] - d["value"][t]
            last = adv[t] = delta + c["gamma"] * c["lam"] * ~d["done"][t] * last
        k = d["on"]  # the step after an end only resets
        b = {key: x[k] for key, x in d.items()}
        b_adv = adv[k]
        ret = b_adv + b["value"]
        rec.batch("agent_0", obs=b["obs"], actions=b["act"], rewards=b["reward"], dones=b["done"], values=b["value"],
                  logprobs=b["logp"], advantages=b_adv, returns=ret, gamma=c["gamma"], lam=c["lam"])
        for _ in range(c["epochs"]):
            for mb in torch.randperm(len(b_adv)).chunk(c["minibatches"]):
                logits, v, _ = net(b["obs"][mb])
                dist = Categorical(logits=logits)
                ratio, part = (dist.log_prob(b["act"][mb]) - b["logp"][mb]).exp(), b_adv[mb]
                part = (part - part.mean()) / (part.std() + 1e-8)
                pg = torch.max(-part * ratio, -part * ratio.clamp(0.8, 1.2)).mean()
                total = pg + 0.25 * ((v - ret[mb]) ** 2).mean() - 0.01 * dist.entropy().mean()
                rec.minibatch("agent_0", mb, advantages=part, ratios=ratio, values=v)
                opt.zero_grad()
                total.backward()
                opt.step()
    rec.close()


def baselines(path: str, seed: int, c: dict) -> None:
    """Stable-Baselines3's own PPO with the callback."""
    from stable_baselines3 import PPO
    from hop_marl.sb3 import RecorderCallback

    model = PPO("MlpPolicy", "CartPole-v1", seed=seed, n_steps=c["steps"] * 4, batch_size=64, gamma=c["gamma"], gae_lambda=c["lam"],
                learning_rate=c["lr"], ent_coef=c["entropy"], device="cpu")
    model.learn(c["steps"] * 4 * 4, callback=RecorderCallback(path))


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--runs", type=int, default=60)
    ask.add_argument("--first", type=int, default=0)
    ask.add_argument("--keep", help="keep the recordings in this folder")
    args = ask.parse_args()
    torch.set_num_threads(1)
    accused = {}
    with tempfile.TemporaryDirectory() as folder:
        for i in range(args.first, args.first + args.runs):
            draw = random.Random(i)
            c = {k: draw.choice(v) for k, v in CHOICES.items()}
            how = {8: poles, 9: baselines}.get(i % 10, hunt)
            path = os.path.join(os.path.abspath(args.keep or folder), f"{i}.npz")
            how(path, i, c)
            done = subprocess.run([binary(), "audit", "--trajectories", path, "--json"], capture_output=True, text=True, cwd=folder)
            found = json.loads(done.stdout)["findings"] if done.stdout else [{"check": done.stderr, "status": "fault"}]
            bad = [f"{f['status']} {f['check']}: {f.get('says')}" for f in found
                   if f.get("status") in ("fault", "suspect")]
            if bad:
                accused[i] = {"habits": c, "of": bad}
            print(i, how.__name__, "ok" if not bad else bad, file=sys.stderr, flush=True)
    print(json.dumps({"runs": args.runs, "accused": len(accused), "which": accused}, indent=1))


if __name__ == "__main__":
    main()
