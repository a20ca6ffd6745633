#include "tests/software_driver/entry.hpp"

#include "tests/software_driver/driver.hpp"
#include "tests/software_driver/fault.hpp"

#include <cstdio>
#include <cstring>
#include <map>
#include <string_view>

// The addresses of the exported functions, declared apart from their types by assembler name.
#define SWD_DECLARE_PLAIN(exported) extern "C" void swd_address_of_##exported() __asm__(#exported);
#define SWD_DECLARE_PTSZ(exported) \
  SWD_DECLARE_PLAIN(exported)      \
  extern "C" void swd_address_of_##exported##_ptsz() __asm__(#exported "_ptsz");
#define SWD_DECLARE_PTDS(exported) \
  SWD_DECLARE_PLAIN(exported)      \
  extern "C" void swd_address_of_##exported##_ptds() __asm__(#exported "_ptds");
#define SWD_ENTRY(exported, name, version, forms, needs, capture) SWD_DECLARE_##forms(exported)
#include "tests/software_driver/entry_points.def"
#undef SWD_ENTRY

namespace tferry::software_driver {
namespace {

template <class F>
void* address(F* function) {
  return reinterpret_cast<void*>(function);
}

enum class Needs { NOTHING, DRIVER, CONTEXT };
enum class InCapture { SAFE, UNSAFE };

#define SWD_FORMS_PLAIN(exported) address(swd_address_of_##exported), nullptr
#define SWD_FORMS_PTSZ(exported) address(swd_address_of_##exported), address(swd_address_of_##exported##_ptsz)
#define SWD_FORMS_PTDS(exported) address(swd_address_of_##exported), address(swd_address_of_##exported##_ptds)

const EntryInfo kEntries[] = {
#define SWD_ENTRY(exported, name, version, forms, needs, capture) \
  {#exported,                                                     \
   name,                                                          \
   version,                                                       \
   SWD_FORMS_##forms(exported),                                   \
   Needs::needs != Needs::NOTHING,                                \
   Needs::needs == Needs::CONTEXT,                                \
   InCapture::capture == InCapture::UNSAFE},
#include "tests/software_driver/entry_points.def"
#undef SWD_ENTRY
};

}  // namespace

const EntryInfo& entry_info(EntryPoint entry) { return kEntries[static_cast<unsigned>(entry)]; }

EntryPoint find_entry(const char* exported) {
  static const auto& by_name = *[] {
    auto* names = new std::map<std::string_view, EntryPoint>;
    for (unsigned i = 0; i < static_cast<unsigned>(EntryPoint::kCount); ++i) {
      names->emplace(kEntries[i].exported, static_cast<EntryPoint>(i));
    }
    return names;
  }();
  const auto at = exported ? by_name.find(exported) : by_name.end();
  return at == by_name.end() ? EntryPoint::kCount : at->second;
}

void enter(EntryPoint entry) {
  const EntryInfo& info = entry_info(entry);
  count_call(entry);
  if (!info.needs_initialisation) return;
  require(!in_stream_work(), CUDA_ERROR_NOT_PERMITTED);
  require(driver().initialised.load(std::memory_order_acquire), CUDA_ERROR_NOT_INITIALIZED);
  if (info.needs_context) {
    const CUresult error = current_context()->error();
    require(error == CUDA_SUCCESS, error);
  }
  if (info.unsafe_in_capture) captures().forbid_unsafe_call();
}

}  // namespace tferry::software_driver
