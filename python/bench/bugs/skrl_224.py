"""A truncation is bootstrapped and yet no end: advantages run on into the next episode."""

import numpy as np

from small import Run, gae

SOURCE = "Toni-SM/skrl#224"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Case(Run, gae):
    limit = 20

    def advantages(self, rewards, values, ends, last):
        if not self.fixed:  # only terminations stop; every episode that lasts 20 steps was cut
            age = np.zeros(rewards.shape[1]) if not hasattr(self, "age") else self.age
            ends = ends.copy()
            for t in range(len(ends)):
                age = age + 1
                over = ends[t] == 1
                ends[t, over & (age >= self.limit)] = 0
                age[over] = 0
            self.age = age
        return gae(rewards, values, ends, last, self.gamma, self.lam)
