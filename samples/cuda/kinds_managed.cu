// tferry-sample-kinds: managed memory that faults, migrates, is read where it lies, and is fought over.
#include "kinds.cuh"

#include <cstring>

namespace kinds {
namespace {

constexpr std::size_t kPart = std::size_t{2} << 20;  // what the driver migrates and maps as one block

void need_migration() {
  int concurrent = 0;
  CHECK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0));
  if (concurrent == 0) throw NotHere("managed memory does not migrate by page here");
}

/// Filled on the host, where it is from then on.
unsigned* managed_memory(std::size_t bytes) {
  unsigned* words = nullptr;
  CHECK(cudaMallocManaged(&words, bytes));
  std::memset(words, 0, bytes);
  return words;
}

__global__ void read_all(const unsigned* words, std::size_t count, unsigned* sum) {
  unsigned mine = 0;
  for (std::size_t i = threadIdx.x; i < count; i += blockDim.x) mine += words[i];
  atomicAdd(sum, mine);
}

__global__ void write_all(unsigned* words, std::size_t count) {
  for (std::size_t i = threadIdx.x; i < count; i += blockDim.x) words[i] = 3;
}

__global__ void add_to_all(unsigned* words, std::size_t count) {
  for (std::size_t i = threadIdx.x; i < count; i += blockDim.x) atomicAdd(words + i, 3U);
}

/// Adds to the first word for a while, whatever the host does to it meanwhile.
__global__ void fight(unsigned* word, unsigned long long for_ns) {
  unsigned long long begin = 0, now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    atomicAdd_system(word, 1U);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < for_ns);
}

cudaMemLocation on(cudaMemLocationType type) {
  cudaMemLocation location{};
  location.type = type;
  return location;
}

}  // namespace

/// Managed memory that the GPU faults in, and the host faults back: each byte crosses once each way.
void managed() {
  need_migration();
  unsigned* words = managed_memory(kBytes);
  launch(words, 5, nullptr);
  CHECK(cudaDeviceSynchronize());
  std::size_t sum = 0;
  for (std::size_t i = 0; i < kWords; ++i) sum += words[i];
  expect(sum == 5 * kWords, "sum on the host");
  const std::string there = "address=" + within(words, kBytes);
  known_at_least("um_event migration_to_device", 1, kBytes, there);
  known_at_least("um_event migration_to_host", 1, kBytes, there);
}

/// Faults by what was done to the page: by the GPU and by the host.
void faults() {
  need_migration();
  unsigned *read = managed_memory(kPart), *written = managed_memory(kPart), *added = managed_memory(kPart);
  unsigned* sum = nullptr;
  CHECK(cudaMalloc(&sum, sizeof *sum));
  CHECK(cudaMemset(sum, 0, sizeof *sum));
  constexpr std::size_t kCount = kPart / sizeof(unsigned);
  read_all<<<1, 256>>>(read, kCount, sum);
  write_all<<<1, 256>>>(written, kCount);
  add_to_all<<<1, 256>>>(added, kCount);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::size_t total = 0;
  for (std::size_t i = 0; i < kCount; ++i) total += written[i];  // read on the host
  expect(total == 3 * kCount, "sum of what was written");
  for (std::size_t i = 0; i < kCount; ++i) added[i] = static_cast<unsigned>(i);  // written on the host
  known_at_least("um_event gpu_fault", 1, 0, "cause=read address=" + within(read, kPart));
  known_at_least("um_event gpu_fault", 1, 0, "cause=write address=" + within(written, kPart));
  known_at_least("um_event gpu_fault", 1, 0, "cause=atomic address=" + within(added, kPart));
  known_at_least("um_event cpu_fault", 1, 0, "address=" + within(written, kPart));
  known_at_least("um_event cpu_fault", 1, 0, "address=" + within(added, kPart));
  // Whether CUPTI tells how the host accessed it is not promised: told, not asked for.
  known_at_least("um_event cpu_fault", 0, 0, "cause=read address=" + within(written, kPart));
  known_at_least("um_event cpu_fault", 0, 0, "cause=write address=" + within(added, kPart));
}

/// Moved because the program said so: no faults, and the bytes that it said.
void prefetched() {
  need_migration();
  unsigned* words = managed_memory(kBytes);
  CHECK(cudaMemPrefetchAsync(words, kBytes, on(cudaMemLocationTypeDevice), 0, nullptr));
  launch(words, 7, nullptr);
  CHECK(cudaMemPrefetchAsync(words, kBytes, on(cudaMemLocationTypeHost), 0, nullptr));
  CHECK(cudaDeviceSynchronize());
  expect(words[kWords - 1] == 7, "last word");
  const std::string there = "cause=user address=" + within(words, kBytes);
  known_at_least("um_event migration_to_device", 1, kBytes, there);
  known_at_least("um_event migration_to_host", 1, kBytes, there);
  known("um_event gpu_fault", 0, 0, "address=" + within(words, kBytes));
}

/// Memory that shall stay on the host is mapped there for the GPU.
void remote() {
  need_migration();
  unsigned* words = managed_memory(kPart);
  CHECK(cudaMemAdvise(words, kPart, cudaMemAdviseSetPreferredLocation, on(cudaMemLocationTypeHost)));
  write_all<<<1, 256>>>(words, kPart / sizeof(unsigned));
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  expect(words[9] == 3, "word that the GPU wrote over the link");
  known_at_least("um_event remote_map", 1, 0, "address=" + within(words, kPart));
  known("um_event migration_to_device", 0, 0, "address=" + within(words, kPart));
}

/// GPU and host write to one page at once. What the driver does about it is its own affair: it is told.
void thrashing() {
  need_migration();
  unsigned* words = managed_memory(kPart);
  volatile unsigned* seen = words;
  fight<<<1, 1>>>(words, 150'000'000);
  CHECK(cudaGetLastError());
  while (cudaStreamQuery(nullptr) == cudaErrorNotReady) seen[1] = seen[1] + 1;
  CHECK(cudaDeviceSynchronize());
  expect(words[0] > 0 && words[1] > 0, "words that both wrote");
  const std::string there = "address=" + within(words, kPart);
  known_at_least("um_event gpu_fault", 1, 0, there);
  known_at_least("um_event cpu_fault", 1, 0, there);
  known_at_least("um_event thrashing", 0, 0, there);
  known_at_least("um_event throttling", 0, 0, there);
  known_at_least("um_event remote_map", 0, 0, there);
}

}  // namespace kinds
