#include "trace/range_request.hpp"

#include <charconv>

namespace tferry::trace {
namespace {

constexpr std::int64_t kMaxSeconds = 10'000'000;
constexpr std::int64_t kMaxIterations = 1'000'000'000'000;

bool parse_time(std::string_view text, RangeRequest& request) {
  const std::size_t plus = text.find('+');
  return plus != std::string_view::npos && parse_duration(text.substr(0, plus), request.start_ns) &&
         parse_duration(text.substr(plus + 1), request.duration_ns) && request.duration_ns > 0;
}

bool parse_nvtx(std::string_view text, RangeRequest& request) {
  const std::size_t at = text.rfind('@');
  request.name = text.substr(0, at);
  if (at != std::string_view::npos) request.domain = text.substr(at + 1);
  return !request.name.empty() && (at == std::string_view::npos || !request.domain.empty());
}

bool parse_number(std::string_view text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0 && number < kMaxIterations;
}

bool parse_iterations(std::string_view text, RangeRequest& request) {
  const std::size_t dots = text.find("..");
  return dots != std::string_view::npos && parse_number(text.substr(0, dots), request.first) &&
         parse_number(text.substr(dots + 2), request.last) && request.first <= request.last;
}

}  // namespace

bool parse_duration(std::string_view text, std::int64_t& ns) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  const double scale = unit == "s" ? 1e9 : unit == "ms" ? 1e6 : 0;
  if (error != std::errc{} || scale == 0 || !(value >= 0) || value * scale > kMaxSeconds * 1e9) return false;
  ns = static_cast<std::int64_t>(value * scale);
  return true;
}

bool RangeRequest::parse(std::string_view text, RangeRequest& request, std::string& error) {
  RangeRequest parsed;
  parsed.text = text;
  bool understood = true;
  if (text.empty()) {
    parsed.kind = Kind::kAll;
  } else if (text == "cuda-profiler-api") {
    parsed.kind = Kind::kProfilerApi;
  } else if (text.starts_with("nvtx:")) {
    parsed.kind = Kind::kNvtx;
    understood = parse_nvtx(text.substr(5), parsed);
  } else if (text.starts_with("time:")) {
    parsed.kind = Kind::kTime;
    understood = parse_time(text.substr(5), parsed);
  } else if (text.starts_with("iterations:")) {
    parsed.kind = Kind::kIterations;
    understood = parse_iterations(text.substr(11), parsed);
  } else {
    understood = false;
  }
  if (!understood) {
    error = std::string(text) +
            " is no range: cuda-profiler-api, nvtx:NAME@DOMAIN, time:START+DURATION (time:30s+10s) or "
            "iterations:FIRST..LAST (iterations:10..12)";
    return false;
  }
  request = std::move(parsed);
  return true;
}

}  // namespace tferry::trace
