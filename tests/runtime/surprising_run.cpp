#include "tests/runtime/surprising_run.hpp"

namespace tferry::runtime_test {

using Kind = PlanStory::Event::Kind;

void SurprisingRun::iterate(std::size_t one_in) {
  const auto& events = program_.story().events();
  for (std::size_t i = 0; i < events.size(); ++i) {
    const bool surprise = one_in != 0 && random_.one_in(one_in);
    if (surprise) {
      allocate_more();
      operate_more();
      if (events[i].kind == Kind::kOperation && !fills(i) && random_.one_in(3)) continue;
      if (events[i].kind == Kind::kFree) {
        late_.push_back(events[i].tensor);
        continue;
      }
      if (makes(i) && makes(i + 2)) {
        free_late(events[i]);
        free_late(events[i + 2]);
        run.iterate(i + 2, i + 4);
        run.iterate(i, i + 2);
        i += 3;
        continue;
      }
    }
    free_late(events[i]);
    run.iterate(i, i + 1);
  }
}

void SurprisingRun::end() {
  for (const int tensor : late_) run.free(tensor);
  late_.clear();
  while (!own_.empty()) drop_own();
}

bool SurprisingRun::fills(std::size_t event) const {
  return program_.work_of(event).kind == PlannedProgram::Work::Kind::kFill;
}

/// An allocation, and the operation that fills it.
bool SurprisingRun::makes(std::size_t event) const {
  const auto& events = program_.story().events();
  return event + 1 < events.size() && events[event].kind == Kind::kAllocate &&
         events[event + 1].kind == Kind::kOperation && fills(event + 1) &&
         events[event + 1].names[0] == events[event].tensor;
}

/// A tensor that is to be allocated again is freed at last, and some others.
void SurprisingRun::free_late(const PlanStory::Event& event) {
  std::erase_if(late_, [&](int tensor) {
    const bool due = (event.kind == Kind::kAllocate && event.tensor == tensor) || random_.one_in(20);
    if (due) run.free(tensor);
    return due;
  });
}

void SurprisingRun::allocate_more() {
  if (own_.size() < 3 && random_.one_in(2)) {
    CUdeviceptr address = 0;
    if (api_.cuMemAlloc_v2(&address, (1 + random_.below(3)) * program_.chunk()) == CUDA_SUCCESS)
      own_.push_back(address);
  } else if (!own_.empty() && random_.one_in(2)) {
    drop_own();
  }
}

void SurprisingRun::operate_more() {
  for (std::size_t times = random_.below(6); times > 0 && !own_.empty(); --times) {
    std::uint64_t words = program_.chunk() / 4;
    std::uint32_t value = random_.word();
    void* parameters[] = {&own_.back(), &words, &value};
    run.launch(run.kernels().fill, static_cast<unsigned>(1 + random_.below(9)), parameters);
  }
}

void SurprisingRun::drop_own() {
  api_.cuMemFree_v2(own_.back());
  own_.pop_back();
}

}  // namespace tferry::runtime_test
