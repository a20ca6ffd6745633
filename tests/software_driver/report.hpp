#pragma once

#include <string>

namespace tferry::software_driver {

/// Lines "statistic DEVICE NAME VALUE" and "calls FUNCTION COUNT" of everything that is not zero, for tests
/// that look at a driver in another process.
std::string report_text();

/// Has the report written to the file when the process exits; `%p` in the name stands for the process id.
/// What cannot be written is told on stderr.
void write_report_at_exit(const std::string& file);

}  // namespace tferry::software_driver
