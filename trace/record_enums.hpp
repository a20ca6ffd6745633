#pragma once

#include <cstdint>

namespace tferry::trace {

// Enumerations inside records and, with the same numbers, in the session's columns. Numbers are the file
// format; 0 is always "unknown", so that a field nobody filled reads as what it is.

/// Who wrote a spool.
enum class SpoolSource : std::uint32_t { kUnknown, kRuntime, kCollector, kSampler };

/// Where memory lives. Not CUPTI's numbers and not those of Nsight's exports: both are translated on the way
/// in.
enum class MemoryKind : std::uint8_t { kUnknown, kPageable, kPinned, kDevice, kManaged, kArray };

/// Direction of a copy.
enum class CopyKind : std::uint8_t {
  kUnknown,
  kHostToDevice,
  kDeviceToHost,
  kDeviceToDevice,
  kHostToHost,
  kPeer
};

/// What an operation may do to an allocation.
enum class AccessKind : std::uint8_t { kUnknown, kMayTouch, kRead, kWrite, kReadWrite };

/// How an access is known.
enum class KnownBy : std::uint8_t {
  kUnknown,
  kArgument,   ///< its address stood in the launch arguments
  kCall,       ///< the call named it (copies, memsets)
  kTable,      ///< its address stood in device memory that the launch names
  kDirection,  ///< found by the access-direction pass
  kGraph,      ///< a node of the launched graph names it
  kPages       ///< the access pass by pages saw it come to the device by page faults
};

/// Which way memory was allocated.
enum class AllocationApi : std::uint8_t {
  kUnknown,
  kAlloc,
  kAllocAsync,
  kPool,
  kManaged,
  kVirtual,
  kHost,
  kPitch,
  kHostRegister,
  kArray
};

/// What a program did to a pool of memory, besides allocating from it.
enum class PoolOperationKind : std::uint8_t {
  kUnknown,
  kCreate,
  kDestroy,
  kTrim,
  kSetAttribute,
  kSetCurrent,  ///< made the one that its device allocates from
  kSetAccess    ///< by other devices
};

/// What a host thread waited for.
enum class SyncKind : std::uint8_t { kUnknown, kEvent, kStreamWaitEvent, kStream, kContext };

/// The program's own work, or the runtime's.
enum class StreamOwner : std::uint8_t { kUnknown, kProgram, kRuntime };

/// NVTX. A range is written once, when it ends (with both times), or as open when the recording stopped
/// inside it.
enum class MarkerKind : std::uint8_t { kUnknown, kRange, kInstant, kOpenRange };

/// Movements that the runtime itself makes.
enum class TransferKind : std::uint8_t {
  kUnknown,
  kPark,       ///< device to host, copied
  kFetch,      ///< host to device, copied
  kCleanDrop,  ///< parked without a copy: the host copy was still good
  kDiscard,    ///< dropped without a copy: contents dead or about to be overwritten
  kInPlace     ///< read over the link where it lies
};

enum class UmEventKind : std::uint8_t {
  kUnknown,
  kGpuFault,
  kCpuFault,
  kMigrationToDevice,
  kMigrationToHost,
  kMigrationPeer,
  kThrashing,
  kThrottling,  ///< the driver holds a processor back to end thrashing
  kRemoteMap    ///< mapped where it lies, read over the link from then on
};

/// Why something is missing from the recording.
enum class LossReason : std::uint8_t {
  kUnknown,
  kNoBuffer,  ///< the spool's blocks were all full: the disk is slower than the job
  kDiskFull,
  kSizeLimit,    ///< the size limit that the user gave
  kWriteError,   ///< the file system answered with another error
  kTooLarge,     ///< one record larger than a block
  kCupti,        ///< CUPTI said that it dropped them
  kBadTime,      ///< zero or reversed timestamps
  kNoPartner,    ///< hook without activity, or activity without hook
  kDamaged,      ///< a block of the spool did not have its checksum
  kMalformed,    ///< a record that does not fit its kind
  kUnsupported,  ///< seen, but this version cannot record it
  kNotPermitted  ///< privileges or another tool's claim
};

}  // namespace tferry::trace
