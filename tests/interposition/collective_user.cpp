// Stands for PyTorch: linked to the library of collectives, and loaded privately by the program.
#include <cstddef>

extern "C" int ncclAllReduce(const void* send, void* receive, std::size_t count, int type, int op, void* comm,
                             void* stream);

extern "C" int tferry_probe_reduce(const int* send, int* receive, std::size_t count) {
  return ncclAllReduce(send, receive, count, 7, 3, nullptr, nullptr);
}
