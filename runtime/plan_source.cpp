#include "runtime/plan_source.hpp"

#include <exception>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tferry::runtime {

PlanSource::PlanSource(std::string file, const std::string& run_directory) : file_(std::move(file)) {
  if (!run_directory.empty()) live_ = run_directory + "/plan." + std::to_string(getpid());
}

std::shared_ptr<const PlanIndex> PlanSource::read(const std::string& path, std::string& error) {
  try {
    trace::FlatPlan plan;
    if (!trace::read_flat_plan(path.c_str(), plan, error)) return nullptr;
    return std::make_shared<const PlanIndex>(std::move(plan));
  } catch (const std::exception& exception) {
    error = "cannot follow plan " + path + ": " + exception.what();
    return nullptr;
  }
}

std::shared_ptr<const PlanIndex> PlanSource::first(std::string& error) {
  if (!file_.empty() && !std::exchange(read_, true)) first_ = read(file_, error);
  return first_;
}

std::shared_ptr<const PlanIndex> PlanSource::newer(std::string& error) {
  struct stat status{};
  if (live_.empty() || stat(live_.c_str(), &status) != 0) return nullptr;
  const std::int64_t changed = status.st_mtim.tv_sec * 1'000'000'000LL + status.st_mtim.tv_nsec;
  const auto inode = static_cast<std::uint64_t>(status.st_ino);
  const auto size = static_cast<std::int64_t>(status.st_size);
  if (inode == inode_ && changed == changed_ns_ && size == size_) return nullptr;
  inode_ = inode;
  changed_ns_ = changed;
  size_ = size;
  return read(live_, error);
}

}  // namespace tferry::runtime
