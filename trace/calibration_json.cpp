#include "trace/calibration.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace tferry::trace {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "tferry-calibration";
constexpr int kVersion = 1;

Json to_json(const CalibratedFigure& figure) {
  Json json = {{"what", figure.what}, {"gpus", figure.gpus}};
  if (figure.gpu >= 0) json["gpu"] = figure.gpu;
  if (!figure.direction.empty()) json["direction"] = figure.direction;
  if (!figure.memory.empty()) json["memory"] = figure.memory;
  if (!figure.beside.empty()) json["beside"] = figure.beside;
  if (figure.bytes > 0) json["bytes"] = figure.bytes;
  json["unit"] = figure.unit;
  json["median"] = figure.median;
  json["low"] = figure.low;
  json["high"] = figure.high;
  json["count"] = figure.count;
  return json;
}

CalibratedFigure figure_from(const Json& json) {
  CalibratedFigure figure;
  figure.what = json.at("what");
  figure.gpus = json.at("gpus").get<std::vector<int>>();
  figure.gpu = json.value("gpu", -1);
  figure.direction = json.value("direction", "");
  figure.memory = json.value("memory", "");
  figure.beside = json.value("beside", "");
  figure.bytes = json.value("bytes", std::int64_t{0});
  figure.unit = json.at("unit");
  figure.median = json.at("median");
  figure.low = json.at("low");
  figure.high = json.at("high");
  figure.count = json.at("count");
  return figure;
}

/// As UUIDs and PCI addresses are: they go into questions to a database.
bool is_plain(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char letter) {
    return std::isalnum(letter) || letter == '-' || letter == ':' || letter == '.';
  });
}

}  // namespace

std::string to_json(const Calibration& calibration) {
  Json json = {{"format", kFormat},
               {"version", kVersion},
               {"tferry", calibration.tferry},
               {"created", calibration.created},
               {"host", calibration.host},
               {"driver_version", calibration.driver_version},
               {"duration_s", calibration.duration_s},
               {"gpus", Json::array()},
               {"figures", Json::array()},
               {"shared", Json::array()},
               {"missing", calibration.missing}};
  for (const CalibratedGpu& gpu : calibration.gpus) {
    json["gpus"].push_back({{"ordinal", gpu.ordinal},
                            {"uuid", gpu.uuid},
                            {"name", gpu.name},
                            {"pci_address", gpu.pci_address},
                            {"numa_node", gpu.numa_node}});
  }
  for (const CalibratedFigure& figure : calibration.figures) json["figures"].push_back(to_json(figure));
  for (const SharedGroup& group : shared_groups(calibration)) {
    json["shared"].push_back({{"gpus", group.gpus},
                              {"direction", group.direction},
                              {"factor", group.factor},
                              {"low", group.low},
                              {"high", group.high},
                              {"bytes_per_second", group.bytes_per_second}});
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Calibration calibration_from_json(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (json.at("format") != kFormat || json.at("version") != kVersion) {
      throw std::runtime_error("it is of another format or version");
    }
    Calibration calibration;
    calibration.tferry = json.value("tferry", "");
    calibration.created = json.at("created");
    calibration.host = json.value("host", "");
    calibration.driver_version = json.value("driver_version", 0);
    calibration.duration_s = json.value("duration_s", 0.0);
    calibration.missing = json.value("missing", std::vector<std::string>());
    for (const Json& gpu : json.at("gpus")) {
      calibration.gpus.push_back({.ordinal = gpu.at("ordinal"),
                                  .uuid = gpu.at("uuid"),
                                  .name = gpu.value("name", ""),
                                  .pci_address = gpu.value("pci_address", ""),
                                  .numa_node = gpu.value("numa_node", -1)});
    }
    for (const CalibratedGpu& gpu : calibration.gpus) {
      if (!is_plain(gpu.uuid) || !is_plain(gpu.pci_address)) {
        throw std::runtime_error("it is no calibration: a GPU's UUID or address is none");
      }
    }
    for (const Json& figure : json.at("figures")) calibration.figures.push_back(figure_from(figure));
    return calibration;
  } catch (const Json::exception& error) {
    throw std::runtime_error(std::string("it is no calibration: ") + error.what());
  }
}

}  // namespace tferry::trace
