"""One of hop's own games, served to Python and given back to hop as an environment in Python."""

from __future__ import annotations

import hop_marl as hop

GAME = {"size": 4, "agents": 2, "hares": 2, "horizon": 20}


def hunt():
    """A stag hunt that declares its layout, as hop's own game says it of itself."""
    env = hop.parallel_env("staghunt", **GAME)
    spec = env.spec_of_game
    seen = spec["obs"]
    env.hop_layout = {
        **{k: seen.get(k, 0) for k in ("height", "width", "planes", "owned", "features")},
        **{k: seen[k] > 0 for k in ("legal", "time", "last")},
        "symmetric": True,
        "horizon": spec["horizon"],
        "actions": spec["actions"],
    }
    return env
