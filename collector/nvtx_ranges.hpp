#pragma once

#include <cupti.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace tferry::collector {

/// Watches NVTX calls for ranges of one name, in one domain or in any, and tells when the first of them opens
/// and the last one closes.
///
/// Pushed ranges nest by thread and domain and are closed by a pop that says no name, so that every push of a
/// thread that has a watched one open has to be counted. Started ranges are closed by their id, by any
/// thread. Strings that are registered with NVTX, and wide ones, are not looked at.
///
/// Threads: any.
class NvtxRanges {
 public:
  NvtxRanges(std::string name, std::string domain) : name_(std::move(name)), domain_(std::move(domain)) {}

  enum class Change { kNone, kOpened, kClosed };
  /// One NVTX call, as CUPTI's callback tells it.
  Change on_call(CUpti_CallbackId id, const CUpti_NvtxData& call);

  /// The calls that have to be told.
  static const std::vector<CUpti_CallbackId>& calls();

 private:
  using Handle = const void*;
  /// Of the ranges that a thread has pushed in a domain: whether each is a watched one.
  using Stack = std::vector<bool>;

  bool matches(Handle domain, const char* name) const;
  Change push(Handle domain, const char* name);
  Change pop(Handle domain);
  Change start(Handle domain, const char* name, std::uint64_t id);
  Change end(std::uint64_t id);
  Change opened() { return open_++ == 0 ? Change::kOpened : Change::kNone; }
  Change closed() { return --open_ == 0 ? Change::kClosed : Change::kNone; }

  const std::string name_, domain_;
  std::mutex mutex_;
  std::map<Handle, std::string> domains_;
  std::map<std::pair<std::thread::id, Handle>, Stack> pushed_;
  std::set<std::uint64_t> started_;
  int open_ = 0;
};

}  // namespace tferry::collector
