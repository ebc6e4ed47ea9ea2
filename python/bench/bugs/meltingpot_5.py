"""The seed is not moved on after the first episode, so that the second one is the first again."""

import gymnasium as gym
from small import Run

SOURCE = "google-deepmind/meltingpot#5"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Again(gym.Wrapper):
    """Gives the second reset the seed of the first."""

    resets, first = 0, None

    def reset(self, seed=None, options=None):
        self.resets += 1
        self.first = seed if self.resets == 1 else self.first
        return self.env.reset(seed=self.first if self.resets == 2 else seed, options=options)


class Case(Run):
    def make(self):
        env = super().make()
        return env if self.fixed else Again(env)
