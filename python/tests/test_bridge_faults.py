"""What happens to the environments when something dies, forks, is full or of another version."""

import gc
import glob
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import weakref

import numpy as np
import pytest

import hop_marl as hop
from hop_marl import _binary, _wire

POSIX = pytest.mark.skipif(os.name != "posix", reason="signals and forks are of Unix")


def memory_files():
    """The files of shared memory that Python made and that have a name; those that Go makes have no "py"."""
    folders = {"/dev/shm", tempfile.gettempdir()}
    return sorted(f for d in folders for f in glob.glob(os.path.join(d, "hop-bridge-py*.mem")))


def alive(pid):
    """Whether a process runs; one that is dead but not waited for does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def ends(pid, seconds):
    """Whether a process ends within so many seconds."""
    until = time.monotonic() + seconds
    while alive(pid):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture(autouse=True)
def nothing_is_left():
    """No test may leave a named memory file behind."""
    before = set(memory_files())
    yield
    gc.collect()
    until = time.monotonic() + 2
    while set(memory_files()) - before and time.monotonic() < until:
        time.sleep(0.05)
    assert not set(memory_files()) - before


@POSIX
def test_a_killed_hop_is_an_error_within_a_second_and_reset_starts_another():
    env = hop.vec_env("staghunt", 4)
    first = env.reset(seed=1)[0].copy()
    env.step(env.random_actions())
    os.kill(env._game.peer.pid, signal.SIGKILL)
    begun = time.monotonic()
    with pytest.raises(hop.PeerDied, match="is gone: was ended by signal 9"):
        env.step(np.full((4, 4), 4))
    assert time.monotonic() - begun < 1
    with pytest.raises(hop.PeerDied):
        env.random_actions()
    assert np.array_equal(env.reset(seed=1)[0], first)
    env.step(env.random_actions())
    env.close()


@POSIX
def test_hop_killed_in_the_middle_of_a_step():
    env = hop.vec_env("staghunt", 20000)
    env.reset(seed=1)
    env.random_actions()
    pid = env._game.peer.pid
    os.kill(pid, signal.SIGSTOP)  # it will not answer
    env._game.peer.send(1)
    begun = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(hop.PeerDied):
        env._game.peer.wait()
    assert time.monotonic() - begun < 1
    env.close()


@POSIX
@pytest.mark.parametrize("fork", [False, True])
def test_no_orphan_when_python_is_killed(fork):
    """Also when a fork of the killed process still holds the pipe open."""
    code = f"""
        import os, sys, time
        import hop_marl as hop
        env = hop.vec_env("staghunt", 4)
        env.reset(seed=1)
        child = os.fork() if {fork} else 1
        if child:
            print(env._game.peer.pid, child, flush=True)
        time.sleep(60)
    """
    python = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    )
    guest, child = (int(word) for word in python.stdout.readline().split())
    assert alive(guest)
    python.kill()
    python.wait()
    assert ends(guest, 1.0)
    if fork:
        os.kill(child, signal.SIGKILL)
    python.stdout.close()


def test_garbage_collection_ends_hop():
    env = hop.vec_env("staghunt", 4)
    obs, _ = env.reset(seed=1)
    kept, pid, gone = obs[0, 0].copy(), env._game.peer.pid, weakref.ref(env)
    del env
    gc.collect()
    assert gone() is None
    if os.name == "posix":
        assert ends(pid, 1.0)
    assert np.array_equal(obs[0, 0], kept)  # the memory lasts as long as a view of it
    obs[0, 0] = 1


def test_the_interpreters_end_ends_hop():
    code = "import hop_marl as hop; e = hop.vec_env('staghunt', 4); e.reset(); print(e._game.peer.pid)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    if os.name == "posix":
        assert ends(int(done.stdout), 1.0)


def test_an_exception_in_python_leaves_the_env_usable():
    env = hop.vec_env("staghunt", 4, illegal="error")
    env.reset(seed=1)
    with pytest.raises(ValueError):
        env.step(np.zeros((2, 2), int))
    with pytest.raises(hop.HopError):
        env.step(np.full((4, 4), 99))
    env.step(env.random_actions())
    env.close()
    env.close()
    with pytest.raises(hop.HopError, match="closed"):
        env.step(np.full((4, 4), 4))
    env.reset(seed=1)  # starts another one
    env.close()


def work(env, seed, queue):
    """What a child process does with an env that it was given: reset it and play."""
    try:
        try:
            env.step(np.full((2, 4), 4))
            said = "stepped"
        except hop.HopError as err:
            said = type(err).__name__
        obs, _ = env.reset(seed=seed)
        for _ in range(10):
            obs = env.step(env.random_actions())[0]
        queue.put((said, obs.copy()))
        env.close()
    except BaseException as err:  # the parent must hear of it
        queue.put((repr(err), None))


@POSIX
@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_multiprocessing(how):
    """A fork must reset before it steps, and says so; a spawned child goes on from a copy."""
    context = multiprocessing.get_context(how)
    env = hop.vec_env("staghunt", 2, illegal="replace")
    env.reset(seed=1)
    queue = context.Queue()
    children = [context.Process(target=work, args=(env, 5, queue)) for _ in range(2)]
    for c in children:
        c.start()
    got = [queue.get(timeout=60) for _ in children]
    for c in children:
        c.join(20)
        assert c.exitcode == 0
    obs, _ = env.reset(seed=5)  # the parent's own goes on
    for _ in range(10):
        obs = env.step(env.random_actions())[0]
    for said, theirs in got:
        assert said == ("Forked" if how == "fork" else "stepped")
        assert np.array_equal(theirs, obs)
    env.close()


@POSIX
def test_an_async_vector_of_parallel_envs():
    """gymnasium-style workers: each makes its env in its own process."""
    pytest.importorskip("pettingzoo")
    with multiprocessing.get_context("fork").Pool(2) as pool:
        a, b = pool.map(first_observation, [3, 3])
    assert np.array_equal(a, b)


def first_observation(seed):
    """What agent_0 of a parallel env first sees."""
    env = hop.parallel_env("staghunt")
    obs, _ = env.reset(seed=seed)
    env.close()
    return obs["agent_0"]["observation"]


@POSIX
def test_a_full_disk_is_said(monkeypatch):
    write = os.write

    def full(fd, data):
        if len(data) > 9999:  # no message is that long
            raise OSError(28, "No space left on device")
        return write(fd, data)

    monkeypatch.setattr(_wire.os, "write", full)
    begun = time.monotonic()
    with pytest.raises(OSError, match=r"no room for .* MB of shared memory.*No space.*TMPDIR"):
        hop.vec_env("staghunt", 64)
    assert time.monotonic() - begun < 5


def test_more_memory_than_there_can_be_is_refused():
    with pytest.raises(hop.HopError, match="copies of staghunt take about .* GB.*fewer"):
        hop.vec_env("staghunt", 1 << 40)


@POSIX
@pytest.mark.parametrize(
    "answer, sentence",
    [
        ('{"version": "9.9.9", "kernels": "avx2"}', "is hop 9.9.9, and this package is hop"),
        ("hop: a brewing calculator", "is not the hop of this package"),
        ("{}", "does not answer `hop version --json`"),
    ],
)
def test_another_program_or_version_is_refused(tmp_path, monkeypatch, answer, sentence):
    fake = tmp_path / "hop"
    fake.write_text(f"#!/bin/sh\ncat <<'X'\n{answer}\nX\n", encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setenv("HOP_BINARY", str(fake))
    with pytest.raises(_binary.BinaryError, match=sentence) as said:
        hop.vec_env("staghunt")
    assert "HOP_BINARY" in str(said.value)
    monkeypatch.setenv("HOP_BINARY", str(tmp_path / "none"))
    with pytest.raises(_binary.BinaryError, match="no such file"):
        hop.vec_env("staghunt")


@POSIX
def test_another_protocol_is_refused(tmp_path, monkeypatch):
    """A program of the right name and version that speaks another protocol."""
    fake = tmp_path / "hop"
    fake.write_text(
        textwrap.dedent(f"""\
        #!{sys.executable}
        import json, struct, sys
        if sys.argv[1] == "version":
            print(json.dumps({{"version": "{hop.__version__}", "kernels": "x"}}))
        else:
            body = json.dumps({{"protocol": 99, "version": "9.9.9"}}).encode()
            sys.stdin.buffer.read(5)
            sys.stdout.buffer.write(struct.pack("<IB", len(body), 0) + body)
            sys.stdout.flush()
            sys.stdin.buffer.read()
        """),
        encoding="utf-8",
    )
    fake.chmod(0o755)
    monkeypatch.setenv("HOP_BINARY", str(fake))
    with pytest.raises(hop.HopError, match="speaks protocol 99.*speaks 1"):
        hop.vec_env("staghunt")


def test_what_python_writes_into_the_arrays_decides_nothing():
    env, good = hop.vec_env("staghunt", 4, copy=True), hop.vec_env("staghunt", 4, copy=True)
    env.reset(seed=1)
    good.reset(seed=1)
    for _ in range(80):
        for name in ("alive", "over", "terminated", "steps", "rewards", "returns"):
            env._game.arrays[name].view(np.uint8)[:] ^= 1
        a, b = env.step(env.random_actions()), good.step(good.random_actions())
        for x, y in zip((*a[:4], *a[4].values()), (*b[:4], *b[4].values())):
            assert np.array_equal(x, y)
    env.close()
    good.close()
