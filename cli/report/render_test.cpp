#include "cli/report/render.hpp"

#include "cli/failure.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tferry::cli {
namespace {

Table example() {
  Table table("kernels", "Kernels", {{"name"}, {"launches", Unit::kCount}, {"total", Unit::kNanoseconds}});
  table.add(KnownBy::kMeasured, {"gemm, \"wide\"", std::int64_t{12}, std::int64_t{1'500'000}});
  table.add(KnownBy::kMeasured, {"copy|paste", std::int64_t{3}, Cell()});
  table.notes.emplace_back("a note");
  return table;
}

TEST(Render, TableIsForPeopleAndUnknownIsNeverZero) {
  EXPECT_EQ(render({example()}, Format::kTable, "s.tferry"),
            "Kernels (measured)\n"
            "  name          launches    total\n"
            "  gemm, \"wide\"        12  1.50 ms\n"
            "  copy|paste           3  unknown\n"
            "  note: a note\n");
}

TEST(Render, HowFiguresAreKnownIsAColumnWhereItDiffers) {
  Table table("summary", "Figures", {{"fact"}, {"value"}});
  table.add(KnownBy::kMeasured, {"footprint", Cell(std::int64_t{2} << 30, Unit::kBytes)});
  table.add(KnownBy::kSimulated, {"bound", Cell(std::int64_t{1500}, Unit::kNanoseconds)});
  table.add(KnownBy::kUnknown, {"iteration", Cell()});
  EXPECT_EQ(render({table}, Format::kTable, ""),
            "Figures\n"
            "  fact          value  known by\n"
            "  footprint  2.00 GiB  measured\n"
            "  bound       1.50 us  simulated\n"
            "  iteration   unknown  unknown\n");
  EXPECT_EQ(render({table}, Format::kCsv, ""),
            "fact,value,unit,known_by\n"
            "footprint,2147483648,bytes,measured\n"
            "bound,1500,ns,simulated\n"
            "iteration,,,unknown\n");
}

TEST(Render, CsvQuotesAndTsvFlattens) {
  EXPECT_EQ(render({example()}, Format::kCsv, ""),
            "name,launches,total,known_by\n"
            "\"gemm, \"\"wide\"\"\",12,1500000,measured\n"
            "copy|paste,3,,measured\n");
  Table table("query", "q", {{"text"}});
  table.add(KnownBy::kMeasured, {"a\tb\nc"});
  EXPECT_EQ(render({table}, Format::kTsv, ""), "text\tknown_by\na b c\tmeasured\n");
}

TEST(Render, MarkdownEscapesItsOwnSigns) {
  const std::string text = render({example()}, Format::kMarkdown, "");
  EXPECT_NE(text.find("## Kernels (measured)\n\n| name | launches | total |\n| --- | ---: | ---: |\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("| copy\\|paste | 3 | unknown |\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nNote: a note\n"), std::string::npos) << text;
}

TEST(Render, JsonHasPlainNumbersUnitsAndNulls) {
  const auto json = nlohmann::json::parse(render({example()}, Format::kJson, "s.tferry"));
  EXPECT_EQ(json["schema"], "tferry.report/1");
  EXPECT_EQ(json["session"], "s.tferry");
  const auto& table = json["tables"][0];
  EXPECT_EQ(table["columns"][2]["unit"], "ns");
  EXPECT_EQ(table["rows"][0]["total"], 1'500'000);
  EXPECT_EQ(table["rows"][0]["known_by"], "measured");
  EXPECT_TRUE(table["rows"][1]["total"].is_null());
}

TEST(Render, NamesThatAreNoUtf8AreNoFailure) {
  Table table("kernels", "Kernels", {{"name"}});
  table.add(KnownBy::kMeasured, {std::string("\xff\xfe")});
  EXPECT_FALSE(nlohmann::json::parse(render({table}, Format::kJson, ""), nullptr, false).is_discarded());
}

TEST(Render, AnEmptyTableSaysSo) {
  EXPECT_EQ(render({Table("kernels", "Kernels", {{"name"}})}, Format::kTable, ""), "Kernels\n  nothing\n");
}

TEST(Render, UnknownFormatIsRefused) { EXPECT_THROW(parse_format("xml"), Failure); }

}  // namespace
}  // namespace tferry::cli
