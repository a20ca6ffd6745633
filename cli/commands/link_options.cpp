#include "cli/commands/link_options.hpp"

#include "cli/byte_size.hpp"
#include "cli/failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

namespace tferry::cli {
namespace {

/// An option that gives rates by name.
struct RateOption {
  std::string name;
  std::string example;
};
const RateOption kLink{"--link", "h2d=55.3GB/s,d2h=55.3GB/s,duplex=92GB/s"};
const RateOption kAssumeSolo{"--assume-solo", "h2d=55.3GB/s,d2h=55.3GB/s"};

/// Bytes per nanosecond.
double parse_rate(std::string_view text, const RateOption& option) {
  if (!text.ends_with("/s")) {
    throw Failure(fmt::format("{}: {} is no rate", option.name, text), "write " + option.example);
  }
  const std::int64_t bytes = parse_bytes(text.substr(0, text.size() - 2), option.name);
  if (bytes <= 0) {
    throw Failure(fmt::format("{}: {} is no rate", option.name, text),
                  "write a positive one, such as 55.3GB/s");
  }
  return static_cast<double>(bytes) / 1e9;
}

/// Rates by key, each at most once, of the keys in the option's example.
std::map<std::string, double> parse_rates(std::string_view text, const RateOption& option) {
  std::map<std::string, double> rates;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    const std::size_t equals = part.find('=');
    const std::string key(part.substr(0, equals));
    const bool known = !key.empty() && option.example.find(key + "=") != std::string::npos;
    if (!known || rates.contains(key) || equals == std::string_view::npos) {
      throw Failure(fmt::format("{}: {} is not understood", option.name, part), "write " + option.example);
    }
    rates[key] = parse_rate(part.substr(equals + 1), option);
  }
  return rates;
}

}  // namespace

analyzer::LinkRates parse_link(std::string_view text) {
  const analyzer::LinkRates usual;
  const std::map<std::string, double> rates = parse_rates(text, kLink);
  if (!rates.contains("h2d") || !rates.contains("d2h")) {
    throw Failure(fmt::format("--link: {} does not give both directions", text), "write " + kLink.example);
  }
  analyzer::LinkRates link;
  link.in = rates.at("h2d");
  link.out = rates.at("d2h");
  const double both =
      rates.contains("duplex")
          ? rates.at("duplex")
          : std::min(link.in * usual.duplex_in / usual.in, link.out * usual.duplex_out / usual.out) * 2;
  if (both > link.in + link.out || both < std::max(link.in, link.out)) {
    throw Failure(
        fmt::format("--link: duplex={:.1f}GB/s is the sum of both directions at once, and lies between the "
                    "larger one and their sum",
                    both),
        "write " + kLink.example);
  }
  // The sum in the proportion of the rates alone.
  link.duplex_in = both * link.in / (link.in + link.out);
  link.duplex_out = both * link.out / (link.in + link.out);
  return link;
}

analyzer::SoloRates parse_solo_rates(std::string_view text) {
  const std::map<std::string, double> rates = parse_rates(text, kAssumeSolo);
  if (rates.empty()) throw Failure("--assume-solo: no rate is given", "write " + kAssumeSolo.example);
  analyzer::SoloRates solo;
  solo.source = analyzer::SoloSource::kAssumed;
  if (const auto in = rates.find("h2d"); in != rates.end()) solo.in = in->second;
  if (const auto out = rates.find("d2h"); out != rates.end()) solo.out = out->second;
  return solo;
}

}  // namespace tferry::cli
