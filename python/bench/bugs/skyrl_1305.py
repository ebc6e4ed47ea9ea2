"""The mean of advantages is taken over padding as well, their deviation is not."""

from small import Run

SOURCE = "NovaSky-AI/SkyRL#1305"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Case(Run):
    def normalised(self, adv):
        mean = adv.mean() if self.fixed else adv.sum() / (1.5 * len(adv))  # half as much padding again
        return (adv - mean) / ((adv - mean).pow(2).mean().sqrt() + 1e-8)
