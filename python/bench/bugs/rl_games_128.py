"""After a time limit the value of the sight before the step is added, not of the one after it."""

from small import Run

SOURCE = "Denys88/rl_games#128"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Case(Run):
    limit = 20

    def after_cut(self, now, last):
        return self.gamma * (last if self.fixed else now)
