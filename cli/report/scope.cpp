#include "cli/report/scope.hpp"

#include "cli/failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tferry::cli {

std::int64_t parse_duration(const std::string& text, std::string_view option) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  const double scale = unit == "s" ? 1e9 : unit == "ms" ? 1e6 : unit == "us" ? 1e3 : unit == "ns" ? 1 : 0;
  if (error != std::errc{} || scale == 0 || !(value >= 0) || value * scale > 9e18) {
    throw Failure(fmt::format("{}: {} is no time", option, text), "write 1.5s, 200ms, 10us or 7ns");
  }
  return static_cast<std::int64_t>(value * scale + 0.5);
}

Scope::Scope(trace::Session& session, const ScopeOptions& options) : session_(session), top_(options.top) {
  for (const auto& row : session.rows<trace::DeviceRow>("ORDER BY id")) devices_.push_back(row.id);
  std::vector<std::int64_t> processes;
  bool ranked = false;
  for (const auto& row :
       session.rows<trace::ProcessRow>("WHERE command IS NOT NULL OR rank IS NOT NULL OR id IN (SELECT "
                                       "process_id FROM kernel) ORDER BY id")) {
    processes.push_back(row.id);
    ranked = ranked || row.rank.has_value();
    if (options.rank && row.rank == options.rank) process_ = row.id;
  }
  if (options.rank && !ranked && *options.rank >= 0 &&
      *options.rank < static_cast<std::int64_t>(processes.size())) {
    process_ = processes[static_cast<std::size_t>(*options.rank)];
  }
  if (options.rank && !process_) {
    throw Failure(fmt::format("--rank: {} has no rank {}", session.path(), *options.rank),
                  "tferry report summary tells the processes that it has");
  }
  if (options.gpu) {
    if (*options.gpu < 0 || *options.gpu >= static_cast<std::int64_t>(devices_.size())) {
      throw Failure(fmt::format("--gpu: {} has no GPU {}", session.path(), *options.gpu),
                    "tferry report summary tells the GPUs that it has");
    }
    device_ = devices_[static_cast<std::size_t>(*options.gpu)];
  }
  start_ns_ = value<std::int64_t>("SELECT min(start_ns) FROM process").value_or(0);
  if (!options.from.empty()) from_ns_ = start_ns_ + parse_duration(options.from, "--from");
  if (!options.to.empty()) to_ns_ = start_ns_ + parse_duration(options.to, "--to");
  if (from_ns_ && to_ns_ && *from_ns_ >= *to_ns_) {
    throw Failure(fmt::format("--from {} does not lie before --to {}", options.from, options.to),
                  "swap them");
  }
}

std::string Scope::condition(std::string_view process, std::string_view device, std::string_view time) const {
  std::string sql = "1";
  if (process_ && !process.empty()) sql += fmt::format(" AND {} = {}", process, *process_);
  if (device_ && !device.empty()) sql += fmt::format(" AND {} = {}", device, *device_);
  if (from_ns_ && !time.empty()) sql += fmt::format(" AND {} >= {}", time, *from_ns_);
  if (to_ns_ && !time.empty()) sql += fmt::format(" AND {} < {}", time, *to_ns_);
  return sql;
}

std::string Scope::gpu_name(const std::optional<std::int64_t>& device_id) const {
  const auto place = device_id ? std::find(devices_.begin(), devices_.end(), *device_id) : devices_.end();
  return place == devices_.end() ? "?" : std::to_string(place - devices_.begin());
}

}  // namespace tferry::cli
