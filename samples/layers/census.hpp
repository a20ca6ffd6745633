#pragma once

#include "samples/layers/machine.hpp"
#include "samples/layers/options.hpp"

#include <string>
#include <vector>

namespace tferry::samples {

/// How often something happened, and how many bytes it was about in sum.
struct Tally {
  std::int64_t count = 0;
  std::int64_t bytes = 0;

  void add(std::uint64_t size) {
    ++count;
    bytes += static_cast<std::int64_t>(size);
  }
  bool operator==(const Tally&) const = default;
};

/// What a program asks the GPU for. Device memory only; frees at the end of the process are not among it.
struct KnownWork {
  std::int64_t kernels = 0;
  Tally host_to_device, device_to_host, device_to_device, memsets, allocations, frees;

  bool operator==(const KnownWork&) const = default;
};

/// What a program adds to the schedule on its own account.
struct OwnWork {
  bool clears_sums = false;       ///< a memset before every checksum
  std::uint64_t least_table = 0;  ///< bytes that the table of pointers has at least
};

/// Counts a schedule instead of carrying it out: the known answers that a recording is compared with.
class Census final : public Machine {
 public:
  explicit Census(OwnWork own) : own_(own) { known_.allocations.add(sizeof(Sums)); }

  BufferId allocate(const std::string& name, std::uint64_t count) override;
  void release(BufferId buffer) override;
  void fill(StreamId, BufferId, Affine) override { ++known_.kernels; }
  void combine(StreamId, const Combine&) override { ++known_.kernels; }
  void upload(StreamId stream, Part part, Affine values) override;
  void copy(StreamId stream, Part from, Part to) override;
  void clear(StreamId stream, Part part, std::uint8_t byte) override;
  void upload_table(const std::vector<BufferId>& buffers) override;
  void update_by_table(StreamId, std::uint64_t, std::uint64_t) override { ++known_.kernels; }
  void record(EventId, StreamId) override {}
  void wait(StreamId, EventId) override {}
  void synchronize() override {}
  Sums sums(StreamId stream, BufferId buffer) override;
  /// No schedule reads elements unless an answer is wrong.
  std::vector<std::uint64_t> read(BufferId, std::uint64_t, std::uint64_t) override { return {}; }

  const KnownWork& known() const { return known_; }

 private:
  std::uint64_t bytes_of(BufferId buffer) const { return bytes_.at(static_cast<std::size_t>(buffer)); }

  OwnWork own_;
  KnownWork known_;
  std::vector<std::uint64_t> bytes_;  ///< by buffer
};

/// The known answers of a whole run.
KnownWork count_work(const LayersOptions& options, OwnWork own);

/// One line for each kind, such as "known memcpy host_to_device 4 of 3145760 bytes".
std::string to_text(const KnownWork& known);

}  // namespace tferry::samples
