"""Masks are used when acting and not when the batch is scored."""

import gymnasium as gym
import numpy as np
from small import Run

SOURCE = "AgileRL/AgileRL#487 (pull)"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Masked(gym.Wrapper):
    """CartPole that forbids to push on in the direction of a fast cart."""

    def info(self, obs):
        return {"action_mask": np.array([obs[1] > -0.4, obs[1] < 0.4])}

    def reset(self, **kwargs):
        obs, _ = self.env.reset(**kwargs)
        return obs, self.info(obs)

    def step(self, action):
        obs, reward, ended, cut, _ = self.env.step(action)
        return obs, reward, ended, cut, self.info(obs)


class Case(Run):
    def make(self):
        return Masked(gym.make("CartPole-v1"))

    def score(self, net, obs, actions, masks):
        return super().score(net, obs, actions, masks if self.fixed else None)
