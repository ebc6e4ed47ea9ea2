"""hop: games with mixed motives, agents that infer, imagine, plan and learn, and what is wrong with a run."""

from .recorder import Recorder

__all__ = ["Recorder"]
