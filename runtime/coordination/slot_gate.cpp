#include "runtime/coordination/slot_gate.hpp"

namespace tferry::runtime {

bool SlotGate::write(CUstream stream, const std::atomic<std::uint32_t>& word, std::uint32_t value) {
  return driver_.cuStreamWriteValue32_v2(stream, address_of(word), value, CU_STREAM_WRITE_VALUE_DEFAULT) ==
         CUDA_SUCCESS;
}

bool SlotGate::enter(CUstream stream, std::int64_t slack_ns) {
  if (!active() || broken()) return false;
  const std::uint32_t number = submitted_.load(std::memory_order_relaxed) + 1;
  if (number - done() >= kQueued) return false;
  slack_[number % kQueued] = slack_ns;
  rounds_[number % kQueued] = round_;
  if (!write(stream, words_.request, number)) {
    broken_.store(true, std::memory_order_release);
    return false;
  }
  submitted_.store(number, std::memory_order_release);
  // Cyclic comparison: `granted` has reached the number.
  if (driver_.cuStreamWaitValue32_v2(stream, address_of(words_.granted), number, CU_STREAM_WAIT_VALUE_GEQ) !=
      CUDA_SUCCESS)
    broken_.store(true, std::memory_order_release);
  return true;
}

void SlotGate::leave(CUstream stream, std::size_t bytes) {
  const std::uint32_t number = submitted_.load(std::memory_order_relaxed);
  bytes_[number % kQueued] = bytes;
  if (!write(stream, words_.done, number)) broken_.store(true, std::memory_order_release);
}

void SlotPass::before_copy(CUstream stream, std::size_t bytes) {
  if (!gated_) return;
  if (open_ && bytes_ + bytes > most_bytes_) end();
  if (!open_) {
    bytes_ = 0;
    open_ = gate_->enter(stream, slack_ns_);
  }
  bytes_ += bytes;
  stream_ = stream;
}

void SlotPass::end() {
  if (open_) gate_->leave(stream_, bytes_);
  open_ = false;
}

}  // namespace tferry::runtime
