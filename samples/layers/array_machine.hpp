#pragma once

#include "samples/layers/machine.hpp"

#include <string>
#include <unordered_map>
#include <vector>

namespace tferry::samples {

/// For tests: carries the schedule out on plain arrays, element by element, as a GPU would.
class ArrayMachine : public Machine {
 public:
  using Words = std::vector<std::uint64_t>;

  BufferId allocate(const std::string&, std::uint64_t count) override {
    arrays_.emplace(next_, Words(count, 0xbad0bad0bad0bad0));
    return next_++;
  }
  void release(BufferId buffer) override { arrays_.erase(buffer); }
  void fill(StreamId, BufferId buffer, Affine values) override {
    write(at(buffer), 0, at(buffer).size(), values);
  }
  void combine(StreamId, const Combine& operation) override {
    Words& out = at(operation.out);
    const Words& in = at(operation.in);
    const Words& weight = at(operation.weight);
    const std::uint64_t bias = at(operation.bias)[0];
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::uint64_t x = in[i];
      for (int k = 0; k < operation.work; ++k) x = operation.factor * x + 1;
      out[i] = x + weight[i] + bias;
    }
  }
  void upload(StreamId, Part part, Affine values) override {
    write(at(part.buffer), start(part), at(part.buffer).size() / kParts, values);
  }
  void copy(StreamId, Part from, Part to) override {
    const Words source = at(from.buffer);
    for (std::size_t j = 0; j < source.size() / kParts; ++j)
      at(to.buffer)[start(to) + j] = source[start(from) + j];
  }
  void clear(StreamId, Part part, std::uint8_t byte) override {
    write(at(part.buffer), start(part), at(part.buffer).size() / kParts, {0, byte * 0x0101010101010101ULL});
  }
  void upload_table(const std::vector<BufferId>& buffers) override { table_ = buffers; }
  void update_by_table(StreamId, std::uint64_t factor, std::uint64_t constant) override {
    for (const BufferId buffer : table_) {
      for (std::uint64_t& word : at(buffer)) word = factor * word + constant;
    }
  }
  void record(EventId, StreamId) override {}
  void wait(StreamId, EventId) override {}
  void synchronize() override {}
  Sums sums(StreamId, BufferId buffer) override {
    Sums sums;
    for (std::uint64_t i = 0; i < at(buffer).size(); ++i) {
      sums.plain += at(buffer)[i];
      sums.weighted += (i + 1) * at(buffer)[i];
    }
    return sums;
  }
  std::vector<std::uint64_t> read(BufferId buffer, std::uint64_t first, std::uint64_t count) override {
    const auto begin = at(buffer).begin() + static_cast<std::ptrdiff_t>(first);
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
  }

 protected:
  Words& at(BufferId buffer) { return arrays_.at(buffer); }

 private:
  std::size_t start(Part part) {
    return at(part.buffer).size() / kParts * static_cast<std::size_t>(part.index);
  }
  static void write(Words& array, std::size_t first, std::size_t count, Affine values) {
    for (std::size_t j = 0; j < count; ++j) array[first + j] = values.at(j);
  }

  std::unordered_map<BufferId, Words> arrays_;
  std::vector<BufferId> table_;
  BufferId next_ = 0;
};

}  // namespace tferry::samples
