#include "tests/software_driver/driver.hpp"
#include "tests/software_driver/entry.hpp"
#include "tests/software_driver/fault.hpp"
#include "tests/software_driver/pages.hpp"
#include "tests/software_driver/report.hpp"

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

namespace tferry::software_driver {
namespace {

constexpr int kVersion = 13000;

void initialise() {
  static const std::string error = [] {
    const Config& config = driver().config;
    const std::string fault_error = add_faults(config.fail);
    std::string first = config.error.empty() ? fault_error : config.error;
    if (!first.empty()) std::fprintf(stderr, "software driver: %s\n", first.c_str());
    if (first.empty() && !config.report.empty()) write_report_at_exit(config.report);
    return first;
  }();
  require(error.empty());
  require(!driver().devices.empty(), CUDA_ERROR_NO_DEVICE);
  driver().initialised.store(true, std::memory_order_release);
  inject();
}

/// Names are asked for without version suffix; a suffix that is part of no name is not one.
bool is_called(const EntryInfo& info, std::string_view symbol) {
  if (symbol == info.name) return true;
  return symbol == info.exported && symbol.find("_v") == std::string_view::npos;
}

void find_function(const char* symbol, void** function, int version, cuuint64_t flags,
                   CUdriverProcAddressQueryResult* status) {
  checked(symbol);
  checked(function) = nullptr;
  if (status) *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  bool too_new = false;
  int best = -1;
  for (unsigned i = 0; i < static_cast<unsigned>(EntryPoint::kCount); ++i) {
    const EntryInfo& info = entry_info(static_cast<EntryPoint>(i));
    if (!is_called(info, symbol)) continue;
    if (info.version > version) {
      too_new = true;
    } else if (info.version > best) {
      best = info.version;
      *function = per_thread && info.per_thread ? info.per_thread : info.plain;
    }
  }
  if (status && *function) *status = CU_GET_PROC_ADDRESS_SUCCESS;
  if (status && !*function && too_new) *status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
  require(*function != nullptr, CUDA_ERROR_NOT_FOUND);
}

}  // namespace
}  // namespace tferry::software_driver

using namespace tferry::software_driver;

SWD_API(cuGetErrorString, (CUresult error, const char** text)) {
  return call(EntryPoint::cuGetErrorString, [&] {
    checked(text) = error_words(error);
    require(*text != nullptr);
  });
}

SWD_API(cuGetErrorName, (CUresult error, const char** name)) {
  return call(EntryPoint::cuGetErrorName, [&] {
    checked(name) = error_name(error);
    require(*name != nullptr);
  });
}

SWD_API(cuInit, (unsigned flags)) {
  return call(EntryPoint::cuInit, [&] {
    require(flags == 0);
    initialise();
  });
}

SWD_API(cuDriverGetVersion, (int* version)) {
  return call(EntryPoint::cuDriverGetVersion, [&] { checked(version) = kVersion; });
}

SWD_API(cuGetProcAddress, (const char* symbol, void** function, int version, cuuint64_t flags)) {
  return call(EntryPoint::cuGetProcAddress,
              [&] { find_function(symbol, function, version, flags, nullptr); });
}

SWD_API(cuGetProcAddress_v2, (const char* symbol, void** function, int version, cuuint64_t flags,
                              CUdriverProcAddressQueryResult* status)) {
  return call(EntryPoint::cuGetProcAddress_v2,
              [&] { find_function(symbol, function, version, flags, status); });
}

SWD_API(cuGetExportTable, (const void** table, const CUuuid*)) {
  return call(EntryPoint::cuGetExportTable, [&] {
    checked(table) = nullptr;
    throw DriverError(CUDA_ERROR_NOT_SUPPORTED);
  });
}

SWD_API(cuProfilerStart, ()) {
  return call(EntryPoint::cuProfilerStart, [] {});
}

SWD_API(cuProfilerStop, ()) {
  return call(EntryPoint::cuProfilerStop, [] {});
}
