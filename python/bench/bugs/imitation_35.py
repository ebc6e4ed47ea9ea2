"""The replay buffer samples sights, actions and rewards independently of each other."""

from small import Run

SOURCE = "HumanCompatibleAI/imitation#35 (pull)"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Case(Run):
    def learn(self, learner, rows, last):
        obs, actions, logprobs, values, rewards, before, ends, masks = rows
        adv = self.advantages(rewards, values, ends, last)
        columns = [obs, actions, logprobs, values, rewards, before, adv, self.returns(adv, values)]
        columns = [x.reshape(-1, *x.shape[2:]) for x in columns]
        same = self.rng.permutation(adv.size)
        learner.update(*(x[same if self.fixed else self.rng.permutation(adv.size)] for x in columns))
