"""The value after the last step of a rollout is that of the sight before it."""

from small import Run

SOURCE = "DLR-RM/stable-baselines3#183 (pull 185)"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Case(Run):
    def bootstrap(self, values, last):
        return last if self.fixed else values[-1]
