#include "cli/session/store_links.hpp"

#include "trace/session_rows.hpp"
#include "trace/session_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace tferry::cli {
namespace {

using trace::Calibration;
using trace::LinkRow;

struct Card {
  std::int64_t id = 0;
  std::string uuid, pci_address;
};

std::optional<std::int64_t> unless_zero(int value) {
  return value == 0 ? std::nullopt : std::optional<std::int64_t>(value);
}

std::vector<Card> read_cards(trace::SessionWriter& writer, std::int64_t devices_before) {
  std::vector<Card> cards;
  trace::Statement statement(
      writer.database(),
      fmt::format("SELECT id, uuid, coalesce(pci_address, '') FROM device WHERE id > {} ORDER BY id",
                  devices_before));
  while (statement.step()) cards.push_back({statement.integer(0), statement.shown(1), statement.shown(2)});
  return cards;
}

/// The edges of one host, while they are written.
class LinkWriter {
 public:
  LinkWriter(trace::SessionWriter& writer, const HostFacts& facts, std::vector<Card> cards)
      : writer_(writer), facts_(facts), cards_(std::move(cards)) {}

  void write() {
    for (const PcieLink& link : facts_.links) {
      if (link.gpu) nodes_[link.numa_node].insert(link.address);
    }
    for (const PcieLink& link : facts_.links) write_pcie(link);
    for (const Card& card : cards_) {
      if (covered_.count(card.id) > 0) continue;
      LinkRow row{.kind = "pcie",
                  .upstream = "host",
                  .downstream = card.pci_address.empty() ? card.uuid : card.pci_address};
      row.device_id = card.id;
      set_rates(row, {card.pci_address});
      writer_.insert(row);
    }
    write_nvlinks();
    write_routes();
  }

 private:
  const Card* card_at(const std::string& address) const {
    const auto place = std::find_if(cards_.begin(), cards_.end(),
                                    [&](const Card& card) { return card.pci_address == address; });
    return place == cards_.end() ? nullptr : &*place;
  }

  /// The number of the calibration for the GPU at this address; -1 if it measured none there.
  int calibrated(const std::string& address) const {
    if (!facts_.calibration) return -1;
    const Card* card = card_at(address);
    for (const trace::CalibratedGpu& gpu : facts_.calibration->gpus) {
      if (gpu.pci_address == address &&
          (card == nullptr || card->uuid == gpu.uuid || card->uuid == "unknown"))
        return gpu.ordinal;
    }
    return -1;
  }

  std::set<std::string> gpus_below(const std::string& address) const {
    std::set<std::string> gpus;
    for (const PcieLink& link : facts_.links) {
      if (link.gpu && link.address == address) gpus.insert(address);
      if (link.parent == address) gpus.merge(gpus_below(link.address));
    }
    return gpus;
  }

  /// What these GPUs reach: one alone, several together.
  void set_rates(LinkRow& row, const std::set<std::string>& addresses) const {
    row.known_by = "unknown";
    std::vector<int> gpus;
    for (const std::string& address : addresses) gpus.push_back(calibrated(address));
    std::sort(gpus.begin(), gpus.end());
    if (gpus.empty() || gpus.front() < 0) return;
    const Calibration& calibration = *facts_.calibration;
    const auto rate = [&](const char* direction, const char* beside) -> std::optional<double> {
      if (gpus.size() == 1) return link_rate(calibration, gpus.front(), direction, beside);
      const auto* figure = find_figure(calibration, "group", gpus, -1, direction, "pinned", beside);
      return figure == nullptr ? std::nullopt : std::optional(figure->median);
    };
    row.h2d_bytes_per_second = rate("h2d", "");
    row.d2h_bytes_per_second = rate("d2h", "");
    row.duplex_h2d_bytes_per_second = rate("h2d", "d2h");
    row.duplex_d2h_bytes_per_second = rate("d2h", "h2d");
    if (row.h2d_bytes_per_second || row.d2h_bytes_per_second) row.known_by = "measured";
  }

  std::int64_t host_row(int node) {
    const auto [place, is_new] = host_rows_.try_emplace(node, 0);
    if (is_new) {
      LinkRow row{.kind = "host",
                  .upstream = "memory",
                  .downstream = node < 0 ? "host" : fmt::format("node{}", node)};
      if (node >= 0) row.numa_node = node;
      set_rates(row, nodes_[node]);
      if (nodes_[node].size() < 2) row = without_rates(row);  // one GPU cannot show what its node can do
      place->second = writer_.insert(row);
    }
    return place->second;
  }

  static LinkRow without_rates(LinkRow row) {
    row.h2d_bytes_per_second = row.d2h_bytes_per_second = row.duplex_h2d_bytes_per_second =
        row.duplex_d2h_bytes_per_second = std::nullopt;
    row.known_by = "unknown";
    return row;
  }

  void write_pcie(const PcieLink& link) {
    const auto parent = rows_.find(link.parent);
    const std::set<std::string> below = gpus_below(link.address);
    LinkRow row{.kind = "pcie",
                .upstream = link.upstream.empty() ? "host" : link.upstream,
                .downstream = link.address};
    row.parent_id = parent == rows_.end() ? host_row(link.numa_node) : parent->second;
    row.pcie_generation = unless_zero(link.now.generation);
    row.pcie_width = unless_zero(link.now.width);
    row.pcie_generation_most = unless_zero(link.most.generation);
    row.pcie_width_most = unless_zero(link.most.width);
    if (link.numa_node >= 0) row.numa_node = link.numa_node;
    set_rates(row, below);
    if (const Card* card = link.gpu ? card_at(link.address) : nullptr) {
      row.device_id = card->id;
      covered_.insert(card->id);
    }
    rows_[link.address] = writer_.insert(row);
  }

  void write_nvlinks() {
    if (!facts_.calibration) return;
    for (const trace::CalibratedGpu& first : facts_.calibration->gpus) {
      for (const trace::CalibratedGpu& second : facts_.calibration->gpus) {
        if (!(first.uuid < second.uuid)) continue;
        const auto* there = find_figure(*facts_.calibration, "peer", {first.ordinal, second.ordinal},
                                        second.ordinal, "peer", "device");
        const auto* back = find_figure(*facts_.calibration, "peer", {second.ordinal, first.ordinal},
                                       first.ordinal, "peer", "device");
        if (there == nullptr && back == nullptr) continue;
        // Rates that were measured replace nominal ones that the recording has.
        writer_.clear<LinkRow>(fmt::format("kind = 'nvlink' AND upstream = '{}' AND downstream = '{}'",
                                           first.uuid, second.uuid));
        LinkRow row{.kind = "nvlink", .upstream = first.uuid, .downstream = second.uuid};
        if (const Card* card = card_at(second.pci_address)) row.device_id = card->id;
        if (there != nullptr) row.h2d_bytes_per_second = there->median;
        if (back != nullptr) row.d2h_bytes_per_second = back->median;
        row.known_by = "measured";
        writer_.insert(row);
      }
    }
  }

  /// What contents of a GPU get by a neighbour's link, and by both at once.
  void write_routes() {
    if (!facts_.calibration) return;
    for (const Card& card : cards_) {
      const int gpu = calibrated(card.pci_address);
      for (const auto way : {trace::CopyRoute::Way::kNeighbour, trace::CopyRoute::Way::kBoth}) {
        const auto rates = trace::route_rates(*facts_.calibration, gpu, way);
        if (!rates) continue;
        LinkRow row{.kind = std::string(trace::route_name(way)),
                    .upstream = address_of(rates->via),
                    .downstream = card.pci_address};
        row.device_id = card.id;
        row.h2d_bytes_per_second = rates->h2d;
        row.d2h_bytes_per_second = rates->d2h;
        // Measured in sum; each in proportion.
        row.duplex_h2d_bytes_per_second = rates->both * rates->h2d / (rates->h2d + rates->d2h);
        row.duplex_d2h_bytes_per_second = rates->both * rates->d2h / (rates->h2d + rates->d2h);
        row.known_by = "measured";
        writer_.insert(row);
      }
    }
  }

  std::string address_of(int gpu) const {
    for (const trace::CalibratedGpu& one : facts_.calibration->gpus) {
      if (one.ordinal == gpu) return one.pci_address;
    }
    return "";
  }

  trace::SessionWriter& writer_;
  const HostFacts& facts_;
  std::vector<Card> cards_;
  std::map<int, std::set<std::string>> nodes_;  ///< addresses of GPUs by NUMA node
  std::map<int, std::int64_t> host_rows_;
  std::map<std::string, std::int64_t> rows_;  ///< by address
  std::set<std::int64_t> covered_;            ///< ids of devices that have an edge
};

}  // namespace

void store_links(trace::SessionWriter& writer, const HostFacts& facts, std::int64_t devices_before) {
  LinkWriter(writer, facts, read_cards(writer, devices_before)).write();
}

}  // namespace tferry::cli
