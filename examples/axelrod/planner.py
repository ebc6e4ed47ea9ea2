"""Shaping as planning: a plan against a model of the other that reacts, made while playing.

    hop crossplay --game matrix --set game.rounds=100 --set game.hidden=true py:planner:Planner tft alld allc

The model: how often the other cooperates after the last two joint actions, drawn towards how often it does after the
last one, which begins as in somebody who mostly mirrors. The plan is the best response to that without an end, so
what an action does to the other's next ones counts. Nothing is trained, and who the other is is not told.
"""

from __future__ import annotations

from typing import Any

PAY = ((3.0, 0.0), (5.0, 1.0))  # by one's own action and the other's, 0 cooperates
GAMMA = 0.95  # of the plan
MIRRORS = (0.5, 0.1)  # rounds in which the other is taken to have mirrored, and not, after each joint action
DRAWN = 1.0  # rounds that what follows one joint action counts in what follows two
TRIES = 140  # round from which it defects once out of mutual cooperation, to see whether the other lets it


class Planner:
    """One life; hop asks it for an action a round."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        # Rounds of C and D after what the other saw last, theirs and ours, and after what it saw in two rounds.
        self.one = [[*MIRRORS], [*MIRRORS[::-1]], [*MIRRORS], [*MIRRORS[::-1]]]
        self.two = [[[0.0, 0.0] for _ in range(4)] for _ in range(4)]
        self.before: int | None = None  # the joint action of the round before the last, as the other sees it
        self.seen: int | None = None  # of the last
        self.value = [0.0] * 16  # by both
        self.round = self.calm = 0  # and rounds of mutual cooperation in a row; below 0: it has tried

    def act(self, observation: Any, mask: Any, info: Any) -> int:
        last = int(max(range(5), key=lambda i: observation[i])) - 1  # CC, CD, DC, DD by one's own; -1 begins
        if last < 0:
            self.reset()
            return 0
        if self.seen is not None:
            self.one[self.seen][last % 2] += 1
            if self.before is not None:
                self.two[self.before][self.seen][last % 2] += 1
        self.before, self.seen = self.seen, last // 2 + 2 * (last % 2)
        self.round += 1
        if self.calm >= 0:
            self.calm = self.calm + 1 if last == 0 else 0
            if self.round >= TRIES - 1 and self.calm >= 3:
                self.calm = -1
                return 1
        return self.best()

    def best(self) -> int:
        """The action that earns most from here on."""
        drawn = [c / (c + d) for c, d in self.one]
        share = [[(c + DRAWN * p) / (c + d + DRAWN) for (c, d), p in zip(row, drawn)] for row in self.two]
        for _ in range(15 if self.before is not None else 100):
            self.value = [max(self.worth(share[b][s], s, a) for a in (0, 1)) for b in range(4) for s in range(4)]
        p = share[self.before or 0][self.seen]
        return max((0, 1), key=lambda a: self.worth(p, self.seen, a))

    def worth(self, p: float, s: int, a: int) -> float:
        """What an action earns with who cooperates with such a chance; the next state is their view of both rounds."""
        next = self.value[4 * s :]
        return p * (PAY[a][0] + GAMMA * next[a]) + (1 - p) * (PAY[a][1] + GAMMA * next[a + 2])
