"""Writes run.npz, which `hop audit --trajectories run.npz` reads. Needs numpy only."""
import sys
import numpy as np

rng, faulty = np.random.default_rng(0), "--rows-after-exit" in sys.argv
rows = {k: [] for k in ("episode", "obs", "actions", "rewards", "dones")}
for episode in range(200):
    alive = np.ones(4, bool)  # your env.reset()
    for t in range(35):
        obs = rng.random((4, 8))  # what each agent sees before it acts
        act = rng.integers(0, 7, 4)  # what its policy plays
        left = alive & ((rng.random(4) < 0.1) | (t == 34))  # your env.step(act)
        reward = np.where(left, rng.choice([1.0, 5.0], 4), 0.0)
        if not faulty:
            act = np.where(alive, act, -1)  # who has left plays -1
        for k, v in zip(rows, (episode, obs, act, reward, left)):
            rows[k].append(v)
        alive &= ~left
        if not alive.any():
            break
np.savez("run.npz", horizon=35, **{k: np.array(v) for k, v in rows.items()})
