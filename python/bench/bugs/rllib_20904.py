"""Actions go on being computed for agents that are done, and kept."""

from small import Team

SOURCE = "ray-project/ray#20904"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Case(Team):
    def acting(self, here, gone):
        return here if self.fixed else here + list(gone)
