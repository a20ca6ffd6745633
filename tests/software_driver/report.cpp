#include "tests/software_driver/report.hpp"

#include "tests/software_driver/control.hpp"
#include "tests/software_driver/driver.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace tferry::software_driver {
namespace {

/// Set by write_report_at_exit; never freed, because atexit handlers run late.
std::string* report_file = nullptr;

template <class Value>
void add_statistic(std::string& text, int device, const char* name, Value value) {
  if (value == Value{}) return;
  text += "statistic " + std::to_string(device) + " " + name + " " + std::to_string(value) + "\n";
}

void write_report() {
  std::FILE* file = std::fopen(report_file->c_str(), "we");
  const std::string text = report_text();
  const bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if ((file && std::fclose(file) != 0) || !written) {
    std::fprintf(stderr, "software driver: cannot write SWD_REPORT to %s: %s\n", report_file->c_str(),
                 std::strerror(errno));
  }
}

}  // namespace

std::string report_text() {
  std::string text;
  for (const auto& device : driver().devices) {
    SwdStatistics all{};
    if (swd_statistics(device->ordinal, &all) != 0) continue;
#define SWD_STATISTIC(name) add_statistic(text, device->ordinal, #name, all.name)
    SWD_STATISTIC(memory_total);
    SWD_STATISTIC(memory_used);
    SWD_STATISTIC(memory_peak);
    SWD_STATISTIC(h2d_bytes);
    SWD_STATISTIC(d2h_bytes);
    SWD_STATISTIC(d2d_bytes);
    SWD_STATISTIC(h2d_copies);
    SWD_STATISTIC(d2h_copies);
    SWD_STATISTIC(h2d_busy_ns);
    SWD_STATISTIC(d2h_busy_ns);
    SWD_STATISTIC(kernels);
    SWD_STATISTIC(kernel_ns);
    SWD_STATISTIC(host_chunks_used);
    SWD_STATISTIC(reservations);
    SWD_STATISTIC(mappings);
    SWD_STATISTIC(chunks);
    SWD_STATISTIC(allocations);
    SWD_STATISTIC(streams);
    SWD_STATISTIC(events);
    SWD_STATISTIC(modules);
    SWD_STATISTIC(graphs);
    SWD_STATISTIC(illegal_accesses);
#undef SWD_STATISTIC
  }
  for (unsigned i = 0; const char* name = swd_function_name(i); ++i) {
    if (swd_calls(name) > 0)
      text += "calls " + std::string(name) + " " + std::to_string(swd_calls(name)) + "\n";
  }
  return text;
}

void write_report_at_exit(const std::string& file) {
  report_file = new std::string(file);
  if (const auto at = report_file->find("%p"); at != std::string::npos) {
    report_file->replace(at, 2, std::to_string(getpid()));
  }
  std::atexit(write_report);
}

}  // namespace tferry::software_driver
