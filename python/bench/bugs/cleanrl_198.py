"""A time limit that agents cannot see is learnt as the end of the task."""

from small import Run

SOURCE = "vwxyzjn/cleanrl#198"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Case(Run):
    limit = 20

    def after_cut(self, now, last):
        return self.gamma * last if self.fixed else 0.0
