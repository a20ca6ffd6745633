#include "samples/layers/census.hpp"

#include "samples/layers/schedule.hpp"

#include <algorithm>

namespace tferry::samples {

BufferId Census::allocate(const std::string&, std::uint64_t count) {
  bytes_.push_back(count * sizeof(std::uint64_t));
  known_.allocations.add(bytes_.back());
  return static_cast<BufferId>(bytes_.size()) - 1;
}

void Census::release(BufferId buffer) { known_.frees.add(bytes_of(buffer)); }

void Census::upload(StreamId, Part part, Affine) {
  known_.host_to_device.add(bytes_of(part.buffer) / kParts);
}

void Census::copy(StreamId, Part, Part to) { known_.device_to_device.add(bytes_of(to.buffer) / kParts); }

void Census::clear(StreamId, Part part, std::uint8_t) { known_.memsets.add(bytes_of(part.buffer) / kParts); }

void Census::upload_table(const std::vector<BufferId>& buffers) {
  const std::uint64_t bytes = (2 + buffers.size()) * sizeof(std::uint64_t);  // number, length, addresses
  known_.allocations.add(std::max(bytes, own_.least_table));
  known_.host_to_device.add(bytes);
}

Sums Census::sums(StreamId, BufferId) {
  if (own_.clears_sums) known_.memsets.add(sizeof(Sums));
  ++known_.kernels;
  known_.device_to_host.add(sizeof(Sums));
  return {};
}

KnownWork count_work(const LayersOptions& options, OwnWork own) {
  Census census(own);
  run_layers(options, census, [](int, const Sums&, std::int64_t) {});
  return census.known();
}

std::string to_text(const KnownWork& known) {
  const auto line = [](const char* what, const Tally& tally) {
    return std::string("known ") + what + " " + std::to_string(tally.count) + " of " +
           std::to_string(tally.bytes) + " bytes\n";
  };
  return "known kernel " + std::to_string(known.kernels) + "\n" +
         line("memcpy host_to_device", known.host_to_device) +
         line("memcpy device_to_host", known.device_to_host) +
         line("memcpy device_to_device", known.device_to_device) + line("memset", known.memsets) +
         line("allocation", known.allocations) + line("free", known.frees);
}

}  // namespace tferry::samples
