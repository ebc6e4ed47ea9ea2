"""Policies for the tests of hop_marl.player: good ones, and one for each fault."""

import os
import pathlib
import time

import numpy as np

if "POLICY_PID" in os.environ:
    pathlib.Path(os.environ["POLICY_PID"]).write_text(str(os.getpid()), encoding="utf-8")


def uniform(observation, mask, info):
    """Acts at random."""
    return np.random.default_rng(info["seed"]).choice(np.flatnonzero(mask))


def first(observation, mask, info):
    """Takes the first action that is legal, and talks."""
    print("I take the first")
    return int(np.flatnonzero(mask)[0])


class Checks:
    """Acts at random, and makes sure that it is told what a policy is to be told."""

    def __init__(self):
        self.episodes = 0
        self.now = None

    def reset(self):
        self.episodes += 1
        self.now = None

    def act(self, observation, mask, info):
        assert observation.dtype == np.float32 and observation.ndim == 1 and len(observation) > 20
        assert mask.dtype == bool and mask.shape == (len(info["actions"]),) and mask.any()
        assert info["game"] == "staghunt" and info["actions"][0] == "up" and 0 <= info["seat"] < 4
        assert info["episode"] == self.episodes - 1, info
        assert (info["last_return"] is None) == (info["episode"] == 0)
        if self.now is None:
            assert info["step"] == 0 and info["reward"] == 0
        else:
            assert info["step"] == self.now["step"] + 1 and info["seed"] != self.now["seed"]
            assert info["seat"] == self.now["seat"] and info["last_return"] == self.now["last_return"]
        self.now = info
        observation[:] = 0  # its own copy
        mask_before = mask.copy()
        mask[:] = False
        return int(np.random.default_rng(info["seed"]).choice(np.flatnonzero(mask_before)))


def settles():
    """Makes players that go on with whatever their first return suggests."""
    memory = {"lives": 0, "returns": []}

    def act(observation, mask, info):
        if info["step"] == 0:
            memory["returns"].append(info["last_return"])
            assert len(memory["returns"]) == info["episode"] + 1
        return int(np.flatnonzero(mask)[-1])

    return act


def _late(info):
    """The third decision of the second episode."""
    return info["episode"] == 1 and info["step"] == 2


def raises(observation, mask, info):
    if _late(info):
        raise ValueError("boom")
    return uniform(observation, mask, info)


def hangs(observation, mask, info):
    while _late(info):
        time.sleep(0.01)  # here it is
    return uniform(observation, mask, info)


hangs.time_limit = 1


def illegal(observation, mask, info):
    return int(np.argmin(mask)) if _late(info) else uniform(observation, mask, info)


def beyond(observation, mask, info):
    return 10**30 if _late(info) else uniform(observation, mask, info)


def nan(observation, mask, info):
    return float("nan") if _late(info) else uniform(observation, mask, info)


def word(observation, mask, info):
    return "up" if _late(info) else uniform(observation, mask, info)


def truth(observation, mask, info):
    return True if _late(info) else uniform(observation, mask, info)


def nothing(observation, mask, info):
    if not _late(info):
        return uniform(observation, mask, info)


def dies(observation, mask, info):
    if _late(info):
        os._exit(3)
    return uniform(observation, mask, info)


class Forgets:
    """Raises when an episode begins."""

    def __init__(self):
        self.episodes = 0

    def reset(self):
        self.episodes += 1
        if self.episodes == 2:
            raise KeyError("episode")

    def __call__(self, observation, mask, info):
        return uniform(observation, mask, info)


def slow(observation, mask, info):
    time.sleep(0.2)
    return uniform(observation, mask, info)


def two(observation, mask):
    return 0


def broken():
    raise OSError("no weights")


def makes_a_number():
    return 7


def untimely(observation, mask, info):
    return 0


untimely.time_limit = 0
number = 7
