#include "collector/nvtx_ranges.hpp"

#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtSync.h>

#include <cstring>
#include <generated_nvtx_meta.h>
#include <utility>

namespace tferry::collector {
namespace {

template <typename Parameters>
const Parameters& parameters(const CUpti_NvtxData& call) {
  return *static_cast<const Parameters*>(call.functionParams);
}

const char* message(const nvtxEventAttributes_t* attributes) {
  if (attributes == nullptr || attributes->messageType != NVTX_MESSAGE_TYPE_ASCII) return nullptr;
  return attributes->message.ascii;
}

std::uint64_t range_id(const CUpti_NvtxData& call) {
  return call.functionReturnValue == nullptr ? 0
                                             : *static_cast<const nvtxRangeId_t*>(call.functionReturnValue);
}

}  // namespace

const std::vector<CUpti_CallbackId>& NvtxRanges::calls() {
  static const std::vector<CUpti_CallbackId> all = {
      CUPTI_CBID_NVTX_nvtxRangePushA,     CUPTI_CBID_NVTX_nvtxRangePushW,
      CUPTI_CBID_NVTX_nvtxRangePushEx,    CUPTI_CBID_NVTX_nvtxRangePop,
      CUPTI_CBID_NVTX_nvtxRangeStartA,    CUPTI_CBID_NVTX_nvtxRangeStartEx,
      CUPTI_CBID_NVTX_nvtxRangeEnd,       CUPTI_CBID_NVTX_nvtxDomainRangePushEx,
      CUPTI_CBID_NVTX_nvtxDomainRangePop, CUPTI_CBID_NVTX_nvtxDomainRangeStartEx,
      CUPTI_CBID_NVTX_nvtxDomainRangeEnd, CUPTI_CBID_NVTX_nvtxDomainCreateA};
  return all;
}

NvtxRanges::Change NvtxRanges::on_call(CUpti_CallbackId id, const CUpti_NvtxData& call) {
  if (id != CUPTI_CBID_NVTX_nvtxRangePop && call.functionParams == nullptr) return Change::kNone;
  const std::lock_guard lock(mutex_);
  switch (id) {
    case CUPTI_CBID_NVTX_nvtxRangePushA:
      return push(nullptr, parameters<nvtxRangePushA_params>(call).message);
    case CUPTI_CBID_NVTX_nvtxRangePushW:
      return push(nullptr, nullptr);
    case CUPTI_CBID_NVTX_nvtxRangePushEx:
      return push(nullptr, message(parameters<nvtxRangePushEx_params>(call).eventAttrib));
    case CUPTI_CBID_NVTX_nvtxRangePop:
      return pop(nullptr);
    case CUPTI_CBID_NVTX_nvtxRangeStartA:
      return start(nullptr, parameters<nvtxRangeStartA_params>(call).message, range_id(call));
    case CUPTI_CBID_NVTX_nvtxRangeStartEx:
      return start(nullptr, message(parameters<nvtxRangeStartEx_params>(call).eventAttrib), range_id(call));
    case CUPTI_CBID_NVTX_nvtxRangeEnd:
      return end(parameters<nvtxRangeEnd_params>(call).id);
    case CUPTI_CBID_NVTX_nvtxDomainRangePushEx: {
      const auto& given = parameters<nvtxDomainRangePushEx_params>(call);
      return push(given.domain, message(given.core.eventAttrib));
    }
    case CUPTI_CBID_NVTX_nvtxDomainRangePop:
      return pop(parameters<nvtxDomainRangePop_params>(call).domain);
    case CUPTI_CBID_NVTX_nvtxDomainRangeStartEx: {
      const auto& given = parameters<nvtxDomainRangeStartEx_params>(call);
      return start(given.domain, message(given.core.eventAttrib), range_id(call));
    }
    case CUPTI_CBID_NVTX_nvtxDomainRangeEnd:
      return end(parameters<nvtxDomainRangeEnd_params>(call).core.id);
    case CUPTI_CBID_NVTX_nvtxDomainCreateA: {
      const char* name = parameters<nvtxDomainCreateA_params>(call).name;
      if (call.functionReturnValue != nullptr && name != nullptr) {
        domains_[*static_cast<const nvtxDomainHandle_t*>(call.functionReturnValue)] = name;
      }
      return Change::kNone;
    }
    default:
      return Change::kNone;
  }
}

bool NvtxRanges::matches(Handle domain, const char* name) const {
  if (name == nullptr || name_ != name) return false;
  if (domain_.empty()) return true;
  const auto place = domains_.find(domain);
  return place != domains_.end() && place->second == domain_;
}

NvtxRanges::Change NvtxRanges::push(Handle domain, const char* name) {
  const bool watched = matches(domain, name);
  const std::pair key{std::this_thread::get_id(), domain};
  const auto place = pushed_.find(key);
  if (place == pushed_.end() && !watched) return Change::kNone;
  (place == pushed_.end() ? pushed_[key] : place->second).push_back(watched);
  return watched ? opened() : Change::kNone;
}

NvtxRanges::Change NvtxRanges::pop(Handle domain) {
  const auto place = pushed_.find({std::this_thread::get_id(), domain});
  if (place == pushed_.end()) return Change::kNone;
  const bool watched = place->second.back();
  place->second.pop_back();
  if (place->second.empty()) pushed_.erase(place);
  return watched ? closed() : Change::kNone;
}

NvtxRanges::Change NvtxRanges::start(Handle domain, const char* name, std::uint64_t id) {
  if (!matches(domain, name) || id == 0 || !started_.insert(id).second) return Change::kNone;
  return opened();
}

NvtxRanges::Change NvtxRanges::end(std::uint64_t id) {
  return started_.erase(id) > 0 ? closed() : Change::kNone;
}

}  // namespace tferry::collector
