"""The n-step return discounts the first reward already."""

import numpy as np
from small import Run

SOURCE = "schatty/oprl#5"
RECORDED = "wrap, learner, policy, batch with gamma and returns, no lam"


class Case(Run):
    lam, n = None, 4

    def advantages(self, rewards, values, ends, last):
        ahead = np.concatenate([values, last[None]])
        out = np.zeros_like(rewards)
        for t in range(len(rewards)):
            total, discount, on = np.zeros_like(last), 1.0, np.ones_like(last)
            for k in range(t, min(t + self.n, len(rewards))):
                discount *= 1.0 if self.fixed else self.gamma
                total = total + on * discount * rewards[k]
                on = on * (1 - ends[k])
                discount *= self.gamma if self.fixed else 1.0
            out[t] = total + on * discount * ahead[min(t + self.n, len(rewards))] - values[t]
        return out
