"""Since Gymnasium 1.0 a step after the end only resets; it is learnt from like any other."""

from gymnasium.vector import AutoresetMode

from small import Run

SOURCE = "vwxyzjn/cleanrl#499"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Case(Run):
    reset = AutoresetMode.NEXT_STEP

    def learn(self, learner, rows, last):
        obs, actions, logprobs, values, rewards, before, ends, masks = rows
        adv = self.advantages(rewards, values, ends, last)
        columns = [obs, actions, logprobs, values, rewards, ends, adv, self.returns(adv, values)]
        real = (before == 0) | (not self.fixed)  # [T, n]: an action was played
        learner.update(*(x[real] for x in columns))
