"""The whole training of hop's preset ppo-4x4 in JAX, to be run on the card beside `hop-cuda bench train ppo-4x4`.

    python3 python/bench/cuda_jax.py [--sizes 1x128,16x128,48x128,16x1024] [--steps 590000]
    HOP_BINARY=/tmp/hop PYTHONPATH=python python3 python/bench/cuda_jax.py --check

One compiled program is sixteen windows of everything: games, acting, advantages, four epochs of minibatches, Adam.
All seeds and all agents' networks are one batch, memory is given back to the program, and Python calls it nine
times for a training of 590,000 env steps. It needs jax and nothing else.

Prints a JSON object for every size. start_s is Python, JAX and the card, compile_s from starting weights to the program
on the card, train_s the training of --steps after that. A turn is as many steps again, which go on from there:
agent-steps a second of the clock at which the agent was alive, as hop counts them, and of agents who have learnt, as
hop measures the second half of a training. "return" is the mean over episodes that ended in the last ninth of the
training; hop scores its final agents at 2.88. "curve" has all ninths. Where JAX_COMPILATION_CACHE_DIR names a folder,
programs are kept there, and compile_s of a second run is what it takes to read them.

As in hop: the rules (--check plays them beside hop's own), four networks of two layers of 64 whose value is one
more output, orthogonal starting weights, 128 games, windows of 32, four epochs, all of PPO's and Adam's numbers,
advantages normalised over a window's alive rows. Other than in hop:

- Shapes are fixed, so a pass is five minibatches of 816 of the window's 4,096 rows, of which those of agents who have
  left weigh nothing; 16 rows are left over. When agents have learnt three fifths are alive, so that a gradient step
  is of 500 as it is in hop of 512. A training is of 2,880 gradient steps in each network; hop takes 2,800 to 2,930.
- All networks learn in the same random order. That saves sorting for each, for JAX.
- The observation is 168 numbers where hop's frame has 422: other agents and the stag by row and by column from
  oneself, hares by both together and by each. It says the same; the first layer is 2.5 times smaller, for JAX.
  Games are kept as eleven numbers, and made into observations where a product needs them.
- Products are rounded to TF32, JAX's default on a card; hop's are in full. For JAX; --precision highest is without.
- hop guards its numbers, counts and logs more of a training, and saves. For JAX.
"""

import argparse
import json
import time

BEGAN = time.perf_counter()

import jax
import jax.numpy as jnp
import numpy as np

WINDOW, EPOCHS, MINIBATCH, ALIVE = 32, 4, 512, 0.61
GAMMA, LAMBDA, CLIP, ENTROPY, VALUE, MAX_GRAD, RATE, SCALE = 0.99, 0.95, 0.2, 0.01, 0.5, 0.5, 1e-3, 0.2
SIDE, CELLS, AGENTS, HARES, HORIZON, ACTIONS = 4, 16, 4, 4, 35, 7
UP, DOWN, LEFT, RIGHT, STAY, STAG, HARE = range(ACTIONS)
GONE, NONE = CELLS, -1  # a cell, an action
WIDTH = 24 * 7
DRAWS = HARES + 1 + AGENTS + 1  # for a start

# A game is a dict of whole numbers for S seeds of E games: pos, last [S][AGENTS][E]; stag, hares, time [S][E]. stag is
# a cell, and hares has a bit for each cell.


def fresh(bits):
    """Games that begin, of random bits [DRAWS][S][E]: prey on distinct cells, agents anywhere."""

    def below(i, n):
        return (bits[i] >> 8).astype(jnp.int32) % n

    # Floyd's way to draw distinct cells; which of them is the stag's is drawn again.
    prey = []
    for i in range(HARES + 1):
        most = CELLS - HARES - 1 + i
        cell = below(i, most + 1)
        for other in prey[:i]:
            cell = jnp.where(cell == other, NONE, cell)
        prey.append(jnp.where(cell == NONE, most, cell))
    which = below(DRAWS - 1, HARES + 1)
    stag = sum(jnp.where(which == i, cell, 0) for i, cell in enumerate(prey))
    hares = sum(jnp.where(which == i, 0, 1 << cell) for i, cell in enumerate(prey))
    pos = jnp.stack([below(HARES + 1 + a, CELLS) for a in range(AGENTS)], 1)
    return {"pos": pos, "last": jnp.full_like(pos, NONE), "stag": stag, "hares": hares, "time": jnp.zeros_like(stag)}


def legal_in(g):
    """Who may do what [S][AGENTS][E][ACTIONS]; who has left may stay, which means nothing."""
    pos = g["pos"]
    y, x = pos // SIDE, pos % SIDE
    crowd = (pos[:, :, None] == pos[:, None]).sum(2)
    stag = (pos == g["stag"][:, None]) & (pos != GONE) & (crowd >= 2)
    hare = (g["hares"][:, None] >> pos & 1) == 1
    here = pos != GONE
    moves = [here & (y > 0), here & (y < SIDE - 1), here & (x > 0), here & (x < SIDE - 1)]
    return jnp.stack([*moves, jnp.ones_like(stag), stag, hare], -1)


def step(g, acts):
    """Plays legal actions [S][AGENTS][E]: the games after it, what was earned, and which are over."""
    here = g["pos"] != GONE
    acts = jnp.where(here, acts, NONE)
    by = (acts == DOWN) * SIDE - (acts == UP) * SIDE + (acts == RIGHT) - (acts == LEFT)
    pos = g["pos"] + by
    together = pos[:, :, None] == pos[:, None]
    hunts, hunters = {}, {}
    for kind in (STAG, HARE):
        hunts[kind] = acts == kind
        hunters[kind] = (together & hunts[kind][:, None]).sum(2)
    stag, hare = hunts[STAG] & (hunters[STAG] >= 2), hunts[HARE]
    shares = {kind: 1 / jnp.maximum(n, 1) for kind, n in hunters.items()}
    reward = jnp.where(stag, 10 * shares[STAG], jnp.where(hare, shares[HARE], 0.0))
    caught = jnp.where(hare, 1 << pos, 0)
    hares = g["hares"]
    for a in range(AGENTS):
        hares = hares & ~caught[:, a]
    pos = jnp.where(stag | hare, GONE, pos)
    after = {
        "pos": pos,
        "last": acts,
        "stag": jnp.where(stag.any(1), NONE, g["stag"]),
        "hares": hares,
        "time": g["time"] + 1,
    }
    return after, reward, (after["time"] >= HORIZON) | (pos == GONE).all(1)


def observe(g, legal):
    """What every agent sees [S][AGENTS][E][WIDTH]: 24 fields of seven bits, by the difference to where it stands."""
    pos = g["pos"]
    y, x = pos // SIDE, pos % SIDE

    def around(line, own):
        """Bits of a row or column of the board, of which the middle one of seven is one's own."""
        return line << (SIDE - 1) >> own

    def spot(cell):
        """Where a cell is, by row and by column; none is nowhere."""
        shown = (cell >= 0) & (cell < CELLS)
        return [jnp.where(shown, around(1 << of, own), 0) for of, own in ((cell // SIDE, y), (cell % SIDE, x))]

    hares = jnp.broadcast_to(g["hares"][:, None], pos.shape)
    lines = [hares >> SIDE * r & 0xF for r in range(SIDE)]
    fields = [1 << y | 1 << SIDE, 1 << x]  # a bit that is always 1 is the first layer's bias
    for k in range(1, AGENTS):
        fields += spot(jnp.roll(pos, -k, 1))
    fields += spot(jnp.broadcast_to(g["stag"][:, None], pos.shape))
    for dy in range(1 - SIDE, SIDE):
        inside = (y + dy >= 0) & (y + dy < SIDE)
        fields.append(jnp.where(inside, around(hares >> SIDE * jnp.clip(y + dy, 0, SIDE - 1) & 0xF, x), 0))
    fields.append(around(sum((line > 0) << r for r, line in enumerate(lines)), y))
    fields.append(around(lines[0] | lines[1] | lines[2] | lines[3], x))
    fields.append(sum(legal[..., k] << k for k in range(ACTIONS)))
    for k in range(AGENTS):
        last = jnp.roll(g["last"], -k, 1)
        fields.append(jnp.where(last >= 0, 1 << jnp.maximum(last, 0), 0))
    bits = (jnp.stack(fields, -1)[..., None] >> jnp.arange(7) & 1).reshape(*pos.shape, WIDTH)
    time = (g["time"] / HORIZON)[:, None, :, None]
    return jnp.where(jnp.arange(WIDTH) == SIDE + 1, time, bits.astype(jnp.float32))


def outputs(p, obs, legal):
    """Log-probabilities of one network's actions, and values, of its observations [..][WIDTH]."""
    h = jax.nn.relu(obs @ p["w1"])  # an input is 1
    h = jax.nn.relu(h @ p["w2"] + p["b2"])
    out = h @ p["w3"] + p["b3"]
    return jax.nn.log_softmax(jnp.where(legal, out[..., :ACTIONS], -1e9)), out[..., ACTIONS]


def each(f):
    """f for every seed and agent."""
    return jax.vmap(jax.vmap(f))


def loss(p, obs, legal, row, bonus=ENTROPY):
    """PPO's loss of a network's minibatch; rows of who has left weigh nothing."""
    logp, value = outputs(p, obs, legal)
    weight = row["alive"] / jnp.maximum(row["alive"].sum(), 1)
    chosen = (logp * jax.nn.one_hot(row["act"], ACTIONS)).sum(-1)
    ratio = jnp.exp(jnp.where(row["alive"] > 0, chosen - row["logp"], 0))
    policy = -jnp.minimum(ratio * row["adv"], jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * row["adv"])
    entropy = -(jnp.exp(logp) * logp).sum(-1)
    return (weight * (policy + VALUE * 0.5 * (value - row["ret"]) ** 2 - bonus * entropy)).sum()


def adam(p, m, v, grad, count):
    """A step of Adam, of a gradient no longer than MAX_GRAD in each network."""
    squares = sum((x**2).sum(tuple(range(2, x.ndim))) for x in jax.tree.leaves(grad))
    scale = jnp.minimum(1, MAX_GRAD / (jnp.sqrt(squares) + 1e-12))
    grad = jax.tree.map(lambda x: x * scale.reshape(scale.shape + (1,) * (x.ndim - 2)), grad)
    m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, grad)
    v = jax.tree.map(lambda a, b: 0.999 * a + 0.001 * b * b, v, grad)
    rate, unbias = RATE / (1 - 0.9**count), 1 / (1 - 0.999**count)
    return jax.tree.map(lambda x, a, b: x - rate * a / (jnp.sqrt(b * unbias) + 1e-5), p, m, v), m, v


def play(p, carry, drawn):
    """One step of all games: what happened, and the games after it, new ones where one was over."""
    g, earned = carry
    noise, bits = drawn
    legal = legal_in(g)
    logp, value = each(outputs)(p, observe(g, legal), legal)
    act = jnp.argmax(logp + noise, -1)
    after, reward, over = step(g, act)
    alive = g["pos"] != GONE
    leaves = alive & ((after["pos"] == GONE) | over[:, None])
    earned = earned + reward.mean(1)
    told = {
        "game": g,
        "act": act.astype(jnp.int8),
        "logp": (logp * jax.nn.one_hot(act, ACTIONS)).sum(-1),
        "value": value,
        "reward": reward,
        "alive": alive,
        "leaves": leaves,
        "earned": (jnp.where(over, earned, 0).sum(1), over.sum(1)),
    }
    again = jax.tree.map(lambda a, b: jnp.where(over if b.ndim == 2 else over[:, None], a, b), fresh(bits), after)
    return (again, jnp.where(over, 0, earned)), told


def advantages(told, last):
    """Generalised advantages [T][S][AGENTS][E], and the returns that follow from them."""

    def back(carry, x):
        following, value = carry
        goes_on = (x["alive"] & ~x["leaves"]).astype(jnp.float32)
        delta = SCALE * x["reward"] + GAMMA * goes_on * value - x["value"]
        adv = jnp.where(x["alive"], delta + GAMMA * LAMBDA * goes_on * following, 0)
        return (adv, x["value"]), adv

    x = {k: told[k] for k in ("alive", "leaves", "reward", "value")}
    _, adv = jax.lax.scan(back, (jnp.zeros_like(last), last), x, reverse=True, unroll=8)
    ret = adv + told["value"]
    alive = told["alive"].astype(jnp.float32)
    count = jnp.maximum(alive.sum((0, 3), keepdims=True), 1)
    mean = (adv * alive).sum((0, 3), keepdims=True) / count
    deviation = jnp.sqrt((alive * (adv - mean) ** 2).sum((0, 3), keepdims=True) / count)
    return (adv - mean) / (deviation + 1e-8), ret, alive


def window(state, drawn, unroll):
    """A window of playing and learning: what a training is made of."""
    order, key = drawn
    p = state["p"]
    seeds, envs = state["earned"].shape
    one, two = jax.random.split(key)
    noise = jax.random.gumbel(one, (WINDOW, seeds, AGENTS, envs, ACTIONS))
    bits = jax.random.bits(two, (WINDOW, DRAWS, seeds, envs))
    carry = state["game"], state["earned"]
    (g, earned), told = jax.lax.scan(lambda c, x: play(p, c, x), carry, (noise, bits), unroll=unroll)
    legal = legal_in(g)
    _, last = each(outputs)(p, observe(g, legal), legal)
    adv, ret, alive = advantages(told, last)

    # Rows [..][T E] in the order of all passes, a minibatch at a time.
    rows = {"act": told["act"], "logp": told["logp"], "adv": adv, "ret": ret, "alive": alive, "game": told["game"]}

    def ordered(x):
        x = jnp.moveaxis(x, 0, -2).reshape(*x.shape[1:-1], -1)
        x = x.at[..., order].get(mode="promise_in_bounds")
        return jnp.moveaxis(x.reshape(*x.shape[:-1], -1, cut(envs)[1]), -2, 0)

    def learn(carry, row):
        p, m, v, count = carry
        g = row.pop("game")
        legal = legal_in(g)
        grad = each(jax.grad(loss))(p, observe(g, legal), legal, row)
        return (*adam(p, m, v, grad, count), count + 1), None

    carry = (p, state["m"], state["v"], state["count"])
    (p, m, v, count), _ = jax.lax.scan(learn, carry, jax.tree.map(ordered, rows), unroll=unroll)
    sums, ended = told["earned"]
    stats = {"alive": alive.sum(), "return": sums.sum(0), "episodes": ended.sum(0)}
    return {"p": p, "m": m, "v": v, "count": count, "game": g, "earned": earned, "key": state["key"]}, stats


def cut(envs):
    """A pass's minibatches of as many alive rows as hop's: how many, and of how many rows. A few rows are left over."""
    many = max(1, round(WINDOW * envs * ALIVE / MINIBATCH))
    return many, WINDOW * envs // many // 8 * 8


def windows(state, count, unroll):
    """So many windows, and what they say [count]."""
    key, one, two = jax.random.split(state["key"], 3)
    envs = state["earned"].shape[1]
    many, rows = cut(envs)
    order = jnp.argsort(jax.random.bits(one, (count, EPOCHS, WINDOW * envs)), -1)
    order = order[..., : many * rows].reshape(count, -1)
    return jax.lax.scan(lambda s, x: window(s, x, unroll), {**state, "key": key}, (order, jax.random.split(two, count)))


def orthogonal(rng, seeds, inputs, outputs, gain):
    """Starting weights of every network, the way of CleanRL and hop."""
    shape = (seeds, AGENTS, max(inputs, outputs), min(inputs, outputs))
    q, r = np.linalg.qr(rng.standard_normal(shape))
    q = q * np.sign(np.diagonal(r, axis1=-2, axis2=-1))[..., None, :]
    return gain * (q if inputs >= outputs else np.swapaxes(q, -1, -2)).astype(np.float32)


def start(seeds, envs, seed=1):
    """A training's beginning."""
    rng = np.random.default_rng(seed)
    heads = [orthogonal(rng, seeds, 64, ACTIONS, 0.01), orthogonal(rng, seeds, 64, 1, 1.0)]
    p = {
        "w1": orthogonal(rng, seeds, WIDTH, 64, 2**0.5),
        "w2": orthogonal(rng, seeds, 64, 64, 2**0.5),
        "b2": np.zeros((seeds, AGENTS, 64), np.float32),
        "w3": np.concatenate(heads, -1),
        "b3": np.zeros((seeds, AGENTS, ACTIONS + 1), np.float32),
    }
    p["w1"][:, :, SIDE] = 0  # the bias
    key, draw = jax.random.split(jax.random.key(seed, impl="rbg"))
    return {
        "p": jax.tree.map(jnp.asarray, p),
        "m": jax.tree.map(jnp.zeros_like, p),
        "v": jax.tree.map(jnp.zeros_like, p),
        "count": jnp.float32(1),
        "game": fresh(jax.random.bits(draw, (DRAWS, seeds, envs))),
        "earned": jnp.zeros((seeds, envs)),
        "key": key,
    }


def measure(seeds, envs, args, start_s):
    """A training, and three turns as long."""
    calls = 9
    count = max(1, args.steps // (WINDOW * envs * calls))
    began = time.perf_counter()
    state = start(seeds, envs)
    program = jax.jit(windows, static_argnums=(1, 2), donate_argnums=0).lower(state, count, args.unroll).compile()
    compiled = time.perf_counter()

    def turn():
        """As many windows as a training has: agent-steps, seconds, and the mean returns of each seed, call by call."""
        nonlocal state
        began, said = time.perf_counter(), []
        for _ in range(calls):
            state, stats = program(state)
            said.append(stats)
        said = jax.device_get(said)
        took = time.perf_counter() - began
        returns = [x["return"].sum(0) / x["episodes"].sum(0).clip(1) for x in said]
        return sum(float(x["alive"].sum()) for x in said), took, returns

    _, train_s, returns = turn()
    turns = [turn() for _ in range(args.turns)]
    rates = sorted(n / s for n, s, _ in turns)
    env_steps, (many, rows) = calls * count * WINDOW * envs, cut(envs)
    alive = turns[-1][0] / (env_steps * AGENTS * seeds)
    return {
        "seeds": seeds,
        "envs": envs,
        "env_steps": env_steps,
        "start_s": round(start_s, 3),
        "compile_s": round(compiled - began, 3),
        "train_s": round(train_s, 3),
        "agent_steps_per_s": rates[len(rates) // 2],
        "turns": [n / s for n, s, _ in turns],
        "return": float(returns[-1].mean()),
        "returns": [round(float(x), 3) for x in returns[-1]],
        "curve": [round(float(x.mean()), 3) for x in returns],
        "alive": round(alive, 3),
        "gradient_steps": calls * count * EPOCHS * many,
        "alive_rows_a_gradient_step": round(alive * rows),
        "precision": args.precision,
        "device": jax.devices()[0].device_kind,
        "jax": jax.__version__,
    }


def check(steps=2000, envs=64):
    """Plays hop's own games step by step beside these, and random agents in these alone."""
    import hop_marl as hop

    env = hop.vec_env("staghunt", num_envs=envs, size=4, stags=1, hares=4, horizon=35)
    obs, info = env.reset(seed=1)
    rng = np.random.default_rng(1)
    g, compared, episodes = None, 0, 0
    began = np.ones(envs, bool)
    move = jax.jit(lambda g, acts: (*step(g, acts), legal_in(g)))
    for _ in range(steps):
        seen = shown(obs, info)
        if g is None:
            g = seen
        # What hop shows is what these games are; one that has just begun is taken over.
        playing = info["alive"].any(1)
        for k, mine in g.items():
            new = began.reshape(-1, *[1] * (mine.ndim - 1)) & np.ones_like(mine, bool)
            g[k] = np.where(new, seen[k], mine)
            np.testing.assert_array_equal(g[k][playing], seen[k][playing], k)
        alive, mask = info["alive"].copy(), info["action_mask"].astype(bool)
        acts = np.argmax(np.where(mask, rng.random(mask.shape), -1), -1)
        ours = {k: jnp.asarray(x.T[None] if x.ndim > 1 else x[None]) for k, x in g.items()}
        after, reward, over, legal = move(ours, jnp.asarray(acts.T[None]))
        np.testing.assert_array_equal(np.asarray(legal)[0].transpose(1, 0, 2)[alive], mask[alive])
        obs, theirs, ended, _, info = env.step(acts.astype(np.int32))
        np.testing.assert_allclose(np.asarray(reward)[0].T[playing], theirs[playing], rtol=1e-6)
        np.testing.assert_array_equal(np.asarray(over)[0][playing], info["over"][playing])
        left = (np.asarray(after["pos"])[0].T == GONE) | np.asarray(over)[0][:, None]
        np.testing.assert_array_equal((alive & left)[playing], (alive & ended.astype(bool))[playing])
        g = {k: np.asarray(x)[0].T if x.ndim > 2 else np.asarray(x)[0] for k, x in after.items()}
        compared, episodes = compared + int(alive.sum()), episodes + int(info["over"][playing].sum())
        began = ~playing
    print(json.dumps({"agent_steps_compared": compared, "episodes": episodes, "different": 0}))

    p = jax.tree.map(jnp.zeros_like, start(1, 1)["p"])
    state = start(1, 4096)

    def random(carry, key):
        one, two = jax.random.split(key)
        noise = jax.random.gumbel(one, (1, AGENTS, 4096, ACTIONS))
        carry, told = play(p, carry, (noise, jax.random.bits(two, (DRAWS, 1, 4096))))
        return carry, told["earned"]

    _, (sums, ended) = jax.jit(lambda c, k: jax.lax.scan(random, c, k))(
        (state["game"], state["earned"]), jax.random.split(state["key"], 1500)
    )
    print(json.dumps({"random_return": float(sums[50:].sum() / ended[50:].sum()), "episodes": int(ended[50:].sum())}))


def shown(obs, info):
    """The games that hop's raw observations show, as numpy arrays with the games first."""
    n = len(obs)
    planes = obs[..., : CELLS * 7].reshape(n, AGENTS, CELLS, 7)
    time, last = obs[..., CELLS * 7 + ACTIONS], obs[..., CELLS * 7 + ACTIONS + 1 :].reshape(n, AGENTS, AGENTS, ACTIONS)
    alive = info["alive"].astype(bool)
    who = alive.argmax(1)
    at = (np.arange(n), who)
    own = planes[..., 0]
    seat = (np.arange(AGENTS) - who[:, None]) % AGENTS
    lasts = np.take_along_axis(last[at], seat[:, :, None], 1)
    stags, hares = planes[at][..., 5], planes[at][..., 6]
    return {
        "pos": np.where(alive, own.argmax(-1), GONE),
        "last": np.where(lasts.any(-1), lasts.argmax(-1), NONE),
        "stag": np.where(stags.any(-1), stags.argmax(-1), NONE),
        "hares": (hares.astype(int) << np.arange(CELLS)).sum(-1),
        "time": np.rint(time[at] * HORIZON).astype(int),
    }


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    a.add_argument("--sizes", default="1x128,16x128,48x128,16x1024", help="seeds x games of each")
    a.add_argument("--steps", type=int, default=590_000, help="env steps of a training")
    a.add_argument("--turns", type=int, default=3)
    a.add_argument("--unroll", type=int, default=1, help="steps of a loop that are compiled as one")
    a.add_argument("--precision", default="default", help="of products: default or highest")
    a.add_argument("--check", action="store_true", help="compare the game with hop's, in place of timing")
    args = a.parse_args()
    jax.config.update("jax_default_matmul_precision", None if args.precision == "default" else args.precision)
    jax.block_until_ready(jnp.zeros(1) + 1)
    start_s = time.perf_counter() - BEGAN
    if args.check:
        return check()
    for size in args.sizes.split(","):
        print(json.dumps(measure(*map(int, size.split("x")), args, start_s)), flush=True)


if __name__ == "__main__":
    main()
