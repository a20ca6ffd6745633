#include "cli/session/host_facts.hpp"

#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <sys/timex.h>
#include <unistd.h>

namespace tferry::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uintmax_t kMaxFile = 32 << 20;

std::optional<std::int64_t> clock_error() {
  timex state{};
  if (::adjtimex(&state) < 0 || (state.status & STA_UNSYNC) != 0) return std::nullopt;
  return std::int64_t{state.maxerror} * 1000;
}

Json to_json(const PcieLink& link) {
  return {{"address", link.address},
          {"upstream", link.upstream},
          {"parent", link.parent},
          {"gpu", link.gpu},
          {"numa_node", link.numa_node},
          {"now", {link.now.generation, link.now.width}},
          {"most", {link.most.generation, link.most.width}}};
}

PcieSpeed speed_from(const Json& json) { return {json.at(0).get<int>(), json.at(1).get<int>()}; }

PcieLink link_from(const Json& json) {
  return {.address = json.at("address"),
          .upstream = json.at("upstream"),
          .parent = json.at("parent"),
          .gpu = json.at("gpu"),
          .numa_node = json.at("numa_node"),
          .now = speed_from(json.at("now")),
          .most = speed_from(json.at("most"))};
}

}  // namespace

HostFacts read_host_facts(const std::filesystem::path& sysfs_root) {
  HostFacts facts;
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) == 0) facts.host = host;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> facts.boot_id;
  facts.clock_error_ns = clock_error();
  facts.links = read_pcie_tree(sysfs_root);
  return facts;
}

std::string to_json(const HostFacts& facts) {
  Json json = {{"format", "tferry-host"}, {"version", 1}, {"host", facts.host}, {"boot_id", facts.boot_id}};
  json["clock_error_ns"] = facts.clock_error_ns ? Json(*facts.clock_error_ns) : Json(nullptr);
  json["links"] = Json::array();
  for (const PcieLink& link : facts.links) json["links"].push_back(to_json(link));
  if (facts.calibration) json["calibration"] = Json::parse(trace::to_json(*facts.calibration));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<HostFacts> read_host_facts_file(const std::filesystem::path& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  if (error || size > kMaxFile) return std::nullopt;
  std::ifstream in(file, std::ios::binary);
  try {
    const Json json = Json::parse(std::string{std::istreambuf_iterator<char>(in), {}});
    if (json.at("format") != "tferry-host" || json.at("version") != 1) return std::nullopt;
    HostFacts facts;
    facts.host = json.at("host");
    facts.boot_id = json.at("boot_id");
    if (!json.at("clock_error_ns").is_null())
      facts.clock_error_ns = json.at("clock_error_ns").get<std::int64_t>();
    for (const Json& link : json.at("links")) facts.links.push_back(link_from(link));
    if (json.contains("calibration"))
      facts.calibration = trace::calibration_from_json(json.at("calibration").dump());
    return facts;
  } catch (const Json::exception&) {
    return std::nullopt;
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
}

}  // namespace tferry::cli
