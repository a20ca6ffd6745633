#include "samples/layers/comparison.hpp"

#include <algorithm>
#include <cstdio>

namespace tferry::samples {
namespace {

constexpr std::uint64_t kReadBack = std::uint64_t{1} << 17;  // elements: 1 MiB a read

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

BufferId Comparison::allocate(const std::string& name, std::uint64_t count) {
  const BufferId id = model_.allocate(name, count);
  if (device_.allocate(name, count) != id)
    throw std::logic_error("device and model number buffers differently");
  return id;
}

void Comparison::release(BufferId buffer) {
  model_.release(buffer);
  device_.release(buffer);
}

void Comparison::fill(StreamId stream, BufferId buffer, Affine values) {
  model_.fill(stream, buffer, values);
  device_.fill(stream, buffer, values);
}

void Comparison::combine(StreamId stream, const Combine& operation) {
  model_.combine(stream, operation);
  device_.combine(stream, operation);
}

void Comparison::upload(StreamId stream, Part part, Affine values) {
  model_.upload(stream, part, values);
  device_.upload(stream, part, values);
}

void Comparison::copy(StreamId stream, Part from, Part to) {
  model_.copy(stream, from, to);
  device_.copy(stream, from, to);
}

void Comparison::clear(StreamId stream, Part part, std::uint8_t byte) {
  model_.clear(stream, part, byte);
  device_.clear(stream, part, byte);
}

void Comparison::upload_table(const std::vector<BufferId>& buffers) {
  model_.upload_table(buffers);
  device_.upload_table(buffers);
}

void Comparison::update_by_table(StreamId stream, std::uint64_t factor, std::uint64_t constant) {
  model_.update_by_table(stream, factor, constant);
  device_.update_by_table(stream, factor, constant);
}

Sums Comparison::sums(StreamId stream, BufferId buffer) {
  const Sums right = model_.sums(stream, buffer);
  const Sums found = device_.sums(stream, buffer);
  if (!(found == right)) report_difference(buffer, found, right);
  return found;
}

std::vector<std::uint64_t> Comparison::read(BufferId buffer, std::uint64_t first, std::uint64_t count) {
  return device_.read(buffer, first, count);
}

void Comparison::report_difference(BufferId buffer, const Sums& found, const Sums& right) {
  const std::uint64_t count = model_.count(buffer);
  const std::string& name = model_.name(buffer);
  for (std::uint64_t first = 0; first < count; first += kReadBack) {
    const auto values = device_.read(buffer, first, std::min(kReadBack, count - first));
    for (std::uint64_t i = 0; i < values.size(); ++i) {
      const std::uint64_t wanted = model_.element(buffer, first + i);
      if (values[i] == wanted) continue;
      throw AnswerDiffers(name + ": element " + std::to_string(first + i) + " of " + std::to_string(count) +
                          " is " + hex(values[i]) + " instead of " + hex(wanted));
    }
  }
  throw AnswerDiffers(name + ": its sum is " + hex(found.plain) + " instead of " + hex(right.plain) +
                      ", but every element read back afterwards is right");
}

}  // namespace tferry::samples
