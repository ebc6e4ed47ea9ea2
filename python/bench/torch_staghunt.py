"""The same PPO in PyTorch, the way of CleanRL, on hop.vec_env, against `hop train ppo-4x4`.

    python python/bench/torch_staghunt.py [--seeds 3] [--threads 1]

Four independent networks of two layers of 64, 128 copies of the 4x4 stag hunt, windows of 32
steps, four epochs of minibatches of 512 alive rows, Adam at 1e-3: the settings of the preset.
PyTorch reads the raw observation, and so does hop with actor.frame=board; the preset itself reads
its ego frame, which learns from fewer steps. All run until the mean return of the last 1,000 episodes reaches 2.8; what counts is the wall
clock of the training alone, without start-up, scoring and report. One after the other on the
same machine.
"""

from __future__ import annotations

import argparse
import collections
import csv
import json
import pathlib
import subprocess
import tempfile
import time

import numpy as np
import torch
from torch import nn

import hop_marl as hop
from hop_marl._binary import binary

ENVS, WINDOW, EPOCHS, MINIBATCH = 128, 32, 4, 512
GAMMA, LAMBDA, CLIP, ENTROPY, VALUE, MAX_GRAD, RATE, SCALE = 0.99, 0.95, 0.2, 0.01, 0.5, 0.5, 1e-3, 0.2
GOAL, LAST = 2.8, 1000


class Brain(nn.Module):
    """One agent's policy and value."""

    def __init__(self, inputs: int, actions: int):
        super().__init__()
        self.body = nn.Sequential(layer(inputs, 64), nn.ReLU(), layer(64, 64), nn.ReLU())
        self.policy, self.value = layer(64, actions, 0.01), layer(64, 1, 1.0)

    def forward(self, obs: torch.Tensor, legal: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-probabilities of the legal actions, and the value."""
        x = self.body(obs)
        logits = self.policy(x).masked_fill(~legal, -1e9)
        return torch.log_softmax(logits, -1), self.value(x).squeeze(-1)


def layer(inputs: int, outputs: int, gain: float = 2**0.5) -> nn.Linear:
    """A layer with the starting weights of CleanRL."""
    x = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(x.weight, gain)
    nn.init.zeros_(x.bias)
    return x


def train(seed: int, most: int = 4_000_000) -> dict:
    """Trains until the goal is reached; returns steps and seconds."""
    torch.manual_seed(seed)
    env = hop.vec_env("staghunt", num_envs=ENVS)
    obs, info = env.reset(seed=seed)
    agents, width = obs.shape[1], obs.shape[2]
    actions = info["action_mask"].shape[2]
    brains = [Brain(width, actions) for _ in range(agents)]
    optimisers = [torch.optim.Adam(b.parameters(), lr=RATE, eps=1e-5) for b in brains]
    shape = (WINDOW, ENVS, agents)
    s_obs = torch.zeros(*shape, width)
    s_legal = torch.zeros(*shape, actions, dtype=torch.bool)
    s_act = torch.zeros(shape, dtype=torch.long)
    s_logp, s_val, s_rew = torch.zeros(shape), torch.zeros(WINDOW + 1, ENVS, agents), torch.zeros(shape)
    s_alive, s_exit = torch.zeros(shape, dtype=torch.bool), torch.zeros(shape, dtype=torch.bool)
    returns = collections.deque(maxlen=LAST)
    running = np.zeros((ENVS, agents))
    steps, start = 0, time.perf_counter()
    chosen = np.zeros((ENVS, agents), np.int32)
    while steps < most:
        for t in range(WINDOW):
            s_obs[t] = torch.from_numpy(obs)
            s_legal[t] = torch.from_numpy(info["action_mask"])
            s_alive[t] = torch.from_numpy(info["alive"])
            with torch.no_grad():
                for a, b in enumerate(brains):
                    logp, value = b(s_obs[t, :, a], s_legal[t, :, a])
                    act = torch.multinomial(logp.exp(), 1).squeeze(-1)
                    s_act[t, :, a], s_val[t, :, a] = act, value
                    s_logp[t, :, a] = logp.gather(-1, act[:, None]).squeeze(-1)
            chosen[:] = s_act[t].numpy()
            obs, reward, ended, cut, info = env.step(chosen)
            s_rew[t] = torch.from_numpy(reward) * SCALE
            s_exit[t] = torch.from_numpy(ended)
            running += reward
            over = info["over"]
            for n in np.flatnonzero(over):
                returns.append(running[n].mean())
                running[n] = 0
            steps += ENVS
        if len(returns) == LAST and np.mean(returns) >= GOAL:
            return {"steps": steps, "seconds": time.perf_counter() - start, "mean": float(np.mean(returns))}
        with torch.no_grad():
            last = torch.from_numpy(np.array(obs))
            legal = torch.from_numpy(np.array(info["action_mask"]))
            for a, b in enumerate(brains):
                s_val[WINDOW, :, a] = b(last[:, a], legal[:, a])[1]
        advantage, following = torch.zeros(shape), torch.zeros(ENVS, agents)
        for t in reversed(range(WINDOW)):
            goes_on = (~s_exit[t]).float()
            delta = s_rew[t] + GAMMA * s_val[t + 1] * goes_on - s_val[t]
            following = (delta + GAMMA * LAMBDA * goes_on * following) * s_alive[t]
            advantage[t] = following
        for a, (b, optimiser) in enumerate(zip(brains, optimisers)):
            rows = s_alive[:, :, a].reshape(-1).nonzero().squeeze(-1)
            o, l = s_obs[:, :, a].reshape(-1, width)[rows], s_legal[:, :, a].reshape(-1, actions)[rows]
            act, old = s_act[:, :, a].reshape(-1)[rows], s_logp[:, :, a].reshape(-1)[rows]
            adv = advantage[:, :, a].reshape(-1)[rows]
            ret = adv + s_val[:WINDOW, :, a].reshape(-1)[rows]
            for _ in range(EPOCHS):
                for pick in torch.randperm(len(rows)).split(MINIBATCH):
                    logp, value = b(o[pick], l[pick])
                    ratio = (logp.gather(-1, act[pick, None]).squeeze(-1) - old[pick]).exp()
                    x = adv[pick]
                    x = (x - x.mean()) / (x.std(correction=0) + 1e-8)
                    policy = -torch.min(ratio * x, ratio.clamp(1 - CLIP, 1 + CLIP) * x).mean()
                    entropy = -(logp.exp() * logp).sum(-1).mean()
                    loss = policy - ENTROPY * entropy + VALUE * 0.5 * (value - ret[pick]).square().mean()
                    optimiser.zero_grad()
                    loss.backward()
                    nn.utils.clip_grad_norm_(b.parameters(), MAX_GRAD)
                    optimiser.step()
    return {"steps": steps, "seconds": time.perf_counter() - start, "mean": float(np.mean(returns))}


def ours(seed: int, *sets: str) -> dict:
    """Trains the preset and reads off its folder when the goal was reached."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [binary(), "train", "ppo-4x4", "--seeds", str(seed), "--out", folder, "--json", *sets],
            capture_output=True,
            check=True,
        )
        run = pathlib.Path(json.loads(done.stdout)["seeds"][0]["run"])
        with open(run / "metrics.csv") as f:
            rows = [r for r in csv.DictReader(f) if r["name"] == "return/mean"]
        env = json.loads((run / "env.json").read_text())
    recent: collections.deque = collections.deque()
    last = int(rows[-1]["step"])
    seconds = sum(env["phases_s"].values()) if "phases_s" in env else env["wall_s"]
    for r in rows:
        recent.append((float(r["value"]), int(r["n"])))
        while sum(n for _, n in recent) - recent[0][1] >= LAST:
            recent.popleft()
        mean = sum(v * n for v, n in recent) / sum(n for _, n in recent)
        if sum(n for _, n in recent) >= LAST and mean >= GOAL:
            return {"steps": int(r["step"]), "seconds": seconds * int(r["step"]) / last, "mean": mean}
    return {"steps": last, "seconds": seconds, "mean": mean}


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--threads", type=int, default=1, help="of PyTorch; one is the fastest for networks of this size")
    args = p.parse_args()
    torch.set_num_threads(args.threads)
    board = ["--set", "actor.frame=board", "--set", "train.steps=2000000"]
    print("env steps and seconds to 2.8, and how many times longer PyTorch takes")
    print(f"{'seed':>4}  {'torch':>18}  {'hop, raw observation':>26}  {'hop, the preset':>26}")
    for seed in range(1, args.seeds + 1):
        theirs, raw, preset = train(seed), ours(seed, *board), ours(seed)
        line = f"{seed:>4}  {theirs['steps']:>9,} {theirs['seconds']:>7.1f}s"
        for mine in (raw, preset):
            line += f"  {mine['steps']:>10,} {mine['seconds']:>6.2f}s {theirs['seconds'] / mine['seconds']:>6.1f}x"
        print(line, flush=True)


if __name__ == "__main__":
    main()
