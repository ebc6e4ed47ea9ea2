"""What the worker makes of environments: spaces, refusals, agents that leave, turns, replays."""

import sys

import numpy as np
import odd
import pytest
from hop_marl._copies import Copy, Row, Shape, Turns
from hop_marl._spaces import Part, Vector, actions
from hop_marl._wire import HopError
from hop_marl.worker import Worker, load


def opened(name, most=32, **kwargs):
    """What the worker says of an environment."""
    import json

    return Worker().call(
        "open",
        {
            "env": name,
            "kwargs": json.dumps(kwargs),
            "most_actions": most,
            "probe": True,
            "replay": True,
        },
    )


def refused(name, *words, **kwargs):
    """The sentence with which an environment is refused."""
    with pytest.raises(HopError) as e:
        opened(name, **kwargs)
    for word in words:
        assert word in str(e.value), str(e.value)
    return str(e.value)


def numbers(space, value):
    """A value as the numbers of an observation."""
    part = Part("it", space)
    row = np.full(part.size, 7, np.float32)
    part.writer(row)(value)
    return row.tolist()


def test_spaces_become_numbers():
    """Boxes as they are, bounded ones scaled; discrete ones one-hot; the rest in a row."""
    assert numbers(odd.box(2, 2), [[1, 2], [3, -4]]) == [1, 2, 3, -4]
    bounded = odd.box(3, low=np.array([-1.0, 0, -np.inf]), high=np.array([7.0, 1, 4]))
    assert numbers(bounded, [3.5, 0.5, 2]) == [0.5, 0.5, 2]
    assert numbers(odd.discrete(4, start=-1), 1) == [0, 0, 1, 0]
    assert numbers(odd.Space("MultiBinary", n=3), [1, 0, 1]) == [1, 0, 1]
    assert numbers(odd.Space("MultiDiscrete", nvec=np.array([2, 3])), [1, 2]) == [0, 1, 0, 0, 1]
    both = odd.Space("Dict", spaces={"a": odd.discrete(2), "b": odd.box(1)})
    assert numbers(both, {"b": [5], "a": 0}) == [1, 0, 5]


def test_values_outside_their_space_are_refused():
    """A wrong shape or a number that is not in the space is the environment's fault."""
    for space, value, word in [
        (odd.box(2), [1, 2, 3], "shape (3,)"),
        (odd.discrete(4), 4, "0 to 3"),
        (odd.Space("MultiDiscrete", nvec=np.array([2, 3])), [2, 0], "below [2, 3]"),
    ]:
        with pytest.raises(HopError, match="it: an observation") as e:
            numbers(space, value)
        assert word in str(e.value)


def test_actions():
    """Discrete ones with their start, small products listed, others refused by name."""
    assert actions("a", odd.discrete(3, start=5), 32) == [5, 6, 7]
    both = actions("a", odd.Space("MultiDiscrete", nvec=np.array([2, 3])), 32)
    assert [x.tolist() for x in both] == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    for space, word in [
        (odd.discrete(33), "33 actions"),
        (odd.Space("MultiDiscrete", nvec=np.array([9, 9])), "81 together"),
        (odd.Space("Text"), "want Discrete"),
    ]:
        with pytest.raises(HopError, match="agent walker_0") as e:
            actions("walker_0", space, 32)
        assert word in str(e.value)


def test_actions_that_are_vectors():
    """What a Box bounds is -1 to 1 to the policy and held within its bounds; what it does not is left alone."""
    space = odd.box(2, 2, low=np.array([[0, -np.inf], [-2, 5]]), high=np.array([[10, np.inf], [2, np.inf]]))
    v = Vector("a", space, 32)
    assert v.given(np.array([0, 7, 1, 6], np.float32)).tolist() == [[5, 7], [2, 6]]
    assert v.given(np.array([-3, 7, 0.5, 2], np.float32)).tolist() == [[0, 7], [1, 5]]
    for space, word in [(odd.box(33), "33 numbers"), (odd.box(2, dtype=np.int64), "Box of floats")]:
        with pytest.raises(HopError, match="agent walker_0") as e:
            Vector("walker_0", space, 32)
        assert word in str(e.value)
    mixed = odd.aim()
    mixed.action_space = lambda agent: odd.box(2) if agent == "archer_0" else odd.discrete(2)
    with pytest.raises(HopError, match="all agents are vectors, or none"):
        Shape("mixed", mixed, 32)


def test_pictures():
    """Bytes of a screen are a picture, small boards of bytes are numbers, and what no network reads is refused."""
    for shape, picture in [((84, 84, 3), [84, 84, 3]), ((36, 40), [36, 40, 1]), ((11, 11, 5), [])]:
        part = Part("it", odd.box(*shape, low=0, high=255, dtype=np.uint8))
        assert part.picture == picture and part.size == np.prod(shape)
        row = np.zeros(part.size, np.float32)
        part.writer(row)(np.full(shape, 51, np.uint8))
        assert np.allclose(row, 0.2)
    for space in [
        odd.box(30, 30, 3, low=0, high=255, dtype=np.uint8),
        odd.box(210, 160, 3, low=0, high=255, dtype=np.uint8),
        odd.box(30_000),
    ]:
        with pytest.raises(HopError, match="84x84 is usual"):
            Part("the observation space of agent a", space)
    assert Shape("eye", odd.eye(), 32).describe()["picture"] == [48, 48, 3]
    assert Shape("line", odd.line(), 32).describe()["picture"] == [0, 0, 0]


def test_an_environment_is_described():
    """Agents, numbers, actions, horizon and packages."""
    got = opened("odd:line", max_cycles=9)
    assert got["agents"] == ["walker_0", "walker_1"]
    assert (got["width"], got["horizon"], len(got["actions"])) == (2, 9, 3)
    assert not got["masks"] and not got["turns"] and got["differs"] == "" and got["layout"] is None
    assert got["packages"]["numpy"] == np.__version__
    assert got["packages"]["odd"].startswith("sha256 ")


def test_what_is_wrong_with_a_name():
    """Every mistake in a name has its own sentence."""
    refused("odd", "MODULE:FUNCTION")
    refused("nowhere:make", "no Python module nowhere", sys.executable)
    refused("odd:nowhere", "has no nowhere", "line")
    refused("odd:line", "raised TypeError", "nonsense", nonsense=1)
    assert load("os:path.join") is __import__("os").path.join


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("raises", ["raised KeyError: 'the treasure'", "step 5", "in at"]),
        ("exits", ["raised SystemExit: 4", "step 5"]),
        ("shape", ["agent walker_0", "shape (3,)"]),
        ("stranger", ["walker_7", "possible_agents"]),
        ("forgets", ["walker_1 no observation"]),
    ],
)
def test_faults_name_environment_agent_and_step(fault, words):
    """What goes wrong while a copy is played says where."""
    env = odd.odd(fault)
    env.episodes = 3
    shape = Shape("odd:odd", env, 32)
    copy = Copy(shape, lambda: env, Row(shape))
    with pytest.raises(HopError) as e:
        copy.reset(11)
        for _ in range(10):
            copy.row.action[:] = 1
            copy.step()
    for word in [*words, "odd:odd", "seed 11"]:
        assert word in str(e.value), str(e.value)


def test_episodes_that_cannot_be_replayed_are_noticed():
    """Chance that is not seeded, and memory of earlier episodes."""
    assert "observations differ at step 0" in opened("odd:unseeded")["differs"]
    assert "observations differ" in opened("odd:remembers")["differs"]


def walk(copy, action, steps=30):
    """Plays one action for everybody; returns who is alive and paid at every step."""
    seen = []
    for _ in range(steps):
        if not copy.alive:
            break
        copy.row.action[:] = [action if s in copy.alive else -1 for s in range(2)]
        copy.step()
        seen.append((copy.row.alive.tolist(), copy.row.reward.copy(), copy.row.cut.tolist()))
    return seen


def test_agents_leave_once():
    """Who has left is paid nothing any more, and may not come back."""
    env = odd.leaves()
    shape = Shape("odd:leaves", env, 32)
    copy = Copy(shape, lambda: env, Row(shape))
    copy.reset(3)
    seen = walk(copy, 2)
    first = next(i for i, (alive, _, _) in enumerate(seen) if 0 in alive)
    gone = seen[first][0].index(0)
    assert first + 1 < len(seen), "they leave together: choose another seed"
    assert all(paid[gone] == 0 and alive[gone] == 0 for alive, paid, _ in seen[first + 1 :])
    assert all(cut == [0, 0] for _, _, cut in seen[:first])
    back = odd.leaves(returns=True)
    copy = Copy(shape, lambda: back, Row(shape))
    with pytest.raises(HopError, match="walker_0 plays after it had left"):
        for seed in range(40):
            copy.reset(seed)
            walk(copy, 2)


def test_the_last_observation_of_who_leaves_is_kept():
    """It is what the value after a truncation is asked of."""
    env = odd.line(max_cycles=4)
    shape = Shape("odd:line", env, 32)
    copy = Copy(shape, lambda: env, Row(shape))
    copy.reset(1)
    alive, _, cut = walk(copy, 2)[-1]
    assert alive == [0, 0] and cut == [1, 1]
    assert copy.row.obs[0].tolist() == env.seen(["walker_0"])["walker_0"].tolist()


def test_turns():
    """In an AEC environment one acts, the others have one action, rewards go to whom they are due."""
    pytest.importorskip("pettingzoo")
    from pettingzoo.classic import tictactoe_v3

    env = tictactoe_v3.env()
    shape = Shape("ttt", env, 32)
    assert shape.turns and shape.width == 19
    copy = Turns(shape, lambda: env, Row(shape))
    copy.reset(0)
    total = np.zeros(2)
    for turn, cell in enumerate([0, 3, 1, 4, 2]):  # the first player has the first column
        mine, other = turn % 2, 1 - turn % 2
        row = copy.row
        assert row.obs[mine, -1] == 1 and row.obs[other, -1] == 0
        assert row.mask[other].tolist() == [1] + [0] * 8
        assert row.mask[mine].sum() == 9 - turn and row.mask[mine, cell] == 1
        row.action[mine], row.action[other] = cell, 0
        copy.step()
        total += row.reward
    assert not copy.alive and total.tolist() == [1, -1]


def test_roles_are_told_apart():
    """Agents of other names or spaces have other roles, written into what they see."""

    class Roles(odd.Line):
        def __init__(self):
            super().__init__()
            self.possible_agents = ["wolf_0", "walker_1"]

        def seen(self, agents):
            return {a: np.zeros(2, np.float32) for a in agents}

    shape = Shape("roles", Roles(), 32)
    copy = Copy(shape, Roles, Row(shape))
    copy.reset(0)
    assert shape.roles == 2
    assert copy.row.obs[:, 2:].tolist() == [[1, 0], [0, 1]]
    assert Shape("line", odd.line(), 32).roles == 0
