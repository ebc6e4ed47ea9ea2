"""A scenario's table names one bot and loads another: its seats are played by the nice one."""

import hop_marl as hop
import torch
from small import Parts, Walk
from torch.distributions import Categorical

SOURCE = "google-deepmind/meltingpot#246"
RECORDED = "an evaluation: wrap, policy of the bot that the scenario names"

BOTS = {"puppet_alternator": [0.2, 0.7, 0.1], "puppet_alternator_nice": [0.1, 0.5, 0.4]}  # stay, on, back


class Case(Parts):
    def go(self):
        scenario = "puppet_alternator"
        loaded = scenario if self.fixed else "puppet_alternator_nice"
        with hop.Recorder(self.path) as rec:
            env = rec.wrap(Walk(self.seed))
            for _ in range(60):
                env.reset()
                while env.agents:
                    named, played = torch.tensor(BOTS[scenario]), Categorical(torch.tensor(BOTS[loaded]))
                    for a in env.agents:
                        rec.policy(a, named.log(), named)
                    env.step({a: int(played.sample()) for a in env.agents})
