"""A wrapper returns its own buffer, which the next step overwrites before the learner has kept it."""

import numpy as np
from small import Run

SOURCE = "Farama-Foundation/SuperSuit#116 (pull)"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Buffered:
    """Hands out one array, again and again; mended: copies of it."""

    def __init__(self, envs, copies):
        self.envs, self.copies_it, self.buffer = envs, copies, None

    def __getattr__(self, name):
        return getattr(self.envs, name)

    def hand(self, obs):
        if self.buffer is None:
            self.buffer = np.zeros_like(obs)
        self.buffer[:] = obs
        return self.buffer.copy() if self.copies_it else self.buffer

    def reset(self, **kwargs):
        obs, infos = self.envs.reset(**kwargs)
        return self.hand(obs), infos

    def step(self, actions):
        obs, *rest = self.envs.step(actions)
        return self.hand(obs), *rest


class Case(Run):
    def wrapped(self, envs):
        return Buffered(envs, self.fixed)
