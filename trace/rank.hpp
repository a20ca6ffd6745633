#pragma once

#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <string_view>

namespace tferry::trace {

/// Who a process is among those of its job, by the variables that launchers set (torchrun, Open MPI, MPICH
/// and Intel MPI, Slurm); -1 where none is set or what is set is no number.
struct Rank {
  int rank = -1, local_rank = -1, world_size = -1, local_size = -1;

  static Rank from_environment() {
    return {.rank = first_number({"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}),
            .local_rank = first_number(
                {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}),
            .world_size = first_number({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}),
            .local_size = first_number({"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                        "SLURM_NTASKS_PER_NODE"})};
  }

 private:
  static int first_number(std::initializer_list<const char*> variables) {
    for (const char* name : variables) {
      const char* text = std::getenv(name);
      if (text == nullptr || *text == '\0') continue;
      char* end = nullptr;
      const long value = std::strtol(text, &end, 10);
      if (*end == '\0' && value >= 0 && value <= std::numeric_limits<int>::max())
        return static_cast<int>(value);
    }
    return -1;
  }
};

/// True if a process of this rank is to be recorded by a list such as "0,3": an empty list names all, and a
/// process without a rank is always wanted.
inline bool wanted_rank(const Rank& rank, std::string_view list) {
  if (list.empty() || rank.rank < 0) return true;
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(item.size() < list.size() ? item.size() + 1 : list.size());
    int value = 0;
    bool number = !item.empty();
    for (const char digit : item) {
      number = number && digit >= '0' && digit <= '9' && value < 100'000'000;
      if (number) value = value * 10 + (digit - '0');
    }
    if (number && value == rank.rank) return true;
  }
  return false;
}

}  // namespace tferry::trace
