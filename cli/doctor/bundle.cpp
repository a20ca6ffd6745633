#include "cli/doctor/bundle.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <pwd.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace tferry::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 13> kPrefixes = {
    "CUDA_", "NVIDIA_", "NVTX_",      "PYTORCH_",     "TORCH_",      "XLA_", "TF_",
    "NCCL_", "TFERRY_", "OMPI_COMM_", "SLURM_NTASKS", "SLURM_STEP_", "JAX_"};
constexpr std::array<std::string_view, 9> kNames = {
    "LD_LIBRARY_PATH", "LD_PRELOAD", "TMPDIR",          "XDG_RUNTIME_DIR", "RANK",
    "LOCAL_RANK",      "WORLD_SIZE", "OMP_NUM_THREADS", "VIRTUAL_ENV"};
constexpr std::array<std::string_view, 6> kSecret = {"TOKEN",    "KEY",        "SECRET",
                                                     "PASSWORD", "CREDENTIAL", "AUTH"};

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  if (what.empty()) return;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
}

/// Replaces a name where it stands as a word of its own.
void replace_word(std::string& text, const std::string& what, const std::string& with) {
  if (what.size() < 2) return;
  const auto is_part = [&](std::size_t place) {
    return place < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[place])) != 0 || text[place] == '_');
  };
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos;) {
    if ((at > 0 && is_part(at - 1)) || is_part(at + what.size())) {
      at += what.size();
      continue;
    }
    text.replace(at, what.size(), with);
    at += with.size();
  }
}

void shorten_uuids(std::string& text) {
  constexpr std::string_view kGpu = "GPU-";
  constexpr std::size_t kKept = 4;
  for (std::size_t at = 0; (at = text.find(kGpu, at)) != std::string::npos;) {
    std::size_t end = at += kGpu.size();
    while (end < text.size() &&
           (std::isxdigit(static_cast<unsigned char>(text[end])) != 0 || text[end] == '-'))
      ++end;
    if (end - at > kKept) text.replace(at + kKept, end - at - kKept, "...");
  }
}

std::string os_name() {
  std::ifstream in("/etc/os-release");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("PRETTY_NAME=")) return line.substr(12);
  }
  return "unknown";
}

Json speed(PcieSpeed value) { return {{"generation", value.generation}, {"width", value.width}}; }

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

void redact(Json& json, const Redaction& redaction) {
  if (json.is_string()) {
    json = redaction.apply(json.get<std::string>());
  } else if (json.is_structured()) {
    for (Json& part : json) redact(part, redaction);
  }
}

}  // namespace

Redaction::Redaction(std::string home, std::string user, std::string host)
    : home_(std::move(home)), user_(std::move(user)), host_(std::move(host)) {
  if (home_ == "/") home_.clear();
}

Redaction Redaction::of_this_process(const Environment& environment) {
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  const passwd* user = ::getpwuid(::geteuid());
  return {std::string(environment.get("HOME").value_or("")), user == nullptr ? "" : user->pw_name, host};
}

std::string Redaction::apply(std::string text) const {
  replace_all(text, home_, "~");
  replace_word(text, host_, "HOST");
  if (user_ != "root") replace_word(text, user_, "USER");
  shorten_uuids(text);
  return text;
}

bool belongs_into_bundle(std::string_view variable) {
  std::string upper(variable);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  const bool secret = std::any_of(kSecret.begin(), kSecret.end(), [&](std::string_view word) {
    return upper.find(word) != std::string::npos;
  });
  if (secret) return false;
  return std::find(kNames.begin(), kNames.end(), variable) != kNames.end() ||
         std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return variable.starts_with(prefix); });
}

std::string bundle(const std::vector<Finding>& findings, const std::vector<PcieLink>& links,
                   const Machine& machine, const char* const* variables, const Redaction& redaction) {
  utsname system{};
  ::uname(&system);
  Json json = {{"format", "tferry-doctor-bundle"},
               {"version", 1},
               {"tferry", TFERRY_VERSION},
               {"kernel", system.release},
               {"machine", system.machine},
               {"system", os_name()},
               {"doctor", Json::parse(findings_to_json(findings))}};
  json["limits"] = {{"cpus", or_null(machine.cpu_limit)},
                    {"processes", or_null(machine.process_limit)},
                    {"open_files", or_null(machine.file_limit)},
                    {"numa_nodes", machine.cpus_of_node.size()},
                    {"allowed_cpus", machine.allowed_cpus.size()}};
  json["links"] = Json::array();
  for (const PcieLink& link : links) {
    json["links"].push_back({{"address", link.address},
                             {"upstream", link.upstream},
                             {"parent", link.parent},
                             {"gpu", link.gpu},
                             {"numa_node", link.numa_node},
                             {"now", speed(link.now)},
                             {"most", speed(link.most)}});
  }
  json["environment"] = Json::object();
  for (const char* const* entry = variables; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !belongs_into_bundle(text.substr(0, equals))) continue;
    json["environment"][std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  redact(json, redaction);
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tferry::cli
