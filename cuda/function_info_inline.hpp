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

/// As visit_words, of a kernel's first parameter.
template <class Visit>
void visit_first(const FunctionInfo& info, std::uint64_t blocks, const void* begin, Visit& visit) {
  const std::size_t size = info.parameters.front().size;
  const auto used = info.multi_tensor && blocks <= ~0U
                        ? tensors_used(*info.multi_tensor, begin, static_cast<unsigned>(blocks))
                        : std::nullopt;
  if (!used) return visit_words(begin, size, visit);
  std::size_t index = 0;
  auto visit_used = [&](std::uint64_t word) {
    if (is_used_address(*info.multi_tensor, index++, *used)) visit(word);
  };
  visit_words(begin, size, visit_used);
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
void for_each_argument_word(const FunctionInfo& info, std::uint64_t blocks, void* const* kernel_params,
                            void* const* extra, Visit visit) {
  if (kernel_params != nullptr) {
    for (std::size_t i = 0; i < info.parameters.size(); ++i) {
      if (kernel_params[i] == nullptr) continue;
      if (i == 0) {
        detail::visit_first(info, blocks, kernel_params[i], visit);
      } else {
        detail::visit_words(kernel_params[i], info.parameters[i].size, visit);
      }
    }
    return;
  }
  if (extra == nullptr) return;
  std::size_t size = info.buffer_size;
  const char* buffer = detail::packed_buffer(extra, size);
  if (buffer == nullptr) return;
  const bool known = info.multi_tensor && info.parameters.front().offset == 0;
  const std::size_t end = known ? info.parameters.front().size : 0;
  if (!known || end > size) return detail::visit_words(buffer, size, visit);
  detail::visit_first(info, blocks, buffer, visit);
  detail::visit_words(buffer + end, size - end, visit);
}

}  // namespace tferry::cuda
