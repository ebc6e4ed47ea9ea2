"""Values [n, 1] are taken from returns [n]: each advantage is the mean over the whole minibatch."""

from small import Run

SOURCE = "PacktPublishing/Deep-Reinforcement-Learning-Hands-On#9 (pull)"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Case(Run):
    def advantages(self, rewards, values, ends, last):
        adv = super().advantages(rewards, values, ends, last)
        if self.fixed:
            return adv
        return adv + values - values.mean()  # the mean of (return - value) over all values
