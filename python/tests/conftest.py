"""What several tests share."""

import subprocess

import pytest

# Files whose tests take long and do not care who runs beside them: each may go to any process of
# xdist. The tests of other files share what a fixture made, or count processes, and stay together.
APART = {"test_bugs", "test_envs_for_real", "test_onnx", "test_player", "test_recorder"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Says to xdist (--dist loadgroup) which tests belong together."""
    for item in items:
        name = item.path.stem
        if "plus" in item.fixturenames:
            name = "plus"  # trained once
        if name not in APART:
            item.add_marker(pytest.mark.xdist_group(name))


# hop+types in seconds, with everything that a frame can make of a board: turned views, co-players
# without an order and walking distances around blocks.
PLUS = """
base: hop+types
game: {size: 5, blocks: 3}
prepare:
  - name: response
    pretrain response: {steps: 3000, envs: 16, net: {distances: true}, episodes: 4}
  - {name: data, collect: {population: "{response}", rows: 2000, seed: 7}}
  - name: vae
    pretrain vae: {data: "{data}", model: {loss: b, hidden: [32]}, epochs: 1}
  - {name: cvae, pretrain cvae: {data: "{data}", vae: "{vae}", epochs: 1}}
  - name: moa
    pretrain moa:
      {data: "{data}", condition: kind, cvae: "{cvae}", model: {hidden: [16, 16]}, learning: {augment: none, decay: 0}, epochs: 1}
  - name: world
    pretrain world: {data: ["{data}"], epochs: 1, probe: 2000, plays: 20}
moa: {hidden: [16, 16], distances: true}
train: {envs: 4, window: 10, steps: 80}
eval: {episodes: 4}
follow: []
"""


@pytest.fixture(scope="session")
def plus(tmp_path_factory) -> str:
    """The folder of a run of hop+types, hardly trained."""
    from hop_marl._binary import binary

    folder = tmp_path_factory.mktemp("plus")
    (folder / "tiny.yaml").write_text(PLUS)
    args = [binary(), "train", str(folder / "tiny.yaml"), "--out", str(folder), "--json"]
    done = subprocess.run(args, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return str(next(folder.glob("*-001")))
