#include "tests/software_driver/fault.hpp"

#include <atomic>
#include <charconv>
#include <mutex>
#include <optional>
#include <sstream>
#include <vector>

namespace tferry::software_driver {
namespace {

struct Fault {
  EntryPoint entry;
  std::int64_t calls_before;  ///< that still succeed
  CUresult error;
  bool onwards;
};

std::atomic<std::int64_t> counts[static_cast<unsigned>(EntryPoint::kCount)];
std::atomic<int> fault_count{0};
std::mutex fault_mutex;
std::vector<Fault>& faults() {
  static auto& list = *new std::vector<Fault>;
  return list;
}

bool parse(const std::string& text, std::int64_t& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc{} && result.ptr == text.data() + text.size();
}

}  // namespace

void count_call(EntryPoint entry) {
  counts[static_cast<unsigned>(entry)].fetch_add(1, std::memory_order_relaxed);
  if (fault_count.load(std::memory_order_acquire) == 0) return;
  const std::lock_guard lock(fault_mutex);
  std::optional<CUresult> due;
  for (Fault& fault : faults()) {
    if (fault.entry != entry) continue;
    const bool now = fault.calls_before == 0 || (fault.onwards && fault.calls_before < 0);
    --fault.calls_before;
    if (now && !due) due = fault.error;
  }
  if (due) throw DriverError(*due);
}

std::int64_t call_count(EntryPoint entry) noexcept {
  return counts[static_cast<unsigned>(entry)].load(std::memory_order_relaxed);
}

void clear_call_counts() noexcept {
  for (auto& count : counts) count.store(0, std::memory_order_relaxed);
}

void add_fault(EntryPoint entry, std::int64_t nth, CUresult error, bool onwards) {
  require(entry != EntryPoint::kCount, CUDA_ERROR_NOT_FOUND);
  require(nth >= 1);
  const std::lock_guard lock(fault_mutex);
  faults().push_back({entry, nth - 1, error, onwards});
  fault_count.store(static_cast<int>(faults().size()), std::memory_order_release);
}

void clear_faults() noexcept {
  const std::lock_guard lock(fault_mutex);
  faults().clear();
  fault_count.store(0, std::memory_order_release);
}

std::string add_faults(const std::string& list) {
  std::istringstream items(list);
  for (std::string item; std::getline(items, item, ',');) {
    std::istringstream parts(item);
    std::string name, nth_text, code_text, rest;
    std::getline(parts, name, ':');
    std::getline(parts, nth_text, ':');
    std::getline(parts, code_text);
    const bool onwards = !nth_text.empty() && nth_text.back() == '+';
    if (onwards) nth_text.pop_back();
    std::int64_t nth = 0, code = 0;
    const EntryPoint entry = find_entry(name.c_str());
    if (entry == EntryPoint::kCount) return "SWD_FAIL: no entry point is called '" + name + "'";
    if (!parse(nth_text, nth) || nth < 1 || !parse(code_text, code) || code < 1) {
      return "SWD_FAIL: '" + item + "' is not FUNCTION:NTH[+]:ERROR";
    }
    add_fault(entry, nth, static_cast<CUresult>(code), onwards);
  }
  return {};
}

}  // namespace tferry::software_driver
