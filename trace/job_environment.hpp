#pragma once

/// The variables by which the launcher speaks to the libraries in the job. Read in one place each; unset
/// means "not under Tensorferry". The launcher prints those that it sets for the program's own libraries
/// (PYTORCH_...).
namespace tferry::trace::environment {

inline constexpr const char* kRunDirectory =
    "TFERRY_RUN_DIR";                                    ///< private directory for status and operation files
inline constexpr const char* kBudget = "TFERRY_BUDGET";  ///< auto | BYTES | P% | unlimited | 0:BYTES,1:BYTES
inline constexpr const char* kHostBudget =
    "TFERRY_HOST_BUDGET";                                ///< BYTES; unset: what the control group allows
inline constexpr const char* kPlan = "TFERRY_PLAN";      ///< path of the flat plan to follow (flat_plan.hpp)
inline constexpr const char* kMemory = "TFERRY_MEMORY";  ///< explicit (default) | managed
inline constexpr const char* kPolicy = "TFERRY_POLICY";  ///< what leaves when; see runtime/config.hpp
inline constexpr const char* kRoute =
    "TFERRY_ROUTE";  ///< by which links parked contents move; see trace/copy_route.hpp
inline constexpr const char* kCoordinate =
    "TFERRY_COORDINATE";  ///< interleave | orchestrate | auto; unset: ranks do not know of each other
inline constexpr const char* kSlotSegment =
    "TFERRY_SLOT_SEGMENT";  ///< file that the ranks of this host share (slot_segment.hpp)
inline constexpr const char* kSlotBytes = "TFERRY_SLOT_BYTES";  ///< BYTES moved in one turn at most
inline constexpr const char* kLinks =
    "TFERRY_LINKS";  ///< file: PCI address and name of the link, line by line
inline constexpr const char* kRankPlans =
    "TFERRY_RANK_PLANS";  ///< N: local rank r follows the plan in TFERRY_PLAN with .(r modulo N) behind it
inline constexpr const char* kAllowOversubscription =
    "TFERRY_ALLOW_OVERSUBSCRIPTION";  ///< 1: more managed memory than the card has free
inline constexpr const char* kManagedLimit =
    "TFERRY_MANAGED_LIMIT";  ///< BYTES of managed memory at most; unset: what the card has free
inline constexpr const char* kReserve = "TFERRY_RESERVE";  ///< BYTES that auto leaves free on the card
inline constexpr const char* kVerify = "TFERRY_VERIFY";    ///< 1: audit mode
inline constexpr const char* kRecord =
    "TFERRY_RECORD";  ///< 1: the runtime writes what the hooks see to a spool
inline constexpr const char* kTimes =
    "TFERRY_TIMES";  ///< 1, with TFERRY_RECORD: for a plan made while the job runs; see docs/runtime.md
inline constexpr const char* kWatch = "TFERRY_WATCH";  ///< 1, with TFERRY_RECORD: a few iterations under the
                                                       ///< plan are recorded, with their times
inline constexpr const char* kOff = "TFERRY_OFF";      ///< 1: every hook passes through
inline constexpr const char* kChunkSize = "TFERRY_CHUNK";      ///< BYTES of one device handle, a power of two
inline constexpr const char* kMovableSize = "TFERRY_MOVABLE";  ///< BYTES from which an allocation can move
inline constexpr const char* kDriverPath = "TFERRY_DRIVER";  ///< file name of the CUDA driver to open (tests)
inline constexpr const char* kCollect =
    "TFERRY_COLLECT";  ///< kinds to record: kernel,memcpy,memset,sync,marker,overhead,link (default), um, api
inline constexpr const char* kRange = "TFERRY_RANGE";  ///< what of the job is recorded (range_request.hpp)
inline constexpr const char* kAfterRange = "TFERRY_AFTER_RANGE";  ///< continue (default) | stop
inline constexpr const char* kRanks =
    "TFERRY_RANKS";  ///< 0,3: only processes of these ranks, and those without a rank, are recorded
inline constexpr const char* kSpoolLimit = "TFERRY_SPOOL_LIMIT";  ///< BYTES at which a spool stops
inline constexpr const char* kAccess =
    "TFERRY_ACCESS";  ///< with TFERRY_RECORD: direction, try what launches do to what they name, or pages
inline constexpr const char* kKeepLast =
    "TFERRY_KEEP_LAST";  ///< NANOSECONDS: spools keep at least the last so long, and not much more
inline constexpr const char* kLog = "TFERRY_LOG";  ///< 0 errors, 1 notices (default), 2 details

}  // namespace tferry::trace::environment
