"""One rank of a job that sums a buffer over all ranks by NCCL, again and again, and says when:

    launch_ranks.py GPUS PORT python3 all_reduce.py [MIB] [COUNT]

Prints a JSON line: {"rank", "gpu", "ranks", "bytes", "count", "begin_ns", "end_ns"}; times by CLOCK_MONOTONIC, as in
Tensorferry's recordings, from when all ranks stood ready to the end of the last sum.
"""

import json
import os
import sys
import time


def main():
    import torch
    mib = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    rank, gpu = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    torch.distributed.init_process_group("nccl")
    buffer = torch.zeros(mib << 18, device="cuda")
    for _ in range(5):
        torch.distributed.all_reduce(buffer)
    torch.cuda.synchronize()
    torch.distributed.barrier()
    torch.cuda.synchronize()
    begin = time.monotonic_ns()
    for _ in range(count):
        torch.distributed.all_reduce(buffer)
    torch.cuda.synchronize()
    print(json.dumps({"rank": rank, "gpu": gpu, "ranks": torch.distributed.get_world_size(), "bytes": mib << 20,
                      "count": count, "begin_ns": begin, "end_ns": time.monotonic_ns()}), flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
