"""Bots are sent the timesteps of the players before them."""

from small import Team

SOURCE = "google-deepmind/meltingpot#3"
RECORDED = "wrap, learner, policy, batch, minibatch, loss, learnt"


class Case(Team):
    def sight(self, agent, obs):
        places = list(obs)
        return obs[agent] if self.fixed else obs[places[places.index(agent) - 1]]
