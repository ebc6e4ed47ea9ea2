"""Rows of users' own games: written, read, and learnt from by `hop pretrain`."""

import json
import os
import subprocess

import numpy as np
import pytest

from hop_marl import dataset
from hop_marl._binary import binary

MOVES = ["up", "down", "left", "right", "stay"]


def hop(*args: str) -> dict:
    """Runs a command and returns its JSON."""
    done = subprocess.run([binary(), *args, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return {**json.loads(done.stdout), "said": done.stderr}


class Gems:
    """A game that hop does not have: three walk on 4 by 4 cells and leave with a gem; the first
    two head for one, the third wanders."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def board(self, at, gems) -> np.ndarray:
        out = np.zeros((4, 4, 4), np.uint8)
        for i, p in enumerate(at):
            if p is not None:
                out[p][i] = 1
        for p in gems:
            out[p][3] = 1
        return out

    def episode(self, steps: int = 12) -> dict:
        """Plays one and returns its arrays."""
        cells = [tuple(c) for c in np.argwhere(np.ones((4, 4)))]
        pick = self.rng.choice(16, 5, replace=False)
        at, gems = [cells[i] for i in pick[:3]], [cells[i] for i in pick[3:]]
        boards, acts, rewards, left, reached = [self.board(at, gems)], [], [], [], []
        for _ in range(steps):
            act, pay, out, got = np.full(3, -1), np.zeros(3), np.zeros(3, bool), np.full(3, -1)
            for i, p in enumerate(at):
                if p is None:
                    continue
                act[i] = self.rng.integers(5)
                if i < 2 and gems:
                    y, x = min(gems, key=lambda g: abs(g[0] - p[0]) + abs(g[1] - p[1]))
                    ways = [(y < p[0], 0), (y > p[0], 1), (x < p[1], 2), (x > p[1], 3)]
                    act[i] = next((k for ok, k in ways if ok), 4)
            for i, p in enumerate(at):
                if p is None:
                    continue
                dy, dx = [(-1, 0), (1, 0), (0, -1), (0, 1), (0, 0)][act[i]]
                at[i] = (min(max(p[0] + dy, 0), 3), min(max(p[1] + dx, 0), 3))
            for i, p in enumerate(at):
                if p in gems:
                    gems.remove(p)
                    pay[i], out[i], got[i] = 1, True, 0
            # What is seen last still shows those who have just left.
            boards.append(self.board(at, gems))
            at = [None if out[i] else p for i, p in enumerate(at)]
            acts.append(act), rewards.append(pay), left.append(out), reached.append(got)
            if not any(p is not None for p in at):
                break
        return {
            "obs": np.array(boards),
            "actions": np.array(acts),
            "rewards": np.array(rewards),
            "terminated": np.array(left),
            "reached": np.array(reached),
            "bots": [0, 0, 1],
        }


def gems(episodes: int) -> tuple[dataset.Layout, dict[str, np.ndarray]]:
    """Returns rows of that game."""
    game = Gems(3)
    played = [game.episode() for _ in range(episodes)]
    return dataset.rows(played, actions=MOVES, planes=["gem"], goals=["gem"], horizon=12)


def test_hop_learns_from_a_game_of_ones_own(tmp_path):
    """Codes of states, a model of others and of the rules, from rows that Python wrote."""
    layout, columns = gems(250)
    folder = str(tmp_path / "data")
    dataset.write(folder, columns, layout, game="gems", bots=["seeker", "wanderer"])
    moa = hop("pretrain", "moa", "--data", folder, "--epochs", "6", "--out", str(tmp_path / "moa"))
    assert moa["top1"] > moa["baselines"]["uniform_legal"]["top1"] + 0.1
    assert moa["limit_top1"] is None and "does not have" in moa["limit_error"]
    assert "left out" in moa["said"]
    args = ["--set", "epochs=1"]
    vae = hop("pretrain", "vae", "--data", folder, *args, "--out", str(tmp_path / "vae"))
    assert np.isfinite(vae["cpu_s"])
    world = hop("pretrain", "world", "--data", folder, *args, "--out", str(tmp_path / "world"))
    assert world["probe"] is None and world["rows"] > 50
    card = (tmp_path / "world" / "card.md").read_text()
    assert "hop does not have" in card
    cvae = ["pretrain", "cvae", "--data", folder, "--vae", str(tmp_path / "vae"), *args]
    assert hop(*cvae, "--out", str(tmp_path / "cvae"))["verdict"]


GAMES = ["staghunt", "snowdrift", "coin", "foraging", "tag", "cleanup", "commons", "matrix"]


@pytest.mark.parametrize("game", GAMES)
def test_what_was_collected_is_written_alike(game, tmp_path):
    """read, write, read: the same columns, and hop takes the folder."""
    first, second = str(tmp_path / "a"), str(tmp_path / "b")
    args = ["--game", game, "--team", "random", "--rows", "300", "--shard", "20000"]
    hop("collect", *args, "--out", first)
    data = dataset.read(first)
    dataset.write(second, data)
    again = dataset.read(second)
    assert again.layout == data.layout and again.game == data.game and again.bots == data.bots
    for name, a in data.columns.items():
        assert a.dtype == again.columns[name].dtype
        np.testing.assert_array_equal(a, again.columns[name], err_msg=name)


def test_models_of_both_folders_are_the_same(tmp_path):
    """hop pretrain on what was written again gives the same card."""
    first, second = str(tmp_path / "a"), str(tmp_path / "b")
    hop("collect", "--mix", "ns,nh", "--rows", "3000", "--seed", "7", "--out", first)
    dataset.write(second, dataset.read(first))
    results, cards = [], []
    for folder in (first, second):
        out = folder + "-moa"
        args = ["--data", folder, "--condition", "type", "--epochs", "1", "--out", out]
        r = hop("pretrain", "moa", *args)
        cards.append(open(os.path.join(out, "card.md")).read())
        apart = ("run", "said", "cpu_s", "wall_s", "epoch_cpu_s")
        results.append({k: v for k, v in r.items() if k not in apart})
    assert results[0] == results[1] and cards[0] == cards[1]
    assert results[0]["limit_top1"] > 0.8  # its episodes could be replayed


def test_rows_of_a_small_episode():
    """Two agents, two steps: ego-first order, last actions, ends and goals, by hand."""
    obs = np.zeros((3, 1, 2, 3), np.uint8)  # one board for all: agent 0, agent 1, a thing
    obs[:, 0, 0, 0] = obs[:, 0, 1, 1] = 1
    layout, c = dataset.rows(
        [
            {
                "obs": obs,
                "actions": np.array([[1, 2], [-1, 0]]),
                "rewards": np.array([[5.0, 7.0], [99.0, 1.0]]),
                "terminated": np.array([[True, False], [False, False]]),
                "reached": np.array([[-1, -1], [-1, 1]]),
            }
        ],
        actions=3,
        goals=["a", "b"],
    )
    assert layout.planes == ["self", "other_1", "plane_2"] and layout.horizon == 2
    assert c["agent"].tolist() == [0, 1, 1] and c["t"].tolist() == [0, 0, 1]
    assert c["joint"].tolist() == [[1, 2], [2, 1], [0, -1]]
    assert c["last"].tolist() == [[-1, -1], [-1, -1], [2, 1]]
    assert c["alive"].tolist() == [[True, True], [True, True], [True, False]]
    assert c["rewards"].tolist() == [[5, 7], [7, 5], [1, 0]]  # nothing for those who have left
    assert c["end"].tolist() == [dataset.EXITED, dataset.GOING, dataset.CUT]
    assert c["next_alive"].tolist() == [[False, True], [True, False], [False, False]]
    assert c["over"].tolist() == [False, False, True]
    assert c["goal"].tolist() == [-1, 1, 1]
    assert c["obs"][0, 0, :, 0].tolist() == [1, 0] and c["obs"][1, 0, :, 0].tolist() == [0, 1]
    assert not c["next_legal"][0].any() and c["next_legal"][1].all()


def test_every_fault_is_named_at_once(tmp_path):
    """Orders that are mixed up, numbers that cannot be: one error with all of them."""
    layout, columns = gems(5)
    bad = {k: v.copy() for k, v in columns.items()}
    bad["joint"] = bad["joint"][:, ::-1].copy()
    bad["t"][3] = 77
    bad["bot"][4] = 9
    with pytest.raises(ValueError) as err:
        dataset.write(tmp_path / "x", bad, layout, bots=["seeker", "wanderer"])
    text = str(err.value)
    wanted = ("joint is not ego-first", "t is not 0 to 11", "bot is not 0 to 1", "out of order")
    assert all(words in text for words in wanted), text
    assert not (tmp_path / "x").exists()
    short = {k: v for k, v in columns.items() if k != "alive"}
    short["rewards"] = short["rewards"][:, :2]
    with pytest.raises(ValueError, match="(?s)'alive' is missing.*'rewards' has shape"):
        dataset.write(tmp_path / "x", short, layout)
    nobody = {k: v.copy() for k, v in columns.items()}
    nobody["obs"][..., 0] = 0
    with pytest.raises(ValueError, match="plane 0 must show the row's own agent"):
        dataset.write(tmp_path / "x", nobody, layout, bots=["a", "b"])


def test_faults_of_episodes_are_named_at_once():
    """What rows refuses, with the episode."""
    good = Gems(1).episode()
    bad = {**good, "actions": good["actions"] + 9, "oops": 1}
    wrong = {**good, "rewards": good["rewards"][:, :2], "obs": good["obs"][:-1]}
    with pytest.raises(ValueError) as err:
        dataset.rows([good, bad, wrong], actions=MOVES, goals=["gem"])
    text = str(err.value)
    wanted = ("1: 'oops' is none of", "2: rewards has shape", "2: obs has shape")
    assert all("episode " + words in text for words in wanted), text
    with pytest.raises(ValueError, match="episode 0: agent . plays"):
        dataset.rows([{**good, "actions": good["actions"] + 9}], actions=MOVES, goals=["gem"])
    legal = np.ones((len(good["obs"]), 3, 5), bool)
    legal[:, :, good["actions"][0, 0]] = False
    with pytest.raises(ValueError, match="which legal forbids"):
        dataset.rows([{**good, "legal": legal}], actions=MOVES, goals=["gem"])


def test_vectors_become_rows(tmp_path):
    """Observations without a board: hop opens them; a second folder of that name is refused."""
    rng = np.random.default_rng(0)
    episodes = [
        {
            "obs": rng.normal(size=(7, 2, 5)),
            "actions": rng.integers(3, size=(6, 2)),
            "rewards": rng.normal(size=(6, 2)),
            "truncated": np.repeat([[False], [False], [False], [False], [False], [True]], 2, 1),
        }
        for _ in range(40)
    ]
    layout, columns = dataset.rows(episodes, actions=3)
    assert layout.features == 5 and (columns["end"][5::6] == dataset.CUT).all()
    dataset.write(tmp_path / "d", columns, layout)
    args = ["--data", str(tmp_path / "d"), "--epochs", "1", "--out", str(tmp_path / "m")]
    assert hop("pretrain", "moa", *args)["rows"] > 0
    with pytest.raises(ValueError, match="holds a dataset already"):
        dataset.write(tmp_path / "d", columns, layout)


def test_altered_files_are_refused(tmp_path):
    """Both readers see it."""
    layout, columns = gems(3)
    folder = tmp_path / "d"
    dataset.write(folder, columns, layout, game="<gems> & more \u2028", bots=["a", "b"])
    dataset.read(folder)
    args = ["--data", str(folder), "--epochs", "1", "--out", str(tmp_path / "m")]
    done = subprocess.run([binary(), "pretrain", "moa", *args], capture_output=True, text=True)
    assert "checksum" not in done.stderr, done.stderr
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(text.replace('"seed": 0', '"seed": 1'))
    with pytest.raises(ValueError, match="altered"):
        dataset.read(folder)
    (folder / "manifest.json").write_text(text)
    body = (folder / "shard-00000.npz").read_bytes()
    (folder / "shard-00000.npz").write_bytes(body[:-9] + b"123456789")
    with pytest.raises(ValueError, match="altered"):
        dataset.read(folder)
    with pytest.raises(FileNotFoundError, match="holds no dataset"):
        dataset.read(tmp_path)
