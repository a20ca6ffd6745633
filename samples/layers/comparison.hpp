#pragma once

#include "samples/layers/host_model.hpp"
#include "samples/layers/machine.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace tferry::samples {

/// Device and model disagree; what() names the buffer and the first element that differs.
class AnswerDiffers : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Carries every operation out on a device and on the model. Every `sums` compares both; where they differ
/// the buffer is read back and the first wrong element is reported by AnswerDiffers.
class Comparison final : public Machine {
 public:
  explicit Comparison(Machine& device) : device_(device) {}

  BufferId allocate(const std::string& name, std::uint64_t count) override;
  void release(BufferId buffer) override;
  void fill(StreamId stream, BufferId buffer, Affine values) override;
  void combine(StreamId stream, const Combine& operation) override;
  void upload(StreamId stream, Part part, Affine values) override;
  void copy(StreamId stream, Part from, Part to) override;
  void clear(StreamId stream, Part part, std::uint8_t byte) override;
  void upload_table(const std::vector<BufferId>& buffers) override;
  void update_by_table(StreamId stream, std::uint64_t factor, std::uint64_t constant) override;
  void record(EventId event, StreamId stream) override { device_.record(event, stream); }
  void wait(StreamId stream, EventId event) override { device_.wait(stream, event); }
  void synchronize() override { device_.synchronize(); }
  Sums sums(StreamId stream, BufferId buffer) override;
  std::vector<std::uint64_t> read(BufferId buffer, std::uint64_t first, std::uint64_t count) override;

  const HostModel& model() const { return model_; }

 private:
  [[noreturn]] void report_difference(BufferId buffer, const Sums& found, const Sums& right);

  Machine& device_;
  HostModel model_;
};

}  // namespace tferry::samples
