#pragma once

#include "tests/runtime/drivers.hpp"
#include "tests/runtime/kernels.hpp"
#include "tests/runtime/plan_story.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tferry::runtime_test {

/// An iteration of a program that can be carried out, and the story that it tells. Sizes in chunks.
class PlannedProgram {
 public:
  struct Work {
    enum class Kind { kFill, kAdd, kMix };
    Kind kind = Kind::kFill;
    unsigned grid = 1;  ///< tells operations of one kernel apart; the kernels do not care
  };

  explicit PlannedProgram(std::size_t chunk) : story_(chunk), chunk_(chunk) {}

  int persistent(std::size_t chunks) { return story_.persistent(bytes(chunks)); }
  int allocate(std::size_t chunks) { return story_.allocate(bytes(chunks)); }
  void free(int tensor) { story_.free(tensor); }
  void fill(int out, unsigned grid) { work(Work::Kind::kFill, grid, {out}); }
  void add(int out, unsigned grid) { work(Work::Kind::kAdd, grid, {out}); }
  /// All three different, of one size.
  void mix(int out, int a, int b, unsigned grid) { work(Work::Kind::kMix, grid, {out, a, b}); }
  void leave(int tensor, std::uint32_t first = 0, std::uint32_t count = 0) {
    story_.leave(tensor, first, count);
  }
  void come_back(int tensor, std::uint32_t first = 0, std::uint32_t count = 0) {
    story_.come_back(tensor, first, count);
  }

  PlanStory& story() { return story_; }
  const PlanStory& story() const { return story_; }
  const Work& work_of(std::size_t event) const { return work_[event]; }  ///< of an operation
  std::size_t chunk() const { return chunk_; }

  static std::uint64_t signature(const Work& work);

 private:
  std::int64_t bytes(std::size_t chunks) const { return static_cast<std::int64_t>(chunks * chunk_); }
  void work(Work::Kind kind, unsigned grid, std::vector<int> names);

  PlanStory story_;
  std::size_t chunk_;
  std::vector<Work> work_;  ///< by event
};

/// `layers` forward and back, with one weight each, every tensor `chunks` large: forward keeps all
/// activations, of which the first `parked` leave and return on the way back, and so do the weights of the
/// first `parked_weights` layers.
PlannedProgram layered(std::size_t chunk, int layers, int parked, int parked_weights = 0,
                       std::size_t chunks = 2);

/// Runs a program's iterations on a driver, and beside it a model on the host.
class ProgramRun {
 public:
  /// Makes and fills what lives on. The current context's; work goes to `stream`.
  ProgramRun(const PlannedProgram& program, const Api& api, CUstream stream = nullptr);

  /// Carries out events [from, to); `before` is called before each.
  void iterate(std::size_t from = 0, std::size_t to = ~std::size_t{0},
               const std::function<void(std::size_t)>& before = {});
  void operate(std::size_t event);
  void allocate(int tensor);
  void free(int tensor);
  /// Fills it by an operation that is not the program's.
  void fill(int tensor);

  /// "" if all that is alive holds what the model says.
  std::string difference();
  CUdeviceptr address(int tensor) const { return at(tensor).address; }
  const Kernels& kernels() const { return kernels_; }
  CUresult launch(CUfunction function, unsigned grid, void** parameters);

 private:
  struct Tensor {
    CUdeviceptr address = 0;
    std::vector<std::uint32_t> words;
    bool defined = false;  ///< all of it was written
  };
  Tensor& at(int tensor) { return tensors_[static_cast<std::size_t>(tensor)]; }
  const Tensor& at(int tensor) const { return tensors_[static_cast<std::size_t>(tensor)]; }
  void check(CUresult result, const char* what) const;

  const PlannedProgram& program_;
  const Api& api_;
  CUstream stream_;
  Kernels kernels_;
  std::vector<Tensor> tensors_;
  std::uint32_t value_ = 1;
};

}  // namespace tferry::runtime_test
