#pragma once

#include "tests/runtime/drivers.hpp"
#include "tests/runtime/kernels.hpp"
#include "tests/runtime/program.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

namespace tferry::runtime_test {

/// An operation on a buffer that others have to wait for.
struct Use {
  int stream = -1;  ///< number of the stream, never used again; -1: none
  CUevent event = nullptr;
};

struct Buffer {
  CUdeviceptr address = 0;
  std::vector<std::uint8_t> expected;  ///< what is in it once all steps so far are done
  bool defined = false;                ///< something was written to all of it
  Use written;
  std::array<std::vector<Use>, kMostLanes> read;  ///< since it was written, by lane
};

/// How a program ended.
struct Outcome {
  std::string difference;             ///< the first wrong bytes, or empty
  std::string first_error;            ///< the first call that failed and how, or empty
  int errors = 0;                     ///< calls that failed
  bool abandoned = false;             ///< a call kept failing, so the rest was not run
  std::int64_t allocated_at_end = 0;  ///< by the runtime's counters, everything freed
  std::int64_t parked_at_end = 0;
};

/// Runs one program on a driver, in a fresh primary context of device 0. Beside the device a model on the
/// host carries out the same steps; whatever is read back is compared with it. A call that fails leaves its
/// step undone in the model too: programs may meet errors, never wrong bytes.
class Machine {
 public:
  Machine(const Api& on, const Program& what) : api(on), program(what), buffers(what.buffers.size()) {}
  Outcome run();

  const Api& api;
  const Program& program;
  std::vector<Buffer> buffers;
  std::vector<CUdeviceptr> addresses;  ///< of all buffers when the phase began, freed ones included
  Kernels kernels;
  CUcontext context = nullptr;
  std::array<std::array<CUstream, kOwnStreams>, kMostLanes> streams{};
  std::array<std::array<int, kOwnStreams>, kMostLanes> numbers{};
  std::atomic<int> next_number{0};

  /// Notes a failed call; true if it succeeded. Any thread.
  bool note(CUresult result, const char* what);
  /// Repeats a call that the program cannot do without; after five failures the program is abandoned.
  template <class Call>
  bool insist(Call call, const char* what) {
    for (int tries = 0; tries < 5; ++tries) {
      if (note(call(), what)) return true;
    }
    abandon();
    return false;
  }
  void abandon() { abandoned_ = true; }
  bool abandoned() const { return abandoned_; }
  void differs(const std::string& what);

 private:
  bool set_up();
  void run_phase(std::size_t phase);
  void read_everything();
  void tear_down();

  std::mutex mutex_;
  Outcome outcome_;
  std::atomic<bool> abandoned_{false};
};

/// "" if equal, else where the first difference is.
std::string first_difference(const std::vector<std::uint8_t>& expected,
                             const std::vector<std::uint8_t>& found);

}  // namespace tferry::runtime_test
