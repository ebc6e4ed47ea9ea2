"""The normaliser of observations goes on learning in evaluation, away from what the policy was trained with."""

import gymnasium as gym
import hop_marl as hop
import numpy as np
import torch
from small import Net, Parts
from torch.distributions import Categorical

SOURCE = "DLR-RM/rl-baselines3-zoo#275"
RECORDED = "an evaluation: wrap, policy (outputs with what was saved, and what was drawn from)"


class Case(Parts):
    def go(self):
        net = Net(4, 2)
        mean, square, count = np.zeros(4), np.ones(4), 1e-4
        with hop.Recorder(self.path) as rec:
            env = rec.wrap(gym.make("CartPole-v1"))
            saved = (np.array([0.3, 0.1, 0.0, -0.1]), np.array([0.5, 0.7, 0.1, 0.9]))  # as training left them
            mean, var, count = *saved, 2000.0
            obs, _ = env.reset(seed=self.seed)
            for _ in range(1500):
                if not self.fixed:  # VecNormalize(training=True)
                    count += 1
                    mean, var = mean + (obs - mean) / count, var + ((obs - mean) ** 2 - var) / count
                with torch.no_grad():
                    logits = net((obs - saved[0]) / np.sqrt(saved[1]))[0] * 4
                    dist = Categorical(logits=net((obs - mean) / np.sqrt(var))[0] * 4)
                rec.policy("agent_0", logits, dist, env=env.copies[0])
                obs, _, ended, cut, _ = env.step(int(dist.sample()))
                if ended or cut:
                    obs, _ = env.reset()
