#pragma once

#include <coin/Cbc_C_Interface.h>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tferry::analyzer {

/// A linear program, optionally with integers, solved by CBC.
class LinearProgram {
 public:
  static constexpr double kInfinity = std::numeric_limits<double>::max();  // as COIN-OR has it
  using Terms = std::vector<std::pair<int, double>>;                       ///< column and factor

  int column(double cost, double lowest = 0, double highest = kInfinity, bool integer = false) {
    cost_.push_back(cost);
    lowest_.push_back(lowest);
    highest_.push_back(highest);
    integer_.push_back(integer);
    return static_cast<int>(cost_.size()) - 1;
  }
  std::size_t columns() const { return cost_.size(); }
  void at_most(const Terms& terms, double limit) { rows_.push_back({terms, -kInfinity, limit}); }
  void at_least(const Terms& terms, double limit) { rows_.push_back({terms, limit, kInfinity}); }

  /// The least cost; nothing when infeasible, or when it took more than that many seconds (gave_up() tells).
  std::optional<double> minimise(double seconds = 0) {
    std::vector<std::vector<std::pair<int, double>>> by_column(cost_.size());
    std::vector<double> row_lowest, row_highest;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      for (const auto& [column, factor] : rows_[r].terms) {
        auto& entries = by_column[static_cast<std::size_t>(column)];
        if (!entries.empty() && entries.back().first == static_cast<int>(r)) {
          entries.back().second += factor;
        } else {
          entries.emplace_back(static_cast<int>(r), factor);
        }
      }
      row_lowest.push_back(rows_[r].lowest);
      row_highest.push_back(rows_[r].highest);
    }
    std::vector<CoinBigIndex> start;
    std::vector<int> index;
    std::vector<double> value;
    for (const auto& entries : by_column) {
      start.push_back(static_cast<CoinBigIndex>(index.size()));
      for (const auto& [row, factor] : entries) index.push_back(row), value.push_back(factor);
    }
    start.push_back(static_cast<CoinBigIndex>(index.size()));

    const std::unique_ptr<Cbc_Model, void (*)(Cbc_Model*)> model(Cbc_newModel(), Cbc_deleteModel);
    Cbc_setParameter(model.get(), "logLevel", "0");
    Cbc_setParameter(model.get(), "slogLevel", "0");
    Cbc_setParameter(model.get(), "presolve", "off");
    Cbc_setLogLevel(model.get(), 0);
    Cbc_loadProblem(model.get(), static_cast<int>(cost_.size()), static_cast<int>(rows_.size()), start.data(),
                    index.data(), value.data(), lowest_.data(), highest_.data(), cost_.data(),
                    row_lowest.data(), row_highest.data());
    for (std::size_t c = 0; c < integer_.size(); ++c) {
      if (integer_[c]) Cbc_setInteger(model.get(), static_cast<int>(c));
    }
    if (seconds > 0) Cbc_setMaximumSeconds(model.get(), seconds);
    Cbc_solve(model.get());
    gave_up_ = !Cbc_isProvenOptimal(model.get()) && !Cbc_isProvenInfeasible(model.get());
    if (!Cbc_isProvenOptimal(model.get())) return std::nullopt;
    return Cbc_getObjValue(model.get());
  }

  bool gave_up() const { return gave_up_; }

 private:
  struct Row {
    Terms terms;
    double lowest, highest;
  };
  std::vector<double> cost_, lowest_, highest_;
  std::vector<bool> integer_;
  std::vector<Row> rows_;
  bool gave_up_ = false;
};

}  // namespace tferry::analyzer
