"""Returns are made of advantages that are still zero."""

from small import Run

SOURCE = "vwxyzjn/cleanrl#337 (pull)"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Case(Run):
    def returns(self, adv, values):
        return (adv if self.fixed else 0 * adv) + values
