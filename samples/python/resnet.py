#!/usr/bin/env python3
"""Trains a convolution network in the style of ResNet-50 or -152 (He et al., 2016) on synthetic images, deterministically.

    resnet.py                          depth 50, batch 64 x 224 x 224, fp32, channels first
    resnet.py --depth 152 --batch 96

Output and exit code as gpt2.py: losses as hexadecimal floats, a hash over all of them, the time of every step.
"""

import argparse
import sys

import steps

DEPTHS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}  # bottleneck blocks by stage


def build_model(nn, depth, classes):
    class Bottleneck(nn.Module):
        def __init__(self, inputs, width, stride):
            super().__init__()
            outputs = 4 * width
            self.body = nn.Sequential(
                nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
            self.shortcut = nn.Identity() if inputs == outputs and stride == 1 else nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
            self.relu = nn.ReLU()

        def forward(self, x):
            return self.relu(self.body(x) + self.shortcut(x))

    # The stem's pooling is a convolution with stride: max pooling has no deterministic backward pass on a GPU.
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 64, 3, 2, 1)]
    inputs = 64
    for stage, blocks in enumerate(DEPTHS[depth]):
        width = 64 << stage
        for block in range(blocks):
            layers.append(Bottleneck(inputs, width, 2 if stage > 0 and block == 0 else 1))
            inputs = 4 * width

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(*layers)
            self.head = nn.Linear(inputs, classes)

        def forward(self, x):
            return self.head(self.layers(x).mean(dim=(2, 3)))

    return Network()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--depth", type=int, choices=sorted(DEPTHS), default=50)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--image", type=int, default=224, help="pixels on a side")
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    torch = steps.prepare()
    torch.manual_seed(1)
    with torch.device(arguments.device):
        model = build_model(torch.nn, arguments.depth, arguments.classes)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    generator = torch.Generator().manual_seed(1)

    def step(_):
        images = torch.randn(arguments.batch, 3, arguments.image, arguments.image, generator=generator)
        classes = torch.randint(arguments.classes, (arguments.batch,), generator=generator)
        scores = model(images.to(arguments.device))
        loss = torch.nn.functional.cross_entropy(scores, classes.to(arguments.device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    return steps.run(torch, arguments.device, arguments.warmup, arguments.steps, step)


if __name__ == "__main__":
    sys.exit(main())
