#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tferry::cli {

/// Index of the first of `arguments`, from `begin` on, that is neither an option of `command` nor the value
/// of one: the command's name on the main program, the job's program on a command. `--` counts as such an
/// argument. arguments.size() if there is none. Throws Failure for an option that `command` does not have.
std::size_t skip_options(const CLI::App& command, const std::vector<std::string>& arguments,
                         std::size_t begin);

/// Takes the job, that is everything behind our own options, off `arguments`; a `--` in front of it is
/// dropped. `begin` is the first argument of `command`. Whatever the job's own arguments look like, they are
/// not ours.
std::vector<std::string> take_job(const CLI::App& command, std::vector<std::string>& arguments,
                                  std::size_t begin);

}  // namespace tferry::cli
