"""The sum of advantages is not set back where an episode ends."""

import numpy as np

from small import Run

SOURCE = "vietnh1009/Super-mario-bros-PPO-pytorch#21"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Case(Run):
    def advantages(self, rewards, values, ends, last):
        out, run = np.zeros_like(rewards), 0.0
        for t in reversed(range(len(rewards))):
            ahead = values[t + 1] if t + 1 < len(rewards) else last
            run = run * self.gamma * self.lam * ((1 - ends[t]) if self.fixed else 1)
            run = run + rewards[t] + self.gamma * ahead * (1 - ends[t]) - values[t]
            out[t] = run
        return out
