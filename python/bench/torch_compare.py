#!/usr/bin/env python3
"""Compares package nn with PyTorch: same numbers, and how much faster.

    python3 python/bench/torch_compare.py                      # runs `hop bench nn --compare DIR`
    python3 python/bench/torch_compare.py --cmd 'go test ./num/nn/nnbench -run ^TestCompare$ -count=1 -args -compare {dir}'

For the actor, the conv net and the LSTM of `hop bench nn` it draws weights and a
batch, runs both sides on them, and fails unless outputs and gradients agree to
1e-4 (of the largest element of the array). Then both sides are timed in turn,
one thread each, the fastest round counting for both. PyTorch is timed in processor
time, and so is hop by the second command: other programs then disturb less. PyTorch gets what serves it
best: inference mode, the faster of its loop and fused Adam, and for the conv net
the faster of NCHW and channels-last memory.
Needs torch, numpy and safetensors.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file, save_file
from torch import nn
from torch.nn import functional as F

OBS, WIDTH, ACTIONS = 144, 128, 7
SIDE, CHANNELS, EXTRA, CONV_WIDTH = 8, 7, 3, 512
HIDDEN, STEPS = 256, 20
TOLERANCE = 1e-4


class Heads(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.pi, self.v = nn.Linear(width, ACTIONS), nn.Linear(width, 1)

    def forward(self, y):
        return self.pi(y).reshape(-1, ACTIONS), self.v(y).reshape(-1)

    def parts(self):
        return {**linear("pi", self.pi), **linear("v", self.v)}


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.heads = nn.Linear(OBS, WIDTH), nn.Linear(WIDTH, WIDTH), Heads(WIDTH)

    def forward(self, x):
        return self.heads(F.relu(self.b(F.relu(self.a(x)))))

    def batch(self, m):
        return (bits(m, OBS),)

    def parts(self):
        return {**linear("trunk/0", self.a), **linear("trunk/1", self.b), **self.heads.parts()}


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        sizes = [CHANNELS, 16, 32, 32]
        self.convs = nn.ModuleList(nn.Conv2d(i, o, 3, padding=1) for i, o in zip(sizes, sizes[1:]))
        self.fc, self.heads = nn.Linear(SIDE * SIDE * 32 + EXTRA, CONV_WIDTH), Heads(CONV_WIDTH)
        self.layout = torch.contiguous_format

    def forward(self, x, extra):
        y = x.permute(0, 3, 1, 2).contiguous(memory_format=self.layout)
        for c in self.convs:
            y = F.relu(c(y))
        # Flattened cell by cell, as hop does; in channels-last this is free.
        y = y.permute(0, 2, 3, 1).reshape(x.shape[0], -1)
        return self.heads(F.relu(self.fc(torch.cat([y, extra], 1))))

    def batch(self, m):
        return bits(m, SIDE, SIDE, CHANNELS), bits(m, EXTRA)

    def parts(self):
        out = {}
        for i, c in enumerate(self.convs):
            out[f"conv/{i}/w"] = (c.weight, (2, 3, 1, 0))
            out[f"conv/{i}/b"] = (c.bias, (0,))
        return {**out, **linear("fc", self.fc), **self.heads.parts()}


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.heads = nn.LSTM(OBS, HIDDEN), Heads(HIDDEN)
        nn.init.zeros_(self.lstm.bias_hh_l0)  # hop has one bias; the gradients of both are the same

    def forward(self, x):
        return self.heads(self.lstm(x)[0])

    def batch(self, m):
        return (bits(STEPS, m, OBS),)

    def parts(self):
        lstm = self.lstm
        return {
            "lstm/wx": (lstm.weight_ih_l0, (1, 0)), "lstm/wh": (lstm.weight_hh_l0, (1, 0)),
            "lstm/b": (lstm.bias_ih_l0, (0,)), **self.heads.parts(),
        }


NETS = {"actor": Actor, "conv": Conv, "lstm": LSTM}


def bits(*shape):
    return (torch.rand(*shape) < 1 / 7).float()


def linear(name, layer):
    return {name + "/w": (layer.weight, (1, 0)), name + "/b": (layer.bias, (0,))}


def targets(rows):
    return torch.randint(ACTIONS, (rows,)), torch.randn(rows)


def loss_of(out, target, ret):
    logits, value = out
    return F.cross_entropy(logits, target) + 0.5 * F.mse_loss(value, ret)


def ours(tensor, axes):
    """A PyTorch array in hop's order of axes."""
    return np.ascontiguousarray(tensor.detach().numpy().transpose(axes))


def ask(folder, name, model, m=37):
    """Writes weights and a batch for hop and returns what it should answer."""
    batch = model.batch(m)
    rows = STEPS * m if name == "lstm" else m
    target, ret = targets(rows)
    out = model(*batch)
    loss = loss_of(out, target, ret)
    model.zero_grad()
    loss.backward()
    tensors = {"part/" + k: ours(t, axes) for k, (t, axes) in model.parts().items()}
    tensors |= {"x": batch[0].numpy(), "target": target.numpy(), "return": ret.numpy()}
    if len(batch) > 1:
        tensors["extra"] = batch[1].numpy()
    save_file(tensors, folder / f"{name}.safetensors")
    want = {"logits": out[0].detach().numpy(), "value": out[1].detach().numpy(), "loss": loss.detach().numpy().reshape(1)}
    return want | {"grad/" + k: ours(t.grad, axes) for k, (t, axes) in model.parts().items()}


def check(folder, name, want):
    """Compares hop's answer, returns the worst error relative to its array."""
    got = load_file(folder / f"{name}.hop.safetensors")
    assert got.keys() == want.keys(), f"{name}: hop answered {sorted(got)}, want {sorted(want)}"
    errors = {k: float(np.abs(got[k] - v).max() / max(np.abs(v).max(), 1e-12)) for k, v in want.items()}
    worst = max(errors, key=errors.get)
    print(f"{name}: {len(want)} arrays, worst error {errors[worst]:.1e} in {worst}")
    return errors[worst]


def seconds(f, length=0.02, rounds=5):
    """One call in the fastest round, the same rule as hop's."""
    f()
    start = time.process_time()
    f()
    n = max(1, int(length / (time.process_time() - start)))
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(n):
            f()
        best = min(best, time.process_time() - start)
    return best / n


def time_torch(name, op, m):
    """Microseconds of PyTorch's best way."""
    best = float("inf")
    for layout in [torch.contiguous_format, torch.channels_last] if name == "conv" else [None]:
        model = NETS[name]()
        if layout:
            model.layout = layout
            model.convs.to(memory_format=layout)
        batch = model.batch(m)
        if op == "forward":
            with torch.inference_mode():
                best = min(best, seconds(lambda: model(*batch)))
            continue
        target, ret = targets(STEPS * m if name == "lstm" else m)
        for fused in [False, True]:
            opt = torch.optim.Adam(model.parameters(), lr=1e-4, fused=fused)

            def step():
                opt.zero_grad()
                loss_of(model(*batch), target, ret).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                opt.step()

            best = min(best, seconds(step))
    return best * 1e6


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--cmd", default="hop bench nn --compare {dir}", help="what runs hop's side")
    args.add_argument("--rounds", type=int, default=2, help="how often both sides are timed in turn")
    args.add_argument("--json", help="write the table here too")
    args = args.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        want = {name: ask(folder, name, make()) for name, make in NETS.items()}
        hop, theirs = {}, {}
        for turn in range(args.rounds):
            subprocess.run(args.cmd.format(dir=folder).split(), check=True, stdout=sys.stderr)
            report = json.loads((folder / "hop.json").read_text())
            if turn == 0:
                worst = max(check(folder, name, w) for name, w in want.items())
            for row in report["rows"]:
                key = row["net"], row["op"], row["batch"]
                hop[key] = min(hop.get(key, float("inf")), row["us"])
                theirs[key] = min(theirs.get(key, float("inf")), time_torch(*key))
    print(f"\nPyTorch {torch.__version__}, one thread; hop kernels {report['kernels']}, peak {report['peak_gflops']:.0f} GFLOP/s")
    print(f"{'net':6} {'op':8} {'batch':>5} {'hop us':>10} {'torch us':>10} {'ratio':>6}")
    for net, op, m in hop:
        h, t = hop[net, op, m], theirs[net, op, m]
        print(f"{net:6} {op:8} {m:5} {h:10.1f} {t:10.1f} {t / h:6.2f}")
    if args.json:
        rows = [{"net": n, "op": o, "batch": m, "hop_us": hop[n, o, m], "torch_us": theirs[n, o, m]} for n, o, m in hop]
        Path(args.json).write_text(json.dumps({"torch": torch.__version__, "worst_error": worst, "rows": rows}))
    if worst > TOLERANCE:
        sys.exit(f"outputs or gradients differ by {worst:.1e}, allowed is {TOLERANCE:.0e}")


if __name__ == "__main__":
    main()
