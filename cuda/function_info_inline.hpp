#pragma once

#include "cuda/function_info.hpp"

#include <cstring>

namespace tferry::cuda {
namespace detail {

template <class Visit>
void visit_words(const void* begin, std::size_t size, Visit& visit) {
  const char* bytes = static_cast<const char*>(begin);
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= size; at += sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, bytes + at, sizeof word);
    visit(word);
  }
}

template <class Visit>
void visit_words_of(const void* begin, std::size_t size, Visit visit) {
  visit_words(begin, size, visit);
}

/// The packed buffer in an `extra` list and its size, or null.
inline const char* packed_buffer(void* const* extra, std::size_t& size) {
  const char* buffer = nullptr;
  for (int i = 0; extra[i] != CU_LAUNCH_PARAM_END && i < 8; i += 2) {
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = static_cast<const char*>(extra[i + 1]);
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[i + 1] != nullptr) {
      size = *static_cast<const std::size_t*>(extra[i + 1]);
    }
  }
  return buffer;
}

}  // namespace detail

template <class Visit>
void for_each_argument_word(const FunctionInfo& info, void* const* kernel_params, void* const* extra,
                            Visit visit) {
  if (kernel_params != nullptr) {
    for (std::size_t i = 0; i < info.parameters.size(); ++i) {
      if (kernel_params[i] != nullptr) detail::visit_words(kernel_params[i], info.parameters[i].size, visit);
    }
    return;
  }
  if (extra == nullptr) return;
  std::size_t size = info.buffer_size;
  if (const char* buffer = detail::packed_buffer(extra, size)) detail::visit_words(buffer, size, visit);
}

}  // namespace tferry::cuda
