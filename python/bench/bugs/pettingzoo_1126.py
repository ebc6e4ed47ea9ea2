"""Terminations and truncations of agents are joined: nothing is bootstrapped after a cut."""

from small import Team

SOURCE = "Farama-Foundation/PettingZoo#1126"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Case(Team):
    def after_cut(self, now, last):
        return self.gamma * last if self.fixed else 0.0
