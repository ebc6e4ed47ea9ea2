"""The ratio is taken of the policy and itself: it is always 1."""

from small import Run

SOURCE = "tensorforce/tensorforce#312"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Case(Run):
    def old(self, stored, now):
        return stored if self.fixed else now.detach()
