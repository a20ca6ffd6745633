#pragma once

#include "trace/spool_reader.hpp"
#include "trace/spool_writer.hpp"
#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tferry::trace {

namespace fs = std::filesystem;

/// A directory of its own for each test.
class SpoolFixture : public ::testing::Test {
 protected:
  std::string path(const std::string& name = "s") const { return directory_ / name; }

  std::unique_ptr<SpoolWriter> open(SpoolOptions options = {}, const std::string& name = "s") {
    std::string error;
    auto writer = SpoolWriter::open(path(name), options, &error);
    EXPECT_TRUE(writer) << error;
    return writer;
  }

  TestDirectory directory_;
};

inline FreeRecord numbered(std::uint64_t number) {
  return {.time_ns = static_cast<std::int64_t>(1000 + number), .allocation = number};
}

/// Numbers of all FreeRecords that can be read.
inline std::vector<std::uint64_t> read_numbers(SpoolReader& reader) {
  std::vector<std::uint64_t> numbers;
  while (auto record = reader.next()) {
    if (auto free = record->as<FreeRecord>()) numbers.push_back(free->allocation);
  }
  return numbers;
}

inline std::vector<std::uint64_t> first_numbers(std::uint64_t count) {
  std::vector<std::uint64_t> numbers(count);
  for (std::uint64_t i = 0; i < count; ++i) numbers[i] = i;
  return numbers;
}

inline std::string error_of(const std::string& path) {
  try {
    SpoolReader reader(path);
    return "";
  } catch (const SpoolError& error) {
    return error.what();
  }
}

}  // namespace tferry::trace
