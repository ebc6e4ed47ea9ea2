"""hop.strangers: the co-players of a split as environments."""

import pickle

import hop_marl as hop
import numpy as np
import pytest

pytest.importorskip("pettingzoo")


def legal(env, observations):
    """The first legal action of everybody who is there."""
    return {a: int(np.flatnonzero(observations[a]["action_mask"])[0]) for a in env.agents}


def episode(env, seed=None):
    """Plays an episode; returns what it paid and how many steps it had."""
    observations, infos = env.reset(seed=seed)
    assert set(observations) == set(infos) == {"agent_0"}
    total, steps = 0.0, 0
    while env.agents:
        observations, rewards, terminated, truncated, infos = env.step(legal(env, observations))
        assert set(rewards) == set(terminated) == set(truncated) == set(observations) == {"agent_0"}
        total, steps = total + rewards["agent_0"], steps + 1
    return total, steps


def processes(monkeypatch):
    """Counts how many hop processes are started from now on."""
    from hop_marl import _game, agents

    started = []

    class Counted(_game.Peer):
        def __init__(self, argv):
            started.append(argv)
            super().__init__(argv)

    monkeypatch.setattr(_game, "Peer", Counted)
    monkeypatch.setattr(agents, "Peer", Counted)
    return started


def test_nothing_starts_before_it_is_used(monkeypatch):
    started = processes(monkeypatch)
    all_of = hop.strangers("test", game="staghunt", stags=2)
    assert "test" in repr(all_of) and not started
    assert len(all_of) >= 200 and len(all_of) == len(all_of) and len(started) == 1
    env, other = all_of[0], all_of[-1]
    assert env.name == "staghunt/test@1#1" and other.name == f"staghunt/test@1#{len(all_of)}"
    assert env.split == "test" and env.text != other.text and env.text in repr(env)
    assert [e.text for e in all_of[:2]] == [all_of[0].text, all_of[1].text] and len(started) == 1
    env.close()  # which was never used
    env.reset(seed=1)
    assert len(started) == 2
    env.close()


def test_iteration_goes_over_all():
    names = [env.name for env in hop.strangers("validation", game="coin")]
    assert len(names) >= 40 and names[0] == "coin/validation@1#1" and len(set(names)) == len(names)


@pytest.mark.parametrize("at", [0, 40, 200])
def test_it_is_a_pettingzoo_environment(at):
    from pettingzoo.test import parallel_api_test

    env = hop.strangers("test", illegal="replace")[at]
    parallel_api_test(env, num_cycles=200)
    env.close()


def lived(env, seeds, others=None):
    """What is seen in some episodes in which a hare hunter is agent_0, until it leaves."""
    hunter, seen = hop.bot("nh"), []
    for seed in seeds:
        env.reset(seed=seed)
        while env.agents:
            actions = {"agent_0": hunter.act(env, "agent_0")} if "agent_0" in env.agents else {}
            if actions:
                seen.append(env.state().tobytes())
            env.step(actions if others is None else {**others.act(env), **actions})
    return seen


@pytest.mark.parametrize("text", ["tft(ns,nh)", "noisy(nh,.2)"])
def test_the_others_are_the_stranger(text):
    """The same episodes as in an env of the game in which a bot of that text plays the others.

    Those who remember episodes remember how they ended, also after agent_0 had left.
    """
    one = next(e for s in ("train", "validation") for e in hop.strangers(s) if e.text == text)
    whole = hop.parallel_env("staghunt")
    life = [3] + [None] * 20
    seen = lived(one, life)
    assert seen == lived(whole, life, hop.bot(text)) and len(seen) > 30
    fresh = lived(one, [3]) + lived(one, life)  # a seed begins a new life
    assert fresh[-len(seen) :] == seen
    one.close()
    whole.close()


def test_a_copy_begins_anew():
    env = hop.strangers("test")[11]
    first = [episode(env, 5), episode(env)]
    again = pickle.loads(pickle.dumps(env))
    assert again.name == env.name and again.agents == [] and [episode(again, 5), episode(again)] == first
    env.close()
    again.close()


def test_settings_of_envs_are_none_of_the_game():
    env = hop.strangers("train", size=5, mask="info", leave=False, render_mode="ansi")[3]
    observations, infos = env.reset(seed=2)
    assert observations["agent_0"].ndim == 1 and infos["agent_0"]["action_mask"].any()
    for _ in range(200):
        if not env.agents:
            break
        may = infos["agent_0"]["action_mask"]
        _, _, _, _, infos = env.step({"agent_0": int(np.argmax(may))})
    assert not env.agents and "step" in env.render()
    assert env.step({}) == ({}, {}, {}, {}, {})
    env.close()


@pytest.mark.parametrize(
    "split, settings, want",
    [
        ("tset", {}, "train, validation or test"),
        ("test@7", {}, "version 1"),
        ("test", {"game": "chess"}, "chess"),
        ("test", {"game": "matrix", "matrix": "rps"}, "no language of co-players"),
        ("test", {"sise": 4}, "sise"),
    ],
)
def test_what_is_not_there_is_a_sentence(split, settings, want):
    with pytest.raises(hop.HopError, match=want):
        len(hop.strangers(split, **settings))


def test_a_wrong_action_is_a_sentence():
    env = hop.strangers("train")[0]
    env.reset(seed=1)
    for wrong, want in (({}, "none for agent_0"), (3, "want a dict by agent")):
        with pytest.raises((ValueError, TypeError), match=want):
            env.step(wrong)
    env.close()
