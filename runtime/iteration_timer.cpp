#include "runtime/iteration_timer.hpp"

#include "runtime/status_page.hpp"

namespace tferry::runtime {

void IterationTimer::iteration_ended(CUstream stream, Kind kind, std::uint64_t number) {
  if (ends_.size() >= kMostOnTheirWay) return restart();
  End end{nullptr, StatusPage::now_ns(), connected_ ? kind : Kind::kOther, number};
  if (driver_.cuEventElapsedTime_v2 != nullptr) {
    if (!spare_.empty()) {
      end.event = spare_.back();
      spare_.pop_back();
    } else if (driver_.cuEventCreate(&end.event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
      return restart();
    }
    if (driver_.cuEventRecord(end.event, stream) != CUDA_SUCCESS) {
      spare_.push_back(end.event);
      return restart();
    }
  }
  ends_.push_back(end);
  connected_ = true;
}

std::optional<IterationTimer::Time> IterationTimer::next() {
  while (ends_.size() >= 2) {
    const End& from = ends_[0];
    const End& to = ends_[1];
    std::int64_t ns = to.host_ns - from.host_ns;
    bool known = true;
    if (to.event != nullptr) {
      if (driver_.cuEventQuery(to.event) != CUDA_SUCCESS) return std::nullopt;
      float milliseconds = 0;
      known = driver_.cuEventElapsedTime_v2(&milliseconds, from.event, to.event) == CUDA_SUCCESS;
      ns = static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
      spare_.push_back(from.event);
    }
    const Time time{ns, known ? to.kind : Kind::kOther, to.number};
    ends_.pop_front();
    if (time.kind != Kind::kOther) return time;
  }
  return std::nullopt;
}

}  // namespace tferry::runtime
