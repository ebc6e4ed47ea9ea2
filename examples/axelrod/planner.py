"""Shaping as planning: a plan against a model of the other that reacts, made while playing.

    hop crossplay --game matrix --set game.rounds=100 --set game.hidden=true py:planner:Planner tft alld allc

The model is a memory of one round: how often the other cooperates after each joint action, beta distributions that
begin as those of somebody who mostly mirrors. The plan is the best response to their means without an end, so what
an action does to the other's next ones counts. Nothing is trained, and who the other is is not told.
"""

from __future__ import annotations

from typing import Any

PAY = ((3.0, 0.0), (5.0, 1.0))  # by one's own action and the other's, 0 cooperates
GAMMA = 0.95  # of the plan
MIRRORS = (0.5, 0.1)  # rounds in which the other is taken to have mirrored, and not, after each joint action


class Planner:
    """One life; hop asks it for an action a round."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.kind = [[*MIRRORS], [*MIRRORS[::-1]], [*MIRRORS], [*MIRRORS[::-1]]]  # rounds of C and D after what it saw
        self.before: int | None = None  # the joint action of the round before the last, as the other sees it
        self.value = [0.0] * 4

    def act(self, observation: Any, mask: Any, info: Any) -> int:
        last = int(max(range(5), key=lambda i: observation[i])) - 1  # CC, CD, DC, DD by one's own; -1 begins
        if last < 0:
            self.reset()
            return self.best(None)
        if self.before is not None:
            self.kind[self.before][last % 2] += 1
        self.before = last // 2 + 2 * (last % 2)
        return self.best(self.before)

    def best(self, seen: int | None) -> int:
        """The action that earns most from here on; seen: what the other answers to."""
        share = [c / (c + d) for c, d in self.kind]
        for _ in range(100):
            self.value = [max(self.worth(share[s], a) for a in (0, 1)) for s in range(4)]
        p = MIRRORS[0] / sum(MIRRORS) if seen is None else share[seen]
        return max((0, 1), key=lambda a: self.worth(p, a))

    def worth(self, p: float, a: int) -> float:
        """What an action earns with who cooperates with such a chance; its next state is the other's view, (theirs, ours)."""
        return p * (PAY[a][0] + GAMMA * self.value[a]) + (1 - p) * (PAY[a][1] + GAMMA * self.value[a + 2])
