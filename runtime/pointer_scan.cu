// Marks the pages of [low, low + span) that any aligned 8-byte word of a region points into.
extern "C" __global__ void tferry_pointer_scan(const unsigned long long* begin, unsigned long long words,
                                               unsigned long long low, unsigned long long span,
                                               unsigned page_shift, unsigned* pages) {
  const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x * 2;
  for (unsigned long long i = (static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x) * 2;
       i < words; i += step) {
    const ulonglong2 pair =
        *reinterpret_cast<const ulonglong2*>(begin + i);  // chunks hold an even number of words
    if (pair.x - low < span) {
      const unsigned long long page = (pair.x - low) >> page_shift;
      atomicOr(pages + (page >> 5), 1U << (page & 31));
    }
    if (pair.y - low < span) {
      const unsigned long long page = (pair.y - low) >> page_shift;
      atomicOr(pages + (page >> 5), 1U << (page & 31));
    }
  }
}
