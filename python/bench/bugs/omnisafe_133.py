"""The entropy is added to the loss, so PPO makes it small."""

from small import Run

SOURCE = "PKU-Alignment/omnisafe#133 (pull)"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Case(Run):
    def entropy_sign(self):
        return -1 if self.fixed else 1
