#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <vector>

namespace tferry::runtime_test {

/// What one step of a random program does. Buffers are numbers into Program::buffers.
enum class Action {
  kAllocate,       ///< target; form 1: stream-ordered
  kFree,           ///< target; form 1: stream-ordered
  kFill,           ///< all of target
  kMix,            ///< target from first and second, in the words all three have
  kMixByStruct,    ///< the same, arguments in one struct beside the address of `stale`
  kAddPacked,      ///< all of target, arguments in one buffer
  kAddByTable,     ///< every buffer of `table`, by addresses in device memory
  kUpload,         ///< bytes at target_at
  kDownload,       ///< bytes at first_at
  kCopy,           ///< bytes from first_at of first to target_at of target; form 1: by the unified call
  kCopyRows,       ///< rows of `bytes`, `pitch` apart on both sides
  kSet,            ///< bytes at target_at; form: 0, 1, 2 for 8, 16 and 32 bit
  kSetRows,        ///< rows of `bytes`, `pitch` apart
  kSynchronize,    ///< form 0: the stream, 1: the context, 2: the last writer of target by event
  kReplaceStream,  ///< destroys the stream, with what is queued on it, and makes another
  kCapture,        ///< `captured` becomes graph number `graph`; form: the capture mode
  kReplay,         ///< launches graph number `graph`
  kDropGraph
};

struct Step {
  Action action = Action::kSynchronize;
  int stream = 0;  ///< of the lane: 0 to 2 its own, 3 the legacy stream, 4 the thread's default stream
  int target = -1;
  int first = -1;
  int second = -1;
  int stale = -1;  ///< a buffer whose address goes along, freed or not
  std::size_t target_at = 0;
  std::size_t first_at = 0;
  std::size_t bytes = 0;
  std::size_t rows = 1;
  std::size_t pitch = 0;
  std::uint32_t value = 0;
  int form = 0;
  int graph = -1;
  std::vector<int> table;
  std::vector<Step> captured;
  std::size_t forked = 0;  ///< the last so many captured steps run on another stream, forked and joined
};

inline constexpr int kOwnStreams = 3;
inline constexpr int kLegacyStream = 3;
inline constexpr int kThreadStream = 4;
inline constexpr int kStreams = 5;
inline constexpr int kMostLanes = 2;

/// A program of the driver API: phases, in each of which every lane's steps are carried out by a thread of
/// its own; between phases the threads are joined. Within a phase no buffer that one lane writes is named by
/// the other. The result is that of the steps in order: whoever runs the program orders the streams by
/// events.
struct Program {
  std::uint64_t seed = 0;
  std::vector<std::size_t> buffers;  ///< bytes of each, multiples of 8
  std::vector<std::vector<std::vector<Step>>> phases;
  int graphs = 0;
  std::size_t least_chunks = 0;  ///< with this many of budget no operation can lack room
  std::size_t most_chunks = 0;   ///< alive at once, at most

  int lanes() const { return phases.empty() ? 0 : static_cast<int>(phases[0].size()); }
};

/// The program of a seed. The same seed gives the same program on every machine. Pieces are `chunk` bytes.
Program generate(std::uint64_t seed, std::size_t chunk);

/// One line a step, for the report of a program that went wrong.
std::ostream& operator<<(std::ostream& out, const Program& program);

}  // namespace tferry::runtime_test
