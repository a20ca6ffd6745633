// Stands for NCCL: a collective that computes on the host and says by its result that it was reached.
#include <cstddef>

extern "C" int ncclAllReduce(const void* send, void* receive, std::size_t count, int type, int op, void* comm,
                             void* stream) {
  for (std::size_t i = 0; i < count; ++i)
    static_cast<int*>(receive)[i] = 2 * static_cast<const int*>(send)[i];
  return type == 7 && op == 3 && comm == nullptr && stream == nullptr ? 42 : -1;
}
