"""Records episodes of lbforaging 2.0.0, for TestStepsLikeLbforaging.

    pip install lbforaging==2.0.0
    python record.py > lbforaging.txt

An episode is its parameters, its first position in this package's text form,
and a line a step: the actions, the cells after it and the rewards. Players go
for food most of the time. An episode stops where lbforaging lets two players
share a cell, which happens when one enters the cell of another who was held up.
"""

import random
from importlib.metadata import version

from lbforaging.foraging.environment import Action, ForagingEnv

OURS = {Action.NORTH: 0, Action.SOUTH: 1, Action.WEST: 2, Action.EAST: 3, Action.NONE: 4, Action.LOAD: 5}
STEP = {Action.NORTH: (-1, 0), Action.SOUTH: (1, 0), Action.WEST: (0, -1), Action.EAST: (0, 1)}


def position(env):
    items = sorted((y, x) for y, x in zip(*env.field.nonzero()))
    rows = [["."] * env.cols for _ in range(env.rows)]
    for s, p in enumerate(env.players):
        rows[p.position[0]][p.position[1]] = str(s)
    for f, (y, x) in enumerate(items):
        rows[y][x] = chr(ord("a") + f)
    print("t=0")
    for row in rows:
        print(*row)
    print("levels", *(p.level for p in env.players))
    print("food", *(f"{chr(ord('a') + f)}={env.field[y, x]}" for f, (y, x) in enumerate(items)))


def choose(env, player, rng):
    valid = env._valid_actions[player]
    if Action.LOAD in valid and rng.random() < 0.8:
        return Action.LOAD
    y, x = player.position
    foods = list(zip(*env.field.nonzero()))
    closer = [
        a
        for a in valid
        if a in STEP
        and any(abs(fy - y - STEP[a][0]) + abs(fx - x - STEP[a][1]) < abs(fy - y) + abs(fx - x) for fy, fx in foods)
    ]
    return rng.choice(closer) if closer and rng.random() < 0.7 else rng.choice(valid)


print("# lbforaging", version("lbforaging"))
for episode, (size, players, food, coop) in enumerate(
    [(5, 2, 1, True), (6, 2, 2, False), (6, 3, 3, False), (6, 4, 3, True), (5, 4, 2, False), (8, 3, 4, False)] * 3
):
    rng = random.Random(episode)
    env = ForagingEnv(
        players, 1, 2, 1, None, (size, size), food, size, 50, coop, normalize_reward=True
    )
    env.reset(seed=episode)
    print("episode", size, players, food)
    position(env)
    done = False
    while not done:
        actions = [choose(env, p, rng) for p in env.players]
        _, rewards, done, _, _ = env.step([a.value for a in actions])
        cells = [int(p.position[0] * size + p.position[1]) for p in env.players]
        if len(set(cells)) < players:
            break
        print("step", *(OURS[a] for a in actions), *cells, *(f"{float(r):.9g}" for r in rewards))
    print("end" if done else "shared")
