#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>

namespace tferry::fuzz {

using Random = std::mt19937_64;

/// Some position in `text`, which must not be empty.
inline std::size_t somewhere(const std::string& text, Random& random) { return random() % text.size(); }

/// Changes a text as damage does: bytes flipped, parts missing, doubled or swapped.
inline void damage(std::string& text, Random& random) {
  if (text.empty()) return;
  const std::size_t at = somewhere(text, random);
  switch (random() % 4) {
    case 0:
      text[at] = static_cast<char>(random());
      break;
    case 1:
      text.erase(at, random() % 40 + 1);
      break;
    case 2:
      text.insert(at, text.substr(somewhere(text, random), random() % 40 + 1));
      break;
    case 3:
      text.resize(at);
      break;
  }
}

/// Changes JSON as careless or hostile hands do: numbers, names and brackets replaced by others, so that most
/// of it still parses.
inline void edit_json(std::string& text, Random& random) {
  constexpr std::array<std::string_view, 16> kWords = {"0",
                                                       "-1",
                                                       "1e308",
                                                       "9223372036854775807",
                                                       "18446744073709551616",
                                                       "0.5",
                                                       "null",
                                                       "true",
                                                       "\"\"",
                                                       "[]",
                                                       "{}",
                                                       "\"\\u0000\"",
                                                       "-0",
                                                       "1125899906842624",
                                                       "2",
                                                       "\"schema\""};
  if (text.empty()) return;
  const auto part_of_value = [](char c) { return c != ',' && c != '\n' && c != '}' && c != ']'; };
  const std::size_t colon = text.find_first_of(":[", somewhere(text, random));
  if (colon == std::string::npos) return damage(text, random);
  const auto begin = text.begin() + static_cast<std::ptrdiff_t>(colon) + 1;
  const auto end = std::find_if_not(begin, text.end(), part_of_value);
  text.replace(begin, end, kWords[random() % kWords.size()]);
}

}  // namespace tferry::fuzz
