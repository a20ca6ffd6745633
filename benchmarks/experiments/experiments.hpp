#pragma once

#include "benchmarks/experiments/report.hpp"

namespace tferry::experiments {

/// Cost of the mapping calls for handles of 2, 8 and 32 MiB: idle, in numbers, beside copies; reservations.
void run_set_access(Report& report);
/// Copy rates between chunks and the kinds of host memory; how long a small copy waits behind ours.
void run_copy_pieces(Report& report);
/// How long 8 GiB of pinned memory take to get, and what that does to launches and mapping calls meanwhile.
void run_host_alloc(Report& report);
/// The device scan: speed, compile time of its PTX, words that look like addresses and are none.
void run_scan(Report& report);
/// Programmatically overlapping kernels that write and read through different aliases of the same chunk.
void run_pdl_alias(Report& report);
/// Remapping while evictions run: pause and loss of rate, with and without draining the copy engine first.
void run_remap_under_load(Report& report);
/// Evictions that hand the engine on after each piece: small copies and mapping calls beside them, and the
/// rate.
void run_interleave(Report& report);
/// A small copy of the program behind a kernel, everything queued ahead, while evictions keep the engine: by
/// the copy engine, with evictions that look at a word before each piece, and by a kernel.
void run_small_copies(Report& report);
/// Managed memory: faults, and prefetching both ways by size and threads.
void run_managed(Report& report);

}  // namespace tferry::experiments
