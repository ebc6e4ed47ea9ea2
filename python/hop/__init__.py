"""hop: games with mixed motives, agents that infer, plan and learn, and what ails a run."""

from . import dataset
from ._binary import BinaryError
from ._version import __version__
from ._wire import HopError, PeerDied
from ._strangers import Strangers, strangers
from .agents import Agent, Look, Other, bot, bots, load
from .envs import games, parallel_env, vec_env
from .recorder import Recorder

__all__ = [
    "Agent",
    "BinaryError",
    "HopError",
    "Look",
    "Other",
    "PeerDied",
    "Recorder",
    "Strangers",
    "__version__",
    "bot",
    "bots",
    "dataset",
    "games",
    "load",
    "parallel_env",
    "strangers",
    "vec_env",
]
