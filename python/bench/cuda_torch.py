"""Times a training step of the convolutional actor of 8x8 boards in PyTorch, on the card that there is.

    python3 docs/results/cuda_torch.py

The same network, loss and optimiser as `go test ./card -bench Step` in the folder cuda measures: eager, and as
a recorded CUDA graph; in full float32, and with TF32, which rounds what is multiplied to 10 bits.
"""

import time

import torch
from torch import nn

ACTIONS, PLANES, REST, SIDE = 6, 6, 40, 8


class Actor(nn.Module):
    """Three 3x3 convolutions, a layer of 512, and a head of logits and value."""

    def __init__(self):
        super().__init__()
        sizes = [PLANES, 16, 32, 32]
        layers = [[nn.Conv2d(a, b, 3, padding=1), nn.ReLU()] for a, b in zip(sizes, sizes[1:])]
        self.convolutions = nn.Sequential(*[x for pair in layers for x in pair], nn.Flatten())
        self.dense = nn.Linear(32 * SIDE * SIDE + REST, 512)
        self.head = nn.Linear(512, ACTIONS + 1)

    def forward(self, planes, rest):
        y = torch.cat([self.convolutions(planes), rest], 1)
        return self.head(torch.relu(self.dense(y)))


def stepper(rows):
    """Returns a function that takes one step of PPO."""
    net = Actor().cuda()
    adam = torch.optim.Adam(net.parameters(), lr=1e-3, eps=1e-5, fused=True, capturable=True)
    planes, rest = torch.rand(rows, PLANES, SIDE, SIDE, device="cuda"), torch.rand(rows, REST, device="cuda")
    action = torch.randint(ACTIONS, (rows, 1), device="cuda")
    legal = torch.ones(rows, ACTIONS, dtype=torch.bool, device="cuda")
    old, value, adv, ret = (torch.rand(rows, device="cuda") for _ in range(4))

    def step():
        y = net(planes, rest)
        logp = torch.log_softmax(y[:, :ACTIONS].masked_fill(~legal, -1e30), 1)
        ratio = torch.exp(logp.gather(1, action)[:, 0] - old)
        policy = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
        entropy = -(logp.exp() * logp).sum(1).mean()
        loss = policy + 0.25 * (y[:, ACTIONS] - ret).square().mean() - 0.01 * entropy
        adam.zero_grad(set_to_none=False)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        adam.step()

    return step


def timed(step):
    """Returns the least microseconds a step in seven rounds."""
    best = float("inf")
    for _ in range(7):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(50):
            step()
        torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - began) / 50)
    return 1e6 * best


def main():
    print(torch.__version__, torch.cuda.get_device_name())
    torch.backends.cudnn.benchmark = True
    for tf32 in (False, True):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
        for rows in (256, 512, 4096):
            step = stepper(rows)
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                for _ in range(5):
                    step()
            torch.cuda.current_stream().wait_stream(side)
            eager = timed(step)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                step()
            print(f"{rows} rows, TF32 {tf32}: eager {eager:.0f} us, graph {timed(graph.replay):.0f} us", flush=True)


main()
