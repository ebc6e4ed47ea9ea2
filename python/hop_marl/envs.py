"""hop's games as Python environments: `parallel_env` and `vec_env`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._binary import binary
from ._own import make
from ._wire import Peer

if TYPE_CHECKING:
    from ._flat import FlatVecEnv
    from ._parallel import HopParallelEnv
    from ._vec import HopVecEnv


def parallel_env(
    game: str,
    /,
    *,
    render_mode: str | None = None,
    mask: str = "obs",
    leave: bool = True,
    illegal: str = "warn",
    **params: Any,
) -> HopParallelEnv:
    """One of hop's games as a PettingZoo ParallelEnv.

    game: its name; `hop.games()` lists them.
    render_mode: "rgb_array", "ansi" or "human" show the pictures of `hop play`.
    mask: "obs" makes an observation a dict of "observation" and "action_mask", as PettingZoo's
        own games do; "info" leaves the observation a plain array, which SuperSuit and most
        vectorisers want, and puts the mask into infos[agent]["action_mask"].
    leave: agents leave the env when they leave the game. False keeps all of them until the
        episode is over, for libraries that need a fixed number: one that has left sees zeros,
        earns 0, may only play action 0, which is not looked at, and infos[agent]["alive"] is
        False.
    illegal: what happens to an action that is not legal. "warn" plays "stay" instead, or the
        first legal action where there is no such, and warns of the first one; "replace" does not
        warn; "error" refuses it with a sentence before anything is played. One that is not even
        in the action space is refused, unless with "replace".
    params: of the game, such as size=8, blocks=5; `hop list fields --game staghunt` lists them.

    What ends an agent by the rules, the game's horizon among them, is a termination; a limit
    that agents cannot see is a truncation. `reset(seed=7)` starts the episode that
    `hop play --seed 7` starts.

    "python" with env="module:function" and kwargs is that environment of yours, as a run that was
    trained on it names it: hop.parallel_env(agent.game, **agent.params).
    """
    if game == "python":
        return make(params.pop("env", ""), **params)
    try:
        from ._parallel import HopParallelEnv
    except ImportError as err:
        raise ImportError(
            f"hop.parallel_env needs PettingZoo and gymnasium ({err}): "
            "pip install 'hop-marl[pettingzoo]'. hop.vec_env works without them."
        ) from err
    return HopParallelEnv(game, params, render_mode, mask, leave, illegal)


def vec_env(
    game: str,
    /,
    num_envs: int = 1,
    *,
    threads: int = 1,
    copy: bool = False,
    illegal: str = "warn",
    flat: bool = False,
    autoreset: str = "next_step",
    **params: Any,
) -> HopVecEnv | FlatVecEnv:
    """Many copies of one of hop's games, stepped together; a gymnasium VectorEnv if that is there.

    num_envs: how many copies.
    threads: how many cores step them; the same bytes come out for any number.
    copy: False gives views of the memory that hop writes, valid until the next step or reset;
        True gives copies that may be kept.
    illegal, params: as in `parallel_env`.
    flat: every agent of every copy as an env of its own, num_envs x agents of them, as gymnasium's
        wrappers and libraries for a single agent have it (`.sb3()` as Stable-Baselines3 has it).
    autoreset: of flat ones, also "same_step".

    Arrays have the copies first and the agents second: observations [N][A][length], rewards,
    terminations and truncations [N][A]. infos holds "action_mask" [N][A][actions], "alive"
    [N][A] (who acts now), "over" [N] (the episode is over), and the episode's "returns" [N][A]
    and "steps" [N] so far.

    Autoreset is gymnasium's NEXT_STEP: the step after an episode's last one ignores its actions,
    earns nothing and returns the next episode's first observations, so an episode's last
    observations are where they belong. Learn from the rows whose agent was alive before the step:
    that leaves out both agents that have left and steps that only reset.
    """
    from ._vec import HopVecEnv

    inner = HopVecEnv(game, params, num_envs, threads, illegal, copy)
    if not flat:
        return inner
    try:
        from ._flat import FlatVecEnv
    except ImportError as err:
        inner.close()
        raise ImportError(f"flat=True needs gymnasium ({err}): pip install 'hop-marl[gymnasium]'") from err
    return FlatVecEnv(inner, autoreset)


def games() -> dict[str, str]:
    """The names of the games, and a few words on what each is about."""
    peer = Peer([binary(), "bridge"])
    try:
        return peer.call("games")["games"]
    finally:
        peer.close()
