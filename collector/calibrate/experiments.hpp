#pragma once

#include "collector/calibrate/bench.hpp"

namespace tferry::calibrate {

// The experiments, each of which enters its figures (trace/calibration.hpp tells them). They throw
// DriverCallError where the driver refuses something, OutOfTime at the limit; figures entered before stay.

/// One GPU alone by the settings' piece: each way, and both ways at once.
void measure_links(Bench& bench);
/// All GPUs at once, every pair, and each shared group that the pairs show; all GPUs in and out, both, and
/// mixed.
void measure_groups(Bench& bench);
/// One GPU alone by size of piece, and what the call costs.
void measure_sizes(Bench& bench);
void measure_pageable(Bench& bench);
void measure_in_place(Bench& bench);
/// Copies from each GPU to each other.
void measure_peers(Bench& bench);
/// All host traffic of one GPU by way of a neighbour's link.
void measure_relays(Bench& bench);
/// Managed memory: prefetch both ways by size, faults. Never more than an eighth of what is free.
void measure_managed(Bench& bench);
/// Mapping calls on an idle card and beside copies.
void measure_mapping(Bench& bench);

}  // namespace tferry::calibrate
