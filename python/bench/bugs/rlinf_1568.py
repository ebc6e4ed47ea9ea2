"""The critic's loss takes [B] from [B, 1]: every value is held against every return."""

from small import Run

SOURCE = "RLinf/RLinf#1568"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Case(Run):
    def value_loss(self, values, returns):
        return ((values - (returns if self.fixed else returns[:, None])) ** 2).mean()
