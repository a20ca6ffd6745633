#include "samples/layers/schedule.hpp"

#include "samples/layers/host_model.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace tferry::samples {
namespace {

/// Sebastiano Vigna's SplitMix64: a sequence of constants from the seed, the same everywhere.
class Constants {
 public:
  explicit Constants(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t odd() { return next() | 1; }
  Affine values() {
    const std::uint64_t slope = odd();
    return {slope, next()};
  }

 private:
  std::uint64_t state_;
};

class Layers {
 public:
  Layers(const LayersOptions& options, Machine& machine)
      : options_(options),
        machine_(machine),
        copies_(1 % options.streams),
        side_(2 % options.streams),
        constants_(options.seed) {}

  void make_weights() {
    for (int layer = 0; layer < options_.layers(); ++layer) {
      weights_.push_back(machine_.allocate("weight " + std::to_string(layer), options_.count()));
      machine_.fill(kCompute, weights_.back(), constants_.values());
      biases_.push_back(machine_.allocate("bias " + std::to_string(layer), small_count(layer)));
      machine_.fill(kCompute, biases_.back(), constants_.values());
    }
    biases_.push_back(machine_.allocate("bias of biases", small_count(0)));
    machine_.fill(kCompute, biases_.back(), constants_.values());
    machine_.upload_table({weights_.begin(), weights_.begin() + options_.hidden});
  }

  Sums iterate(int iteration) {
    forward(iteration);
    if (options_.hidden > 0) machine_.update_by_table(kCompute, constants_.odd(), constants_.next());
    const BufferId gradient = backward(iteration);
    const Sums sums = machine_.sums(kCompute, gradient);
    machine_.synchronize();
    machine_.release(gradient);
    return sums;
  }

  Sums finish() {
    Sums total;
    for (const auto* buffers : {&weights_, &biases_}) {
      for (const BufferId buffer : *buffers) {
        total += machine_.sums(kCompute, buffer);
        machine_.release(buffer);
      }
    }
    return total;
  }

 private:
  static constexpr StreamId kCompute = 0;

  /// Work queued on `later` from here on comes after what is queued on `earlier` by now.
  void order(StreamId earlier, StreamId later) {
    if (earlier == later) return;
    const EventId event = next_event_++ % kEvents;
    machine_.record(event, earlier);
    machine_.wait(later, event);
  }

  void forward(int iteration) {
    activations_.push_back(machine_.allocate(label("activation", 0, iteration), options_.count()));
    machine_.fill(kCompute, activations_.back(), constants_.values());
    order(kCompute, copies_);
    machine_.upload(copies_, {activations_.back(), 0}, constants_.values());
    order(copies_, kCompute);
    for (int layer = 0; layer < options_.layers(); ++layer) {
      const BufferId in = activations_.back();
      const BufferId out = machine_.allocate(label("activation", layer + 1, iteration), options_.count());
      activations_.push_back(out);
      machine_.combine(kCompute, step(in, weights_[at(layer)], layer, out));
      if (layer % 3 == 0) {
        order(kCompute, copies_);
        machine_.copy(copies_, {out, 1}, {out, 2});
        if (layer % 2 == 0) machine_.copy(copies_, {in, 3}, {out, 0});
        order(copies_, kCompute);
      }
      if (layer % 4 == 1) {
        order(kCompute, side_);
        machine_.clear(side_, {out, 3}, static_cast<std::uint8_t>(constants_.next()));
        order(side_, kCompute);
      }
    }
  }

  BufferId backward(int iteration) {
    BufferId gradient = machine_.allocate(label("gradient", options_.layers(), iteration), options_.count());
    const int last = options_.layers() - 1;
    machine_.combine(kCompute, step(activations_.back(), weights_[at(last)], last, gradient));
    drop_activation();
    for (int layer = last; layer >= 0; --layer) {
      const BufferId next = machine_.allocate(label("gradient", layer, iteration), options_.count());
      machine_.combine(kCompute, step(gradient, activations_.back(), layer, next));
      machine_.combine(kCompute, step(next, weights_[at(layer)], layer, weights_[at(layer)]));
      if (layer % 2 == 0) {
        const BufferId bias = biases_[at(layer)];
        machine_.combine(kCompute, {bias, bias, biases_.back(), bias, constants_.odd(), 1});
      }
      drop_activation();
      machine_.release(std::exchange(gradient, next));
    }
    return gradient;
  }

  Combine step(BufferId in, BufferId weight, int layer, BufferId out) {
    return {in, weight, biases_[at(layer)], out, constants_.odd(), options_.work};
  }

  void drop_activation() {
    machine_.release(activations_.back());
    activations_.pop_back();
  }

  static std::size_t at(int layer) { return static_cast<std::size_t>(layer); }

  static std::string label(const char* what, int layer, int iteration) {
    return std::string(what) + " " + std::to_string(layer) + " of iteration " + std::to_string(iteration);
  }

  const LayersOptions& options_;
  Machine& machine_;
  const StreamId copies_;
  const StreamId side_;
  Constants constants_;
  EventId next_event_ = 0;
  std::vector<BufferId> weights_;
  std::vector<BufferId> biases_;
  std::vector<BufferId> activations_;
};

}  // namespace

Sums run_layers(const LayersOptions& options, Machine& machine, const IterationReport& report) {
  Layers layers(options, machine);
  layers.make_weights();
  machine.synchronize();
  Sums total;
  for (int iteration = 0; iteration < options.iterations; ++iteration) {
    const auto start = std::chrono::steady_clock::now();
    const Sums sums = layers.iterate(iteration);
    const std::chrono::nanoseconds duration = std::chrono::steady_clock::now() - start;
    total += sums;
    report(iteration, sums, duration.count());
  }
  total += layers.finish();
  return total;
}

std::uint64_t peak_bytes(const LayersOptions& options) {
  LayersOptions once = options;
  once.iterations = 1;
  HostModel model;
  run_layers(once, model, [](int, const Sums&, std::int64_t) {});
  return model.peak_bytes();
}

}  // namespace tferry::samples
