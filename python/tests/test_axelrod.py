"""Best responses to players of Axelrod's library, by hand. It skips without axelrod (torch and all)."""

import sys
from pathlib import Path

import pytest

axelrod = pytest.importorskip("axelrod")
sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "axelrod"))
import tournament  # noqa: E402


@pytest.mark.parametrize(
    "name, most",
    [
        ("Cooperator", 200 * 5),
        ("Defector", 200 * 1),
        ("TitForTat", 199 * 3 + 5),  # the last round is nobody's to answer
        ("TitFor2Tats", 200 * 4 + 2),  # C and D in turns, and D at the end
        ("Alternator", 100 * 5 + 100 * 1),
        ("HardTitForTat", 199 * 3 + 5),
    ],
)
def test_best_responses_are_exact(name, most):
    assert tournament.solved(getattr(axelrod, name)) == pytest.approx(most / 200)


def test_by_chance_and_by_rounds_agree():
    player = axelrod.MemoryOnePlayer(four_vector=(1, 0, 1, 0), initial=axelrod.Action.C)
    assert tournament.by_chance(player) == pytest.approx(tournament.by_rounds(axelrod.TitForTat, 1))


def test_who_looks_further_back_than_it_says_is_not_solved():
    assert tournament.by_rounds(axelrod.TitFor2Tats, 1) is None


def test_a_round_robin_goes_on_and_counts_both_sides(tmp_path):
    players = [axelrod.Cooperator, axelrod.Defector, axelrod.TitForTat]
    file = str(tmp_path / "rr.json")
    rows = tournament.round_robin(players, file)
    assert rows["Defector"][0] == (5.0, 0.0, 0.0, 1.0)
    assert rows["Cooperator"][1] == (0.0, 5.0, 1.0, 0.0)
    again = tournament.round_robin(players, file)
    assert [list(x) for x in again["Tit For Tat"]] == [list(x) for x in rows["Tit For Tat"]]
    said = tournament.page(players, rows, {}, [tournament.solved(p) for p in players])
    assert "| `Defector` | 1 |" in said
