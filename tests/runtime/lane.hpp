#pragma once

#include "tests/runtime/machine.hpp"

#include <deque>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tferry::runtime_test {

/// One thread of a program that runs: carries out its steps in order, orders the streams by events, and
/// applies every step that was accepted to the model. What was read back is looked at as soon as the program
/// has waited for it.
class Lane {
 public:
  Lane(Machine& machine, int lane);
  void run(const std::vector<Step>& steps);

 private:
  struct Graph {
    CUgraphExec exec = nullptr;
    std::vector<Step> steps;  ///< what a launch of it does
  };
  struct Download {
    int stream;
    std::vector<std::uint8_t> found;
    std::vector<std::uint8_t> expected;
    std::string what;
  };

  void carry_out(const Step& step);
  void allocate(const Step& step);
  void release(const Step& step);
  void download(const Step& step);
  void add_by_table(const Step& step);
  void synchronize(const Step& step);
  void replace_stream(const Step& step);
  void capture(const Step& step);
  void replay(const Step& step);
  void drop(const Step& step);

  /// Hands the step's call to the driver (lane_calls.cpp).
  CUresult submit(const Step& step, CUstream stream);
  CUresult launch(CUfunction function, CUstream stream, void** parameters, void** extra = nullptr);
  CUresult upload(const Step& step, CUstream stream);
  CUresult copy(const Step& step, CUstream stream);
  CUresult copy_rows(const Step& step, CUstream stream);
  CUresult set(const Step& step, CUstream stream);
  /// What the step does to the model.
  void apply(const Step& step);

  /// A step that computes or moves data: waits, submits, applies, records.
  void data_step(const Step& step);
  void wait_for(const Use& use, int stream);
  void wait_to_read(int buffer, int stream);
  void wait_to_write(int buffer, int stream);
  void note_uses(std::span<const int> read, std::span<const int> written, int stream);
  void check_downloads(int stream);  ///< of that stream number; -1: of all

  bool alive(const Step& step) const;
  Buffer& at(int buffer) { return machine_.buffers[static_cast<std::size_t>(buffer)]; }
  const Buffer& at(int buffer) const { return machine_.buffers[static_cast<std::size_t>(buffer)]; }
  CUstream stream(int index) const;
  int number(int index) const;
  std::uint64_t common_words(const Step& step) const;

  Machine& machine_;
  const Api& api_;
  std::size_t lane_;
  int thread_stream_number_;
  std::map<int, Graph> graphs_;
  std::deque<Download> downloads_;
  std::deque<std::vector<std::uint8_t>> uploads_;  ///< sources, kept while a copy or a graph may read them
};

/// Buffers that a step reads, and those that it writes.
std::vector<int> read_by(const Step& step);
std::vector<int> written_by(const Step& step);

}  // namespace tferry::runtime_test
