#include "benchmarks/tferry_bench/repository.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>

namespace tferry::benchmarks {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string read_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error(file.string() + ": cannot be read");
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<fs::path> files_below(const fs::path& folder, const std::string& extension, bool recursive) {
  std::vector<fs::path> files;
  std::error_code error;
  if (recursive) {
    for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
      if (entry.is_regular_file() && entry.path().extension() == extension) files.push_back(entry.path());
    }
  } else {
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (entry.is_regular_file() && entry.path().extension() == extension) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

class Reader {
 public:
  explicit Reader(Repository& repository) : repository_(repository) {}

  void read_targets() {
    const fs::path file = repository_.targets_file();
    guarded(file, [&] {
      const Json json = read_json(file);
      const auto list = json.find("targets");
      if (list == json.end() || !list->is_array()) throw BadResult("has no list \"targets\"");
      std::set<std::string> seen;
      for (const Json& item : *list) {
        WantedClaim wanted{item.value("claim", ""), parse_target(item.value("target", Json())),
                           item.value("origin", "")};
        file_name(wanted.claim);
        if (!seen.insert(wanted.claim).second) throw BadResult("names " + wanted.claim + " twice");
        repository_.targets.push_back(wanted);
      }
    });
  }

  void read_results() {
    for (const fs::path& file : files_below(repository_.results_folder(), ".json", false)) {
      guarded(file, [&] {
        const Json json = read_json(file);
        if (json.is_object() && json.value("schema", Json()) == kExperimentsSchema) return;
        Result result(json);
        if (file.filename() != file_name(result.claim())) {
          throw BadResult("holds the claim " + result.claim() + ", so its name must be " +
                          file_name(result.claim()));
        }
        const std::string claim = result.claim();
        repository_.results.emplace(claim, std::move(result));
      });
    }
  }

  void read_pages() {
    std::vector<fs::path> files = files_below(repository_.root / "docs", ".md", true);
    if (fs::exists(repository_.root / "README.md")) files.push_back(repository_.root / "README.md");
    for (const fs::path& file : files) {
      guarded(file, [&] { repository_.pages[below_root(file)] = read_text(file); });
    }
  }

 private:
  std::string below_root(const fs::path& file) const {
    return file.lexically_relative(repository_.root).string();
  }

  template <typename Action>
  void guarded(const fs::path& file, const Action& action) {
    try {
      action();
    } catch (const BadResult& error) {
      repository_.problems.push_back(below_root(file) + ": " + error.what());
    } catch (const Json::exception& error) {
      repository_.problems.push_back(below_root(file) + ": " + error.what());
    } catch (const std::runtime_error& error) {
      repository_.problems.emplace_back(error.what());
    }
  }

  Repository& repository_;
};

}  // namespace

Json read_json(const fs::path& file) {
  try {
    return Json::parse(read_text(file));
  } catch (const Json::parse_error& error) {
    throw std::runtime_error(file.string() + ": is no JSON: " + error.what());
  }
}

const WantedClaim* Repository::target_of(const std::string& claim) const {
  const auto found = std::find_if(targets.begin(), targets.end(),
                                  [&](const WantedClaim& wanted) { return wanted.claim == claim; });
  return found == targets.end() ? nullptr : &*found;
}

Repository read_repository(const fs::path& root) {
  if (!fs::is_directory(root)) throw std::runtime_error(root.string() + ": is no directory");
  Repository repository;
  repository.root = root;
  Reader reader(repository);
  reader.read_targets();
  reader.read_results();
  reader.read_pages();
  return repository;
}

void write_result(const Repository& repository, const Result& result) {
  fs::create_directories(repository.results_folder());
  const fs::path file = repository.results_folder() / file_name(result.claim());
  const fs::path beside = file.string() + ".new";
  std::ofstream out(beside, std::ios::binary);
  out << result.completed().dump(1) << '\n';
  out.close();
  if (!out) throw std::runtime_error(beside.string() + ": cannot be written");
  fs::rename(beside, file);
}

}  // namespace tferry::benchmarks
