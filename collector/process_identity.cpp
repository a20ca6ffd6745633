#include "collector/process_identity.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <string_view>
#include <unistd.h>

namespace tferry::collector {
namespace {

constexpr std::size_t kMaxCommand = 4096;

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

bool sounds_secret(std::string_view name) {
  const std::string text = lower(name);
  // "tokenizer", "num-tokens" and the like are the daily words of this trade.
  if (text.find("tokeni") != std::string::npos || text.find("tokens") != std::string::npos) return false;
  if (text.find("keys") != std::string::npos || text.find("keyboard") != std::string::npos) return false;
  for (const char* word : {"password", "passwd", "secret", "token", "credential", "apikey", "api-key",
                           "api_key", "access-key", "access_key", "private-key", "private_key", "auth"}) {
    if (text.find(word) != std::string::npos) return true;
  }
  return text == "key" || text.ends_with("-key") || text.ends_with("_key");
}

bool looks_like_token(std::string_view text) {
  for (const char* prefix : {"hf_", "sk-", "ghp_", "gho_", "github_pat_", "glpat-", "xoxb-", "AKIA", "eyJ"}) {
    if (text.starts_with(prefix) && text.size() >= 16) return true;
  }
  return false;
}

std::string mask_credentials(std::string text) {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string::npos) return text;
  const std::size_t begin = scheme + 3;
  const std::size_t at = text.find('@', begin);
  if (at != std::string::npos && at < text.find('/', begin)) text.replace(begin, at - begin, "***");
  return text;
}

std::string mask_value(std::string_view value) {
  return looks_like_token(value) ? "***" : mask_credentials(std::string(value));
}

std::string quoted(const std::string& text) {
  const bool plain = !text.empty() && std::none_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isspace(c) || c == '\'' || c == '"';
  });
  return plain ? text : "'" + text + "'";
}

}  // namespace

std::string masked_command(const std::vector<std::string>& arguments) {
  std::string line;
  bool value_is_secret = false;
  for (const std::string& argument : arguments) {
    std::string shown;
    const std::size_t equals = argument.find('=');
    const bool is_option = argument.starts_with("-");
    if (value_is_secret && !is_option) {
      shown = "***";
      value_is_secret = false;
    } else if (equals != std::string::npos) {
      const std::string_view name = std::string_view(argument).substr(0, equals);
      const std::string_view value = std::string_view(argument).substr(equals + 1);
      shown = std::string(name) + "=" + (sounds_secret(name) ? "***" : mask_value(value));
      value_is_secret = false;
    } else {
      shown = mask_value(argument);
      value_is_secret = is_option && sounds_secret(argument);
    }
    if (!line.empty()) line += ' ';
    line += quoted(shown);
    if (line.size() > kMaxCommand) {
      line.resize(kMaxCommand);
      return line + "...";
    }
  }
  return line;
}

std::vector<std::string> command_arguments() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::string> arguments;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    arguments.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return arguments;
}

trace::ProcessRecord process_record(trace::SpoolWriter& spool, int driver_version) {
  trace::ProcessRecord record;
  record.time_ns = trace::SpoolWriter::now_ns();
  record.pid = getpid();
  record.parent_pid = getppid();
  const Rank rank = Rank::from_environment();
  record.rank = rank.rank;
  record.local_rank = rank.local_rank;
  record.world_size = rank.world_size;
  record.driver_version = driver_version;
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) == 0) record.host = spool.intern(host);
  record.command = spool.intern(masked_command(command_arguments()));
  return record;
}

}  // namespace tferry::collector
