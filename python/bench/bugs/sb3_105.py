"""The rollout keeps the dones of this step where those of the step before are read."""

import numpy as np

from small import Run, gae

SOURCE = "DLR-RM/stable-baselines3#105"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Case(Run):
    def advantages(self, rewards, values, ends, last):
        if not self.fixed:  # the loop reads dones[t + 1]
            ends = np.concatenate([ends[1:], ends[-1:]])
        return gae(rewards, values, ends, last, self.gamma, self.lam)
