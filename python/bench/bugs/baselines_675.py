"""All copies of the environment get the seed of the last one."""

from small import Run

SOURCE = "hill-a/stable-baselines#675"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Case(Run):
    def seeds(self):
        return [self.seed + (i if self.fixed else self.copies - 1) for i in range(self.copies)]
