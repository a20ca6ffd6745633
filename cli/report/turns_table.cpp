#include "cli/report/turns_table.hpp"

#include "trace/session_slot_rows.hpp"

#include <fmt/format.h>

namespace tferry::cli {

Table turns_table(const Scope& scope) {
  Table table("turns", "Turns that ranks took on shared links",
              {{"rank"},
               {"pid", Unit::kCount},
               {"gpu", Unit::kCount},
               {"gpus_on_link", Unit::kCount},
               {"asked", Unit::kCount},
               {"granted", Unit::kCount},
               {"used", Unit::kCount},
               {"ahead", Unit::kCount},
               {"expired", Unit::kCount},
               {"waited", Unit::kNanoseconds},
               {"each", Unit::kNanoseconds}});
  std::int64_t expired = 0;
  scope.select(
      "SELECT rank, pid, device_ordinal, gpus_on_link, asked, granted, used, ahead, expired, wait_ns FROM "
      "slot_use ORDER BY rank, pid, device_ordinal",
      [&](trace::Statement& row) {
        const auto count = [&row](int column) {
          std::optional<std::int64_t> value;
          row.get(column, value);
          return value;
        };
        const auto granted = count(5), waited = count(9);
        const auto rank = count(0);
        std::optional<double> each;
        if (granted && waited && *granted > 0)
          each = static_cast<double>(*waited) / static_cast<double>(*granted);
        expired += count(8).value_or(0);
        table.add(KnownBy::kMeasured,
                  {rank ? Cell(std::to_string(*rank)) : Cell("-"), row.integer(1), row.integer(2), count(3),
                   count(4), granted, count(6), count(7), count(8), waited, each});
      });
  if (expired > 0) {
    table.notes.push_back(
        fmt::format("{} turns outlasted their lease: transfers of two ranks ran side by side then", expired));
  }
  return table;
}

}  // namespace tferry::cli
