#include "trace/flat_plan.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <type_traits>

namespace tferry::trace {
namespace {

static_assert(std::endian::native == std::endian::little, "the arrays are written as they are");

constexpr std::uint64_t kMagic = 0x4e41'4c50'5446'5403;  // "\3TFTPLAN"
constexpr std::uint32_t kVersion = 2;
constexpr std::size_t kMaxFileBytes = 256 << 20;

/// The start of the file. After it, each without padding: operations, names, tensors, places, leaves,
/// returns, the name's bytes; then XXH3 of all of that.
struct Header {
  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t chunk_count = 0;
  std::uint64_t chunk_bytes = 0, budget_bytes = 0;
  std::int64_t predicted_ns = 0, bound_ns = 0, in_memory_ns = 0, forced_bytes = 0;
  std::uint32_t operations = 0, names = 0, tensors = 0, places = 0, leaves = 0, returns = 0;
  std::uint32_t name_bytes = 0, route = 0;
};
using Checksum = std::uint64_t;

template <typename T>
constexpr bool kPlainBytes = std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>;
static_assert(kPlainBytes<Header> && kPlainBytes<FlatPlan::Operation> && kPlainBytes<FlatPlan::Tensor> &&
              kPlainBytes<FlatPlan::Step>);

template <typename T>
void append(std::vector<std::byte>& file, const T* values, std::size_t count) {
  if (count == 0) return;
  const std::size_t at = file.size();
  file.resize(at + count * sizeof(T));
  std::memcpy(file.data() + at, values, count * sizeof(T));
}

template <typename Container>
void take(std::span<const std::byte>& rest, Container& values, std::uint32_t count) {
  using T = typename Container::value_type;
  values.resize(count);
  if (count > 0) std::memcpy(values.data(), rest.data(), count * sizeof(T));
  rest = rest.subspan(count * sizeof(T));
}

/// Of the whole file, as its header says. Cannot overflow: eight 32-bit counts.
std::uint64_t file_bytes(const Header& header) {
  return sizeof(Header) + std::uint64_t{header.operations} * sizeof(FlatPlan::Operation) +
         (std::uint64_t{header.names} + header.places) * sizeof(std::uint32_t) +
         std::uint64_t{header.tensors} * sizeof(FlatPlan::Tensor) +
         (std::uint64_t{header.leaves} + header.returns) * sizeof(FlatPlan::Step) + header.name_bytes +
         sizeof(Checksum);
}

std::string envelope_error(std::span<const std::byte> file, Header& header) {
  if (file.size() < sizeof header + sizeof(Checksum)) return "it is no plan file, or cut in its first bytes";
  std::memcpy(&header, file.data(), sizeof header);
  if (header.magic != kMagic) return "it is no plan file";
  if (header.version != kVersion)
    return "its version is " + std::to_string(header.version) + ", this library follows version " +
           std::to_string(kVersion);
  if (file.size() > kMaxFileBytes) return "it is too large";
  if (file_bytes(header) != file.size()) return "it is cut short or damaged";
  Checksum checksum = 0;
  std::memcpy(&checksum, file.data() + file.size() - sizeof checksum, sizeof checksum);
  if (checksum != XXH3_64bits(file.data(), file.size() - sizeof checksum)) return "it is damaged";
  return "";
}

void take_arrays(std::span<const std::byte> file, const Header& header, FlatPlan& plan) {
  plan.chunk_bytes = header.chunk_bytes;
  plan.budget_bytes = header.budget_bytes;
  plan.chunk_count = header.chunk_count;
  plan.predicted_ns = header.predicted_ns;
  plan.bound_ns = header.bound_ns;
  plan.in_memory_ns = header.in_memory_ns;
  plan.forced_bytes = header.forced_bytes;
  plan.route = static_cast<CopyRoute::Way>(header.route);
  std::span<const std::byte> rest = file.subspan(sizeof header);
  take(rest, plan.operations, header.operations);
  take(rest, plan.names, header.names);
  take(rest, plan.tensors, header.tensors);
  take(rest, plan.places, header.places);
  take(rest, plan.leaves, header.leaves);
  take(rest, plan.returns, header.returns);
  take(rest, plan.name, header.name_bytes);
}

/// Whole contents, or the reason in `error`.
bool read_whole(int file, std::vector<std::byte>& contents, std::string& error) {
  struct stat info{};
  if (fstat(file, &info) != 0) return error = std::strerror(errno), false;
  if (!S_ISREG(info.st_mode)) return error = "it is not a file", false;
  if (info.st_size > static_cast<off_t>(kMaxFileBytes)) return error = "it is too large", false;
  contents.resize(static_cast<std::size_t>(info.st_size));
  std::size_t done = 0;
  while (done < contents.size()) {
    const ssize_t got = ::read(file, contents.data() + done, contents.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return error = std::strerror(errno), false;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  contents.resize(done);
  return true;
}

}  // namespace

std::vector<std::byte> encode_flat_plan(const FlatPlan& plan) {
  Header header;
  header.chunk_count = plan.chunk_count;
  header.chunk_bytes = plan.chunk_bytes;
  header.budget_bytes = plan.budget_bytes;
  header.predicted_ns = plan.predicted_ns;
  header.bound_ns = plan.bound_ns;
  header.in_memory_ns = plan.in_memory_ns;
  header.forced_bytes = plan.forced_bytes;
  header.route = static_cast<std::uint32_t>(plan.route);
  header.operations = static_cast<std::uint32_t>(plan.operations.size());
  header.names = static_cast<std::uint32_t>(plan.names.size());
  header.tensors = static_cast<std::uint32_t>(plan.tensors.size());
  header.places = static_cast<std::uint32_t>(plan.places.size());
  header.leaves = static_cast<std::uint32_t>(plan.leaves.size());
  header.returns = static_cast<std::uint32_t>(plan.returns.size());
  header.name_bytes = static_cast<std::uint32_t>(plan.name.size());
  std::vector<std::byte> file;
  file.reserve(file_bytes(header));
  append(file, &header, 1);
  append(file, plan.operations.data(), plan.operations.size());
  append(file, plan.names.data(), plan.names.size());
  append(file, plan.tensors.data(), plan.tensors.size());
  append(file, plan.places.data(), plan.places.size());
  append(file, plan.leaves.data(), plan.leaves.size());
  append(file, plan.returns.data(), plan.returns.size());
  append(file, plan.name.data(), plan.name.size());
  const Checksum checksum = XXH3_64bits(file.data(), file.size());
  append(file, &checksum, 1);
  return file;
}

bool decode_flat_plan(std::span<const std::byte> file, FlatPlan& plan, std::string& error) {
  try {
    Header header;
    error = envelope_error(file, header);
    if (!error.empty()) return false;
    FlatPlan read;
    take_arrays(file, header, read);
    error = flat_plan_error(read);
    if (!error.empty()) return false;
    plan = std::move(read);
    return true;
  } catch (const std::exception& exception) {
    error = exception.what();  // no memory
    return false;
  }
}

bool read_flat_plan(const char* path, FlatPlan& plan, std::string& error) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return error = std::string("cannot open plan ") + path + ": " + std::strerror(errno), false;
  bool ok = false;
  try {
    std::vector<std::byte> contents;
    ok = read_whole(file, contents, error) && decode_flat_plan(contents, plan, error);
  } catch (const std::exception& exception) {
    error = exception.what();
  }
  ::close(file);
  if (!ok) error = std::string("cannot follow plan ") + path + ": " + error;
  return ok;
}

}  // namespace tferry::trace
