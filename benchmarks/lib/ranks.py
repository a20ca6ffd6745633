"""Two ranks that add up: torchrun --nproc-per-node 2 ranks.py. Over NCCL where each has a GPU, over gloo where they share
one. Rank 0's last line is "sum ok"."""

import os

import torch
import torch.distributed as dist


def main():
    rank = int(os.environ["LOCAL_RANK"])
    shared = torch.cuda.device_count() < int(os.environ["LOCAL_WORLD_SIZE"])
    torch.cuda.set_device(rank % torch.cuda.device_count())
    dist.init_process_group("gloo" if shared else "nccl")
    weights = torch.full((4096, 4096), float(rank + 1), device="cuda")
    for _ in range(10):
        product = weights @ weights
        dist.all_reduce(product)
    torch.cuda.synchronize()
    size = dist.get_world_size()
    expected = sum(4096.0 * (i + 1) ** 2 for i in range(size))
    right = abs(product[0, 0].item() / expected - 1) < 1e-3
    dist.destroy_process_group()
    if not right:
        raise SystemExit("the sum is wrong")
    if rank == 0:
        print("sum ok")


if __name__ == "__main__":
    main()
