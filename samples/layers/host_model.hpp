#pragma once

#include "samples/layers/machine.hpp"

#include <array>
#include <string>
#include <unordered_map>
#include <vector>

namespace tferry::samples {

/// The right answer of a schedule. It holds four Affine runs a buffer, whatever the buffer's size, and
/// carries every operation out on them; streams and events do not exist for it, so a schedule whose result
/// depends on a missing event differs from it. Reading a part that nothing has written is a std::logic_error.
class HostModel final : public Machine {
 public:
  BufferId allocate(const std::string& name, std::uint64_t count) override;
  void release(BufferId buffer) override;
  void fill(StreamId stream, BufferId buffer, Affine values) override;
  void combine(StreamId stream, const Combine& operation) override;
  void upload(StreamId stream, Part part, Affine values) override;
  void copy(StreamId stream, Part from, Part to) override;
  void clear(StreamId stream, Part part, std::uint8_t byte) override;
  void upload_table(const std::vector<BufferId>& buffers) override;
  void update_by_table(StreamId stream, std::uint64_t factor, std::uint64_t constant) override;
  void record(EventId, StreamId) override {}
  void wait(StreamId, EventId) override {}
  void synchronize() override {}
  Sums sums(StreamId stream, BufferId buffer) override;
  std::vector<std::uint64_t> read(BufferId buffer, std::uint64_t first, std::uint64_t count) override;

  /// Element `index` of the buffer as it must be.
  std::uint64_t element(BufferId buffer, std::uint64_t index) const;
  std::uint64_t count(BufferId buffer) const { return at(buffer).count; }
  const std::string& name(BufferId buffer) const { return at(buffer).name; }
  std::uint64_t live_bytes() const { return live_bytes_; }
  std::uint64_t peak_bytes() const { return peak_bytes_; }

 private:
  struct Buffer {
    std::string name;
    std::uint64_t count = 0;
    std::array<Affine, kParts> parts{};
    std::array<bool, kParts> written{};
  };

  const Buffer& at(BufferId buffer) const;
  Buffer& at(BufferId buffer);
  const Affine& written(BufferId buffer, int part) const;
  void write(BufferId buffer, int part, Affine values);

  std::unordered_map<BufferId, Buffer> buffers_;
  std::vector<BufferId> table_;
  BufferId next_ = 0;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t peak_bytes_ = 0;
};

}  // namespace tferry::samples
