#include "benchmarks/tferry_bench/check.hpp"

#include "benchmarks/tferry_bench/figure.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace tferry::benchmarks {
namespace {

using Json = nlohmann::json;

constexpr double kTolerance = 1e-9;  // relative: what printing and reading a double may lose

bool same(const Json& stored, const Json& computed) {
  if (!stored.is_number() || !computed.is_number()) return stored == computed;
  const auto a = stored.get<double>();
  const auto b = computed.get<double>();
  return std::abs(a - b) <= kTolerance * std::max(std::abs(a), std::abs(b));
}

class Check {
 public:
  explicit Check(const Repository& repository) : repository_(repository), problems_(repository.problems) {}

  std::vector<std::string> run() {
    for (const auto& [claim, result] : repository_.results) {
      check_computed(result);
      check_target(result);
    }
    check_coverage();
    check_pages();
    return std::move(problems_);
  }

 private:
  void report(const std::string& place, const std::string& what) { problems_.push_back(place + ": " + what); }

  static std::string place(const Result& result) { return "benchmarks/results/" + file_name(result.claim()); }

  void check_computed(const Result& result) {
    const Json computed = result.completed();
    const Json& stored = result.json();
    if (stored.value("verdict", Json()) != computed["verdict"]) {
      report(place(result), "verdict is " + stored.value("verdict", Json()).dump() + ", the samples give " +
                                computed["verdict"].dump());
    }
    const Json stored_ratio = stored.value("ratio", Json::object());
    const Json computed_ratio = computed.value("ratio", Json::object());
    if (!computed.contains("ratio") && stored.contains("ratio"))
      report(place(result), "has a ratio, but no samples");
    if (!stored_ratio.is_object()) return report(place(result), "ratio is no object");
    for (const auto& [name, value] : computed_ratio.items()) {
      const Json found = stored_ratio.value(name, Json());
      if (!same(found, value)) {
        report(place(result), "ratio." + name + " is " + found.dump() + ", the samples give " + value.dump());
      }
    }
  }

  void check_target(const Result& result) {
    const WantedClaim* wanted = repository_.target_of(result.claim());
    if (wanted == nullptr || wanted->target == result.target()) return;
    const auto dump = [](const std::optional<Target>& t) {
      return t ? to_json(*t).dump() : std::string("none");
    };
    report(place(result),
           "its target is " + dump(result.target()) + ", in targets.json it is " + dump(wanted->target));
  }

  void check_coverage() {
    for (const WantedClaim& wanted : repository_.targets) {
      if (repository_.results.count(wanted.claim) != 0) continue;
      report("benchmarks/targets.json", wanted.claim + " has no usable file " + file_name(wanted.claim) +
                                            "; `tferry-bench record --missing` writes one that says not_run");
    }
  }

  void check_pages() {
    std::set<std::string> quoted;
    for (const auto& [page, text] : repository_.pages) {
      for (const Quote& quote : find_quotes(page, text)) {
        const std::string where = page + ":" + std::to_string(quote.line);
        const auto result = repository_.results.find(quote.claim);
        if (result == repository_.results.end()) {
          report(where, "quotes " + quote.claim + ", of which there is no usable file");
          continue;
        }
        quoted.insert(quote.claim);
        const std::string wrong = check_quote(quote, result->second);
        if (!wrong.empty()) report(where, wrong);
      }
    }
    for (const auto& [claim, result] : repository_.results) {
      if (result.was_run() && quoted.count(claim) == 0) {
        report(place(result),
               "is quoted neither in README.md nor in docs; `tferry-bench summary --markdown` makes a page");
      }
    }
  }

  const Repository& repository_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> check(const Repository& repository) { return Check(repository).run(); }

}  // namespace tferry::benchmarks
