#pragma once

#include "trace/copy_route.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tferry::trace {

/// What makes two operations the same in another run of the program: kind, and for a launch the kernel's
/// (mangled) name, grid and block, for a copy and a memset its bytes. Graph launches are all alike. FNV-1a,
/// so that it is the same in every build; never 0.
class OperationSignature {
 public:
  static std::uint64_t launch(std::string_view kernel, std::array<std::uint32_t, 3> grid,
                              std::array<std::uint32_t, 3> block);
  /// For a launch whose kernel name was hashed before (`name_hash`).
  static std::uint64_t launch(std::uint64_t kernel_hash, std::array<std::uint32_t, 3> grid,
                              std::array<std::uint32_t, 3> block);
  static std::uint64_t name_hash(std::string_view kernel);
  /// The kind is not part of it: a copy's call does not always tell.
  static std::uint64_t copy(std::int64_t bytes);
  static std::uint64_t memset(std::int64_t bytes);
  static std::uint64_t graph();
};

/// A plan as the runtime follows it: one iteration of one process on one GPU, in the order in which the
/// program submits its calls, with a place for every tensor (ALGORITHMS.md, rule 5). The launcher writes it
/// from a session; it is read whole, checked, and then only looked at. A plain value.
///
/// Positions count the operations of an iteration, 0 to operations.size() - 1. What the program allocates
/// after the last operation of one iteration was submitted belongs to the next.
///
/// Chunks have plan numbers, 0 to chunk_count - 1, which the runtime assigns to device chunks as it likes
/// when it adopts the plan. In program order (allocation, free, leave and return steps), no plan chunk ever
/// has two users.
struct FlatPlan {
  /// names[first_name, first_name + name_count) are the plan's tensors that it names, in the order of its
  /// arguments, each once; allocations that are not in the plan are left out.
  struct Operation {
    std::uint64_t signature = 0;
    std::uint32_t first_name = 0;
    std::uint32_t name_count = 0;
    bool operator==(const Operation&) const = default;
  };
  struct Tensor {
    std::int64_t bytes = 0;         ///< as the program asks for it
    std::uint32_t ordinal = 0;      ///< which allocation of exactly that many bytes in an iteration, from 0;
                                    ///< meaningless for persistent ones, which are known by who names them
    std::uint32_t persistent = 0;   ///< 1: allocated before, alive throughout
    std::uint32_t pieces = 0;       ///< bytes in chunks, rounded up
    std::uint32_t first_place = 0;  ///< into `places`: addresses * pieces plan chunks, address by address
    std::uint32_t addresses = 1;    ///< in rotation from iteration to iteration; 2 and more where an instance
                                    ///< lives on when the next is allocated; such a tensor has no steps
    std::uint32_t reserved = 0;
    bool operator==(const Tensor&) const = default;
  };
  /// Pieces [first, first + count) of a tensor leave after the operation at `position` was submitted, or are
  /// fetched before the one at `position` is, after what the program allocated before it.
  struct Step {
    std::uint32_t position = 0;
    std::uint32_t tensor = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    bool operator==(const Step&) const = default;
  };

  std::uint64_t chunk_bytes = 0;   ///< of one device handle; the runtime uses this size
  std::uint64_t budget_bytes = 0;  ///< the budget that the plan was made for, whole
  std::uint32_t chunk_count = 0;   ///< plan chunks; the rest of the budget is for what is not in the plan
  std::int64_t predicted_ns = 0;   ///< of an iteration; 0: unknown, and so below
  std::int64_t bound_ns = 0;
  std::int64_t in_memory_ns = 0;
  std::int64_t forced_bytes = 0;  ///< least bytes an iteration must move, both directions together
  /// What predicted_ns and bound_ns are for; by another way they tell nothing.
  CopyRoute::Way route = CopyRoute::Way::kDirect;
  std::string name;  ///< for messages, such as "gpt2.tferry, plan 1 (lookahead)"
  std::vector<Operation> operations;
  std::vector<std::uint32_t> names;
  std::vector<Tensor> tensors;
  std::vector<std::uint32_t> places;
  std::vector<Step> leaves;   ///< by position, in the order in which to submit them
  std::vector<Step> returns;  ///< the same

  bool operator==(const FlatPlan&) const = default;
};

/// Why a plan cannot be followed, in words; empty: it can. Checked is everything a reader relies on: indices,
/// counts, orders, that pieces cover the bytes, that the addresses of a tensor have different chunks, and
/// that around the iteration every piece leaves and returns by turns, or leaves and is freed.
std::string flat_plan_error(const FlatPlan& plan);

/// The file: magic, version, sizes, the arrays as they are, XXH3 of all before it. Little-endian.
std::vector<std::byte> encode_flat_plan(const FlatPlan& plan);
/// Decodes and checks with flat_plan_error; sizes in the file are not trusted. False, with the reason in
/// `error`: not such a file, of another version, cut short, damaged or not to be followed.
bool decode_flat_plan(std::span<const std::byte> file, FlatPlan& plan, std::string& error);
/// Reads a file of at most 256 MiB.
bool read_flat_plan(const char* path, FlatPlan& plan, std::string& error);

}  // namespace tferry::trace
