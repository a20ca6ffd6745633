#include "gui/app/benchmark.hpp"

#include "cli/failure.hpp"
#include "cli/output_file.hpp"
#include "cli/session/choose_session.hpp"
#include "gui/window/session_view.hpp"

#include <QApplication>
#include <QDateTime>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QSysInfo>
#include <QThread>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sys/resource.h>
#include <vector>

namespace tferry::gui {
namespace {

using Json = nlohmann::json;

constexpr qint64 kFrameNs = 16'666'667;  // 60 a second
constexpr int kTimeoutMs = 120'000;
constexpr int kMostFrames = 100'000;

struct Move {
  double zoom = 1, at = 0.5, pan = 0;
  int frames = 1;
};

struct Moves {
  int repeat = 1;
  std::vector<Move> moves;
  std::vector<std::string> searches;
};

Moves read_moves(const std::string& file) {
  std::ifstream in(file);
  const Json json = Json::parse(in, nullptr, false);
  Moves moves;
  try {
    moves.repeat = std::clamp(json.value("repeat", 1), 1, 1000);
    for (const Json& entry : json.at("moves")) {
      moves.moves.push_back({entry.value("zoom", 1.0), entry.value("at", 0.5), entry.value("pan", 0.0),
                             std::clamp(entry.value("frames", 1), 1, kMostFrames)});
      if (!(moves.moves.back().zoom > 0)) throw std::invalid_argument("a zoom that is not above 0");
    }
    for (const Json& pattern : json.value("searches", Json::array()))
      moves.searches.push_back(pattern.get<std::string>());
  } catch (const std::exception& error) {
    throw cli::Failure(fmt::format("{} holds no moves: {}", file, error.what()), "see gui/app/benchmark.hpp");
  }
  return moves;
}

class Benchmark {
 public:
  explicit Benchmark(QString path) : path_(std::move(path)) {}

  void open() {
    view_ = std::make_unique<SessionView>();
    view_->resize(1920, 1080);
    view_->show();
    QApplication::processEvents();
    QElapsedTimer clock;
    clock.start();
    view_->open(path_);
    settle();
    view_->timeline()->viewport()->repaint();
    open_ns.push_back(static_cast<double>(clock.nsecsElapsed()));
  }

  void play(const std::vector<Move>& moves) {
    for (const Move& move : moves) {
      for (int i = 0; i < move.frames; ++i) frame(move);
    }
    settle();
  }

  void search(const std::string& pattern) {
    QElapsedTimer clock;
    clock.start();
    bool arrived = false;
    const auto connection =
        QObject::connect(view_->timeline(), &TimelineView::selected, [&] { arrived = true; });
    const auto step = QObject::connect(view_.get(), &SessionView::searched, [&] {
      arrived = view_->matches().names.empty();
      view_->step_match(1);
    });
    view_->search(QString::fromStdString(pattern));
    wait_until([&] { return arrived || view_->has_failed(); });
    search_ns.push_back(static_cast<double>(clock.nsecsElapsed()));
    QObject::disconnect(connection);
    QObject::disconnect(step);
    settle();
  }

  std::vector<double> open_ns, frame_ns, search_ns;
  std::int64_t events() const { return view_->overview() ? view_->overview()->events : 0; }

 private:
  template <typename Condition>
  void wait_until(Condition&& condition) {
    QElapsedTimer clock;
    clock.start();
    while (!condition()) {
      if (clock.elapsed() > kTimeoutMs)
        throw cli::Failure("the viewer did not settle in two minutes", "report this");
      QApplication::processEvents(QEventLoop::WaitForMoreEvents, 5);
      QThread::usleep(50);
    }
  }

  void settle() {
    wait_until([this] { return view_->is_settled() || view_->has_failed(); });
    if (view_->has_failed()) throw cli::Failure(view_->failure().toStdString(), "name another session");
  }

  void frame(const Move& move) {
    QElapsedTimer clock;
    clock.start();
    view_->timeline()->move_view(move.zoom, move.at, move.pan);
    QApplication::processEvents();  // takes in a picture that has arrived, and paints once, as a person's
                                    // window does
    frame_ns.push_back(static_cast<double>(clock.nsecsElapsed()));
    while (clock.nsecsElapsed() < kFrameNs) {
      QThread::usleep(200);
      QApplication::processEvents();
    }
  }

  QString path_;
  std::unique_ptr<SessionView> view_;
};

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1,
                         static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

Json value(const char* claim, const char* label, std::vector<double> samples, const std::string& note) {
  return {{"claim", claim},
          {"kind", "measured"},
          {"metric", "value"},
          {"note", note},
          {"subject", {{"label", label}, {"samples", std::move(samples)}}}};
}

Json time(const char* claim, const char* label, const std::vector<double>& samples, const std::string& note) {
  return {{"claim", claim},
          {"kind", "measured"},
          {"metric", "time"},
          {"note", note},
          {"subject", {{"label", label}, {"samples_ns", samples}}}};
}

/// Runnable processes of the whole machine, a mean over the last minute: what was beside the measurement.
double load() {
  double average = 0;
  return ::getloadavg(&average, 1) == 1 ? average : 0;
}

double peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

}  // namespace

int run_benchmark(const Options& options) {
  const Moves moves = read_moves(options.benchmark);
  const cli::OutputFile file(options.json, options.force);
  const std::string path = cli::choose_session(options.session).path.string();
  Benchmark benchmark(QString::fromStdString(path));
  std::vector<double> p99;
  const double load_before = load();
  for (int round = 0; round < moves.repeat; ++round) {
    benchmark.open();
    benchmark.frame_ns.clear();
    benchmark.play(moves.moves);
    p99.push_back(percentile(benchmark.frame_ns, 0.99));
    for (const std::string& pattern : moves.searches) benchmark.search(pattern);
  }
  const std::string note = fmt::format(
      "{} events, 1920 x 1080, software rendering, {} cores, file in the page cache; nice {}, load average "
      "{:.1f} before and {:.1f} after, this program included",
      benchmark.events(), QThread::idealThreadCount(), ::getpriority(PRIO_PROCESS, 0), load_before, load());
  Json raw = {{"schema", "tferry.raw/1"},
              {"date", QDateTime::currentDateTimeUtc().toString(Qt::ISODate).toStdString()},
              {"git", ""},
              {"machine",
               {{"gpu", "none"},
                {"gpus", 0},
                {"cpu_cores", QThread::idealThreadCount()},
                {"os", QSysInfo::prettyProductName().toStdString()}}},
              {"measurements", Json::array()}};
  const std::string command = "tferry view SESSION --benchmark " + options.benchmark + " --json FILE";
  for (Json measurement : {time("viewer.open", "order to first full picture", benchmark.open_ns, note),
                           time("viewer.frame_p99", "99th percentile of a frame, by round", p99, note),
                           time("viewer.search", "order to the selected match", benchmark.search_ns, note),
                           value("viewer.memory", "highest resident bytes", {peak_bytes()}, note)}) {
    if (measurement["subject"].contains("samples_ns") && measurement["subject"]["samples_ns"].empty())
      continue;
    measurement["command"] = command;
    raw["measurements"].push_back(std::move(measurement));
  }
  file.publish(raw.dump(1) + "\n");
  fmt::print(
      "{} events: open {:.0f} ms, frame p99 {:.2f} ms, median {:.2f} ms, search {:.0f} ms, {:.0f} MiB\n",
      benchmark.events(), percentile(benchmark.open_ns, 0.5) / 1e6, percentile(p99, 0.5) / 1e6,
      percentile(benchmark.frame_ns, 0.5) / 1e6, percentile(benchmark.search_ns, 0.5) / 1e6,
      peak_bytes() / 1048576);
  return cli::kOk;
}

}  // namespace tferry::gui
