#include "cli/budget.hpp"

#include "cli/byte_size.hpp"
#include "cli/failure.hpp"
#include "trace/job_status.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace tferry::cli {
namespace {

constexpr std::string_view kOption = "--budget";
constexpr std::int64_t kPercentScale = 100;  // two decimals of a per cent

[[noreturn]] void reject(std::string_view text, std::string_view why) {
  throw Failure(fmt::format("{}: \"{}\": {}", kOption, text, why),
                "write auto, unlimited, a size (9.8GiB), a share of the card (80%) or one size per device "
                "(0:24GiB,1:40GiB)");
}

std::int64_t parse_percent(std::string_view text) {
  const std::string_view number = text.substr(0, text.size() - 1);
  const std::size_t point = number.find('.');
  const std::string_view whole = number.substr(0, point);
  const std::string_view decimals = point == std::string_view::npos ? "" : number.substr(point + 1);
  const auto digits = [](std::string_view part) {
    return std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  if (whole.empty() || whole.size() > 3 || decimals.size() > 2 || !digits(whole) || !digits(decimals) ||
      (point != std::string_view::npos && decimals.empty())) {
    reject(text, "not a percentage; at most two decimals");
  }
  std::int64_t value = 0;
  for (const char c : whole) value = value * 10 + (c - '0');
  std::int64_t fraction = 0;
  for (const char c : decimals) fraction = fraction * 10 + (c - '0');
  value = value * kPercentScale + (decimals.size() == 1 ? fraction * 10 : fraction);
  if (value == 0) reject(text, "nothing can run in no memory");
  if (value > 100 * kPercentScale) reject(text, "more than the card has");
  return value;
}

Budget::Share parse_share(std::string_view text, std::string_view item) {
  const std::size_t colon = item.find(':');
  if (colon == std::string_view::npos) reject(text, fmt::format("\"{}\" names no device", item));
  int device = -1;
  const std::string_view index = item.substr(0, colon);
  const auto [end, error] = std::from_chars(index.data(), index.data() + index.size(), device);
  if (index.empty() || index.front() == '-' || error != std::errc{} || end != index.data() + index.size() ||
      device >= trace::kMaxDevices) {
    reject(text, fmt::format("\"{}\" is no device number below {}", index, trace::kMaxDevices));
  }
  const std::int64_t bytes = parse_bytes(item.substr(colon + 1), kOption);
  if (bytes == 0) reject(text, "nothing can run in no memory");
  return {device, bytes};
}

std::vector<Budget::Share> parse_shares(std::string_view text) {
  std::vector<Budget::Share> shares;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    const Budget::Share share = parse_share(text, rest.substr(0, comma));
    for (const Budget::Share& other : shares) {
      if (other.device == share.device) reject(text, fmt::format("device {} is named twice", share.device));
    }
    shares.push_back(share);
    if (comma == std::string_view::npos) return shares;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace

Budget::Budget(Kind kind, std::int64_t amount, std::vector<Share> shares)
    : kind_(kind), amount_(amount), shares_(std::move(shares)) {}

Budget Budget::parse(std::string_view text) {
  if (text == "auto") return {Kind::kAuto, 0, {}};
  if (text == "unlimited") return {Kind::kUnlimited, 0, {}};
  if (text.find(':') != std::string_view::npos) return {Kind::kPerDevice, 0, parse_shares(text)};
  if (!text.empty() && text.back() == '%') return {Kind::kPercent, parse_percent(text), {}};
  const std::int64_t bytes = parse_bytes(text, kOption);
  if (bytes == 0) reject(text, "nothing can run in no memory");
  return {Kind::kBytes, bytes, {}};
}

std::string Budget::to_environment() const {
  switch (kind_) {
    case Kind::kAuto:
      return "auto";
    case Kind::kUnlimited:
      return "unlimited";
    case Kind::kBytes:
      return std::to_string(amount_);
    case Kind::kPercent: {
      const std::int64_t whole = amount_ / kPercentScale, hundredths = amount_ % kPercentScale;
      return hundredths == 0 ? fmt::format("{}%", whole) : fmt::format("{}.{:02}%", whole, hundredths);
    }
    case Kind::kPerDevice:
      break;
  }
  std::vector<std::string> items;
  for (const Share& share : shares_) items.push_back(fmt::format("{}:{}", share.device, share.bytes));
  return fmt::format("{}", fmt::join(items, ","));
}

std::string Budget::describe() const {
  switch (kind_) {
    case Kind::kAuto:
      return "what the card has free, less a reserve";
    case Kind::kUnlimited:
      return "unlimited";
    case Kind::kBytes:
      return format_bytes_exact(amount_);
    case Kind::kPercent:
      return to_environment() + " of the card";
    case Kind::kPerDevice:
      break;
  }
  std::vector<std::string> items;
  for (const Share& share : shares_) {
    items.push_back(fmt::format("device {}: {}", share.device, format_bytes_exact(share.bytes)));
  }
  return fmt::format("{}", fmt::join(items, ", "));
}

}  // namespace tferry::cli
