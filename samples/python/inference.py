#!/usr/bin/env python3
"""Runs a bf16 transformer forward again and again, deterministically: inference whose weights can be larger than a budget.

    inference.py                                     16 layers of width 4096: 6 GiB of weights, 4 sequences of 512 tokens
    inference.py --layers 48 --batch 1

Output and exit code as gpt2.py; what it calls a loss is the sum of the last layer's output.
"""

import argparse
import sys

import steps


def build_model(nn, functional, width, layers, heads):
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention_norm, self.feed_norm = nn.LayerNorm(width), nn.LayerNorm(width)
            self.query_key_value, self.attention_out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.feed_in, self.feed_out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            batch, context, _ = x.shape
            query, key, value = (part.view(batch, context, heads, width // heads).transpose(1, 2)
                                 for part in self.query_key_value(self.attention_norm(x)).split(width, dim=2))
            mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            x = x + self.attention_out(mixed.transpose(1, 2).reshape(batch, context, width))
            return x + self.feed_out(functional.gelu(self.feed_in(self.feed_norm(x))))

    return nn.Sequential(*(Block() for _ in range(layers)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--context", type=int, default=512)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    if arguments.width % arguments.heads:
        parser.error(f"--width {arguments.width} is not a multiple of --heads {arguments.heads}")
    torch = steps.prepare()
    torch.manual_seed(1)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device(arguments.device):
        model = build_model(torch.nn, torch.nn.functional, arguments.width, arguments.layers, arguments.heads).eval()
    generator = torch.Generator().manual_seed(1)

    def step(_):
        tokens = torch.randn(arguments.batch, arguments.context, arguments.width, generator=generator)
        return model(tokens.to(arguments.device)).float().abs().mean()

    with torch.inference_mode():
        return steps.run(torch, arguments.device, arguments.warmup, arguments.steps, step)


if __name__ == "__main__":
    sys.exit(main())
