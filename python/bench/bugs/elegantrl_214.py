"""The value after the last step is the first environment's for all of them."""

import numpy as np

from small import Run

SOURCE = "AI4Finance-Foundation/ElegantRL#214 (pull, review)"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Case(Run):
    def bootstrap(self, values, last):
        return last if self.fixed else np.full_like(last, last[0])
