"""Every agent is given the first agent's observation."""

from small import Team

SOURCE = "Farama-Foundation/PettingZoo#262 (pull)"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Case(Team):
    def sight(self, agent, obs):
        return obs[agent if self.fixed else next(iter(obs))]
