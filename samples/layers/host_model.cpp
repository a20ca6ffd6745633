#include "samples/layers/host_model.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tferry::samples {

BufferId HostModel::allocate(const std::string& name, std::uint64_t count) {
  if (count == 0 || count % kParts != 0)
    throw std::logic_error(name + ": its size is no multiple of the parts");
  const BufferId id = next_++;
  Buffer buffer;
  buffer.name = name;
  buffer.count = count;
  buffers_.emplace(id, std::move(buffer));
  live_bytes_ += count * sizeof(std::uint64_t);
  peak_bytes_ = std::max(peak_bytes_, live_bytes_);
  return id;
}

void HostModel::release(BufferId buffer) {
  live_bytes_ -= at(buffer).count * sizeof(std::uint64_t);
  buffers_.erase(buffer);
}

void HostModel::fill(StreamId, BufferId buffer, Affine values) {
  const std::uint64_t part_count = at(buffer).count / kParts;
  for (int part = 0; part < kParts; ++part) {
    write(buffer, part, from(values, part_count * static_cast<std::uint64_t>(part)));
  }
}

void HostModel::combine(StreamId, const Combine& operation) {
  const std::uint64_t bias = element(operation.bias, 0);
  for (int part = 0; part < kParts; ++part) {
    Affine x = written(operation.in, part);
    for (int i = 0; i < operation.work; ++i) x = operation.factor * x + 1;
    write(operation.out, part, x + written(operation.weight, part) + bias);
  }
}

void HostModel::upload(StreamId, Part part, Affine values) { write(part.buffer, part.index, values); }

void HostModel::copy(StreamId, Part from_part, Part to) {
  if (at(from_part.buffer).count != at(to.buffer).count)
    throw std::logic_error("copy between unequal buffers");
  write(to.buffer, to.index, written(from_part.buffer, from_part.index));
}

void HostModel::clear(StreamId, Part part, std::uint8_t byte) {
  write(part.buffer, part.index, {0, byte * std::uint64_t{0x0101010101010101}});
}

void HostModel::upload_table(const std::vector<BufferId>& buffers) { table_ = buffers; }

void HostModel::update_by_table(StreamId, std::uint64_t factor, std::uint64_t constant) {
  for (const BufferId buffer : table_) {
    for (int part = 0; part < kParts; ++part) write(buffer, part, factor * written(buffer, part) + constant);
  }
}

Sums HostModel::sums(StreamId, BufferId buffer) {
  const std::uint64_t part_count = at(buffer).count / kParts;
  Sums total;
  for (int part = 0; part < kParts; ++part) {
    total += sums_of(written(buffer, part), part_count * static_cast<std::uint64_t>(part), part_count);
  }
  return total;
}

std::vector<std::uint64_t> HostModel::read(BufferId buffer, std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> values;
  values.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) values.push_back(element(buffer, first + i));
  return values;
}

std::uint64_t HostModel::element(BufferId buffer, std::uint64_t index) const {
  const std::uint64_t part_count = at(buffer).count / kParts;
  return written(buffer, static_cast<int>(index / part_count)).at(index % part_count);
}

const HostModel::Buffer& HostModel::at(BufferId buffer) const {
  const auto found = buffers_.find(buffer);
  if (found == buffers_.end())
    throw std::logic_error("buffer " + std::to_string(buffer) + " is not allocated");
  return found->second;
}

HostModel::Buffer& HostModel::at(BufferId buffer) {
  return const_cast<Buffer&>(std::as_const(*this).at(buffer));
}

const Affine& HostModel::written(BufferId buffer, int part) const {
  const Buffer& b = at(buffer);
  const auto index = static_cast<std::size_t>(part);
  if (!b.written.at(index)) throw std::logic_error(b.name + ": read before anything was written");
  return b.parts.at(index);
}

void HostModel::write(BufferId buffer, int part, Affine values) {
  Buffer& b = at(buffer);
  const auto index = static_cast<std::size_t>(part);
  b.parts.at(index) = values;
  b.written.at(index) = true;
}

}  // namespace tferry::samples
