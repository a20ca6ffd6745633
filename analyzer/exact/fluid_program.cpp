#include "analyzer/exact/fluid_program.hpp"

#include "analyzer/bound/breakpoints.hpp"
#include "analyzer/exact/linear_program.hpp"
#include "analyzer/workload/uses.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <tuple>

namespace tferry::analyzer {
namespace {

constexpr double kMicro = 1e-3;  // the program is written in microseconds and megabytes
constexpr double kMega = 1e-6;

/// Bytes that share a way through the breakpoints. Points are indices of breakpoints, larger by their number
/// when they lie in the next iteration.
struct Stream {
  double size = 0;
  std::size_t first = 0;   ///< the first point at which the bytes can be absent
  std::size_t end = 0;     ///< one beyond the last
  bool used_last = false;  ///< the last point is the operation that needs them
  bool last = false;       ///< nothing needs them: they are freed after the last point
  bool always_valid = false;
  std::optional<std::size_t> carries_from;  ///< the stream whose copy in host memory is still good
  std::vector<int> valid;
};

class FluidProgram {
 public:
  FluidProgram(const Workload& workload, std::size_t breakpoints)
      : workload_(workload), uses_(workload), points_(choose_breakpoints(workload, uses_, breakpoints)) {
    live_ = live_bytes(workload, uses_);
    make_intervals();
    make_streams();
    for (Stream& stream : streams_) add_columns(stream);
    for (const Stream& stream : streams_) add_flows(stream);
    close_intervals();
  }

  FluidBound solve() {
    const std::optional<double> cost = program_.minimise();
    if (!cost) throw std::runtime_error("the solver found no solution of the fluid program");
    return {*cost / kMicro, points_.size(), program_.columns()};
  }

 private:
  struct Interval {
    int time = 0;
    LinearProgram::Terms in, out, absent;
  };

  void make_intervals() {
    const std::size_t count = workload_.operations.size();
    for (std::size_t k = 0; k < points_.size(); ++k) {
      const std::size_t end = k + 1 < points_.size() ? points_[k + 1] : points_[0] + count;
      double time = 0;
      for (std::size_t i = points_[k]; i < end; ++i) {
        time += static_cast<double>(workload_.operations[i % count].duration_ns) * kMicro;
      }
      intervals_.push_back({program_.column(1, time), {}, {}, {}});
    }
  }

  /// The first point at or after an operation of the unrolled axis.
  std::size_t point_from(std::uint32_t operation) const {
    const auto count = static_cast<std::uint32_t>(workload_.operations.size());
    const std::uint32_t turns = operation / count;
    const auto at = std::lower_bound(points_.begin(), points_.end(), operation % count);
    return static_cast<std::size_t>(at - points_.begin()) + turns * points_.size();
  }

  void make_streams() {
    const std::vector<Gap> all = gaps(workload_, uses_);
    for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
      while (end < all.size() && all[end].tensor == all[begin].tensor) ++end;
      add_tensor({all.data() + begin, end - begin});
    }
  }

  void add_tensor(std::span<const Gap> life) {
    const Tensor& tensor = workload_.tensors[life.front().tensor];
    const bool written =
        std::any_of(uses_.of_tensor(life.front().tensor).begin(), uses_.of_tensor(life.front().tensor).end(),
                    [](const Use& use) { return use.writes; });
    std::vector<std::optional<std::size_t>> made(life.size());
    for (std::size_t i = 0; i < life.size(); ++i) {
      if (!life[i].needed) continue;
      Stream stream;
      stream.size = static_cast<double>(tensor.size) * kMega;
      stream.first = point_from(life[i].after + 1);
      stream.last = life[i].last;
      stream.end = point_from(life[i].before + (stream.last ? 0 : 1));
      stream.used_last = !stream.last && stream.end > point_from(life[i].before);
      stream.always_valid = !written;
      if (stream.first >= stream.end) continue;
      const std::size_t next = (i + 1) % life.size();
      const bool follows = next > i || tensor.persistent;
      const bool carried_on = follows && life[next].needed && !life[next].written_before;
      if (!stream.always_valid && life[i].written_before && !carried_on) {
        merge(stream);
      } else {
        made[i] = streams_.size();
        streams_.push_back(stream);
      }
    }
    for (std::size_t i = 0; i < life.size(); ++i) {
      if (made[i] && !streams_[*made[i]].always_valid)
        streams_[*made[i]].carries_from = source(life, made, i);
    }
  }

  /// The stream before this one that left a good copy behind.
  std::optional<std::size_t> source(std::span<const Gap> life,
                                    const std::vector<std::optional<std::size_t>>& made,
                                    std::size_t i) const {
    for (std::size_t back = 1; back <= life.size(); ++back) {
      if (life[i].written_before) return std::nullopt;
      if (i == 0 && !workload_.tensors[life[0].tensor].persistent) return std::nullopt;
      i = (i + life.size() - 1) % life.size();
      if (!life[i].needed) return std::nullopt;
      if (made[i]) return made[i];
    }
    return std::nullopt;
  }

  void merge(const Stream& stream) {
    const auto [found, is_new] =
        alike_.try_emplace({stream.first, stream.end, stream.used_last, stream.last}, streams_.size());
    if (is_new)
      streams_.push_back(stream);
    else
      streams_[found->second].size += stream.size;
  }

  void add_columns(Stream& stream) {
    for (std::size_t k = stream.first; k < stream.end; ++k) {
      stream.valid.push_back(program_.column(0, stream.always_valid ? stream.size : 0, stream.size));
    }
  }

  void add_flows(const Stream& stream) {
    const std::size_t absent_end = stream.end - (stream.used_last ? 1 : 0);
    std::vector<int> absent;
    for (std::size_t k = stream.first; k < absent_end; ++k) {
      absent.push_back(program_.column(0, 0, stream.size));
      at(k).absent.emplace_back(absent.back(), 1);
      program_.at_most({{absent.back(), 1}, {stream.valid[k - stream.first], -1}}, 0);
    }
    const std::size_t returns_end = absent_end - (stream.last ? 1 : 0);
    for (std::size_t k = stream.first; k < returns_end; ++k) {
      const int came = program_.column(0);
      LinearProgram::Terms row{{came, 1}, {absent[k - stream.first], -1}};
      if (k + 1 < absent_end) row.emplace_back(absent[k + 1 - stream.first], 1);
      program_.at_least(row, 0);
      at(k).in.emplace_back(came, 1);
    }
    if (stream.always_valid) return;
    for (std::size_t k = stream.first; k < stream.end; ++k) {
      const int went = program_.column(0);
      LinearProgram::Terms row{{went, 1}, {stream.valid[k - stream.first], -1}};
      if (k > stream.first) {
        row.emplace_back(stream.valid[k - 1 - stream.first], 1);
      } else if (stream.carries_from) {
        row.emplace_back(streams_[*stream.carries_from].valid.back(), 1);
      }
      program_.at_least(row, 0);
      at(k + points_.size() - 1).out.emplace_back(went, 1);
    }
  }

  Interval& at(std::size_t point) { return intervals_[point % points_.size()]; }

  void close_intervals() {
    const LinkRates& link = workload_.link;
    const double unit = kMega / kMicro;  // bytes per ns to megabytes per us
    for (std::size_t k = 0; k < points_.size(); ++k) {
      Interval& interval = intervals_[k];
      program_.at_least(interval.absent, static_cast<double>(live_[points_[k]] - workload_.budget) * kMega);
      LinearProgram::Terms in = interval.in, out = interval.out;
      for (const auto& [column, one] : interval.out) in.emplace_back(column, link.beta());
      for (const auto& [column, one] : interval.in) out.emplace_back(column, link.alpha());
      in.emplace_back(interval.time, -link.in * unit);
      out.emplace_back(interval.time, -link.out * unit);
      program_.at_most(in, 0);
      program_.at_most(out, 0);
    }
  }

  const Workload& workload_;
  Uses uses_;
  std::vector<std::uint32_t> points_;
  std::vector<std::int64_t> live_;
  LinearProgram program_;
  std::vector<Interval> intervals_;
  std::vector<Stream> streams_;
  std::map<std::tuple<std::size_t, std::size_t, bool, bool>, std::size_t> alike_;
};

}  // namespace

FluidBound fluid_bound(const Workload& workload, std::size_t breakpoints) {
  return FluidProgram(workload, breakpoints).solve();
}

}  // namespace tferry::analyzer
