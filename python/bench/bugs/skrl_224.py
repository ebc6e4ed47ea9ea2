"""A truncation is bootstrapped and yet no end: advantages run on into the next episode."""

from small import Run, gae

SOURCE = "Toni-SM/skrl#224"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Case(Run):
    limit = 20

    def advantages(self, rewards, values, ends, last):
        ends = ends if self.fixed else ends * ~self.cuts
        return gae(rewards, values, ends, last, self.gamma, self.lam)
