#include "watch/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/terminal.h"
#include "core/text.h"
#include "display/rate_plot.h"
#include "display/table_layout.h"
#include "metrics/show.h"

namespace dtrain {
namespace {

constexpr int kNarrowest = 58;     // of runs beside each other, and of charts
constexpr size_t kMostPanels = 4;  // runs with charts of their own
constexpr int kLeastPanel = 10;    // lines
constexpr int kChartRows = 9;      // where lines do not matter
constexpr int kLeastRows = 3, kMostRows = 16;
constexpr int kAroundChart = 3;      // lines: the title, the axis and its ends
constexpr int kBesideChart = 12;     // columns
constexpr int kIndent = 11;          // of what is said of a run
constexpr double kLong = 5;          // seconds, after which it is worth saying how long
constexpr size_t kMostReplicas = 8;  // that are told one by one
constexpr double kManyTimes = 20;    // the highest loss: its axis is logarithmic

// Bytes of a paragraph, and of a status or metric.
constexpr size_t kLongestText = 4000, kLongestName = 24;

struct Line {
  std::string text;
  const char* colour = "";
};
using Lines = std::vector<Line>;

std::string fitted(const std::string& text, int width) {
  return fmt::format("{:.{}}", text, std::max(width, 0));
}

// The end of a text that is too long: folders of runs end with what differs.
std::string end_of(const std::string& text, size_t width) {
  if (text.size() <= width) return text;
  size_t begin = text.size() - (width < 3 ? 0 : width - 3);
  while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U) ++begin;  // UTF-8
  return "..." + text.substr(begin);
}

// One paragraph. Texts of events come from files, and may hold what a terminal would obey.
void add(Lines& lines, const std::string& text, int width, const char* colour = "", int indent = kIndent) {
  for (const std::string& line : split_lines(wrapped(printable(text, kLongestText), width, indent)))
    lines.push_back({fitted(line, width), colour});
}

const char* colour_of(const WatchedRun& run) {
  if (run.status == "completed") return kGreen;
  if (run.status == "failed") return kRed;
  return run.is_going_on() ? kBold : kYellow;
}

std::string status_of(const WatchedRun& run) {
  if (run.read < 1) return fmt::format("{:.0f} % read", 100 * run.read);
  if (run.is_going_on() && run.state.end)
    return printable(run.state.start.run.value_or(""), kLongestName) + " is done";
  return run.is_going_on() && run.state.start.run == "baseline" ? "baseline"
                                                                : printable(run.status, kLongestName);
}

std::string values(const MetricValues& metrics, const std::string& main) {
  std::string text = "loss " + show_metric(find_metric(metrics, "loss"));
  if (main != "loss") text += fmt::format(", {} {}", main, show_metric(find_metric(metrics, main)));
  return text;
}

// What each replica is doing, or of many how many are doing it.
std::string replicas_text(const WatchedRun& run) {
  std::vector<std::string> parts;
  std::map<std::string, int64_t> counts;
  const bool single = run.replicas.size() == 1;
  for (size_t rank = 0; rank < run.replicas.size(); ++rank) {
    const ReplicaStatus& replica = run.replicas[rank];
    std::string text = activity_name(replica.activity);
    ++counts[text];
    if (run.now - replica.since >= kLong) text += " for " + human_duration(run.now - replica.since);
    parts.push_back(single ? text : fmt::format("{} {}", rank, text));
  }
  if (run.replicas.size() > kMostReplicas) {
    parts.clear();
    for (const auto& [activity, count] : counts) parts.push_back(fmt::format("{} {}", count, activity));
  }
  return join(parts);
}

std::string machine_text(const WatchedRun& run) {
  std::vector<std::string> parts;
  if (const auto& machine = run.state.machine) {
    if (machine->processors)
      parts.push_back(fmt::format("{:.0f} % of the processors", 100 * *machine->processors));
    if (machine->memory_bytes)
      parts.push_back(fmt::format("{} of {} in use", human_bytes(*machine->memory_bytes),
                                  human_bytes(machine->memory_total_bytes.value_or(0))));
  }
  const DeviceUse& device = run.state.device;
  if (device.device_memory_bytes)
    parts.push_back(fmt::format("GPU: {} of {}", human_bytes(*device.device_memory_bytes),
                                human_bytes(device.device_memory_total_bytes.value_or(0))));
  if (device.device_utilisation)
    parts.push_back(fmt::format("{:.0f} % busy", 100 * *device.device_utilisation));
  return join(parts);
}

std::string speed_text(const RunState& state) {
  std::vector<std::string> parts = {show_text(state.start.strategy)};
  if (state.start.replicas.value_or(1) > 1)
    parts.back() += ", " + show_counted(state.start.replicas, "replica");
  if (state.speed.examples_per_second)
    parts.push_back(show_rate(state.speed.examples_per_second) + " examples/s");
  if (state.speed.step_ms) parts.push_back(show_milliseconds(state.speed.step_ms) + " ms a step");
  if (state.learning_rate) parts.push_back(fmt::format("learning rate {:.3g}", *state.learning_rate));
  return join(parts);
}

// The end of a run in words, or how far it is.
void add_course(Lines& lines, const WatchedRun& run, int width) {
  const RunState& state = run.state;
  const int64_t total = state.start.total_steps.value_or(0);
  if (run.is_going_on() && state.start.run && !state.end) {
    Progress progress;
    progress.epoch = std::max<int64_t>(state.epoch, 1);
    progress.epochs = state.start.epochs.value_or(0);
    progress.step = run.step();
    progress.total_steps = total;
    progress.epoch_is_over = state.is_evaluating;
    progress.seconds_left = run.seconds_left();
    lines.push_back({progress_line(progress, width + 1)});
  } else if (state.end && !run.is_going_on()) {
    const std::string code =
        run.status == "failed" ? fmt::format(" (exit code {})", show_count(state.end->exit_code)) : "";
    add(lines,
        fmt::format("{}{} after {} of {}{}", run.status, code, with_separators(state.step),
                    counted(total, "step"),
                    state.end->seconds ? " in " + show_duration(state.end->seconds) : ""),
        width, "", 2);
    if (const auto& error = state.end->error)  // its second line is the hint
      add(lines, printable(error->substr(0, error->find('\n')), 500), width, kRed, 2);
  } else if (state.start.run && !run.is_going_on()) {
    add(lines, fmt::format("{} of {} were made", with_separators(state.step), counted(total, "step")), width,
        "", 2);
  }
  if (!run.hint.empty()) add(lines, run.hint, width, kYellow, 2);
}

Lines texts_of(const WatchedRun& run, int width) {
  const RunState& state = run.state;
  const std::string status = status_of(run);
  const auto room = static_cast<size_t>(std::max<std::ptrdiff_t>(width - std::ssize(status) - 2, 6));
  Lines lines = {
      {fitted(fmt::format("{:<{}}  {}", end_of(printable(run.path, 1000), room), room, status), width),
       colour_of(run)}};
  add_course(lines, run, width);
  const auto row = [&](const std::string& title, const std::string& text, const char* colour = "") {
    if (!text.empty()) add(lines, fmt::format("{:<{}}{}", title, kIndent, text), width, colour);
  };
  if (!state.training.empty()) row("training", values(state.training, state.metric));
  if (!state.evaluation.empty()) {
    const std::string best =
        state.best ? fmt::format("; best {}{} {} in epoch {}",
                                 state.during == state.part ? "" : state.during + " ", *state.best_by.metric,
                                 show_metric(state.best->value(*state.best_by.metric)), state.best->epoch)
                   : "";
    row(state.part, values(state.evaluation, state.metric) + best);
  }
  if (state.start.run) row("speed", speed_text(state));
  row(run.replicas.size() == 1 ? "replica" : "replicas", replicas_text(run));
  if (run.is_going_on()) row("machine", machine_text(run));
  row("comparison", printable(state.verdict, 500));
  row("note", printable(state.note, 300), kYellow);
  return lines;
}

// The axis of steps for charts of these runs.
struct StepAxis {
  double end = 1;
  std::string title = "steps", last;

  explicit StepAxis(const std::vector<const WatchedRun*>& runs) {
    int64_t steps = 1;
    for (const WatchedRun* run : runs) steps = std::max(steps, run->state.step);
    end = static_cast<double>(steps);
    last = with_separators(steps);
    const auto per_epoch = static_cast<double>(runs.front()->state.start.steps_per_epoch.value_or(0));
    if (runs.size() > 1 || per_epoch < 1 || end < per_epoch) return;
    title = "epochs";
    last = fmt::format("{:g}", std::round(end / per_epoch * 100) / 100);
  }
};

// A chart, or nothing if there are no values. `falls`: good values are low, and the axis may be logarithmic.
Lines chart_of(TextPlot plot, const StepAxis& axis, int rows, bool falls) {
  double low = INFINITY, high = -INFINITY;
  for (const auto& curve : plot.curves) {
    for (const double value : curve) {
      low = std::fmin(low, value);
      high = std::fmax(high, value);
    }
  }
  if (!(low <= high)) return {};
  plot.logarithmic = falls && low >= 0 && high > kManyTimes * low;
  plot.title = fitted(printable(plot.title), static_cast<int>(plot.columns) + kBesideChart);
  plot.fitted = true;
  plot.rows = rows;
  plot.x_begin = "0";
  plot.x_title = axis.title;
  plot.x_end = axis.last;
  Lines lines;
  for (const std::string& line : split_lines(text_plot(plot))) lines.push_back({line});
  lines.front().colour = kBold;
  return lines;
}

// The values at some columns only: marks at all of them would hide the other curve.
std::vector<double> thinned(std::vector<double> values) {
  constexpr size_t kEvery = 4;
  const auto count = std::ranges::count_if(values, [](double value) { return !std::isnan(value); });
  if (count <= std::ssize(values) / static_cast<std::ptrdiff_t>(kEvery)) return values;
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    if (i % kEvery != kEvery - 1) values[i] = NAN;
  }
  return values;
}

// The curves of a metric of one run.
Lines curves_of(const WatchedRun& run, const std::string& metric, int width, int rows) {
  const StepAxis axis({&run});
  TextPlot plot{.title = fmt::format("{}: * training, o {}", metric, run.state.during),
                .marks = "*o",
                .columns = static_cast<size_t>(std::max(width - kBesideChart, 8))};
  const auto sampled = [&](const Curves& curves, bool joined) {
    const auto found = curves.find(metric);
    return (found == curves.end() ? Curve() : found->second).sampled(axis.end, plot.columns, joined);
  };
  plot.curves = {sampled(run.state.training_curves, true),
                 thinned(sampled(run.state.evaluation_curves, false))};
  return chart_of(std::move(plot), axis, rows, !metric_info(metric).higher_is_better);
}

// Blocks of lines beside each other, each of `width` columns.
Lines beside(const std::vector<Lines>& blocks, int width, bool colour) {
  Lines joined;
  size_t height = 0;
  for (const Lines& block : blocks) height = std::max(height, block.size());
  for (size_t i = 0; i < height; ++i) {
    std::string text;
    for (size_t at = 0; at < blocks.size(); ++at) {
      const Line line = i < blocks[at].size() ? blocks[at][i] : Line{};
      const std::string padded =
          at + 1 < blocks.size() ? fmt::format("{:<{}}  ", line.text, width) : line.text;
      text += colour && *line.colour != '\0' ? line.colour + padded + kPlain : padded;
    }
    joined.push_back({text.substr(0, text.find_last_not_of(' ') + 1)});
  }
  return joined;
}

// One run with its charts, below each other or beside.
Lines panel(const WatchedRun& run, int width, int height, bool colour) {
  Lines lines = texts_of(run, width);
  std::vector<std::string> metrics = {"loss"};
  if (run.state.metric != "loss") metrics.push_back(run.state.metric);
  const bool wide = metrics.size() > 1 && width >= 2 * kNarrowest;
  const int each = wide ? (width - 2) / 2 : width;
  int rows = kChartRows;
  if (height > 0) {
    const int room = height - static_cast<int>(lines.size());
    const auto fit = [&](size_t charts) { return room / static_cast<int>(charts) - kAroundChart; };
    if (!wide && fit(metrics.size()) < kLeastRows) metrics.resize(1);
    rows = std::min(fit(wide ? 1 : metrics.size()), kMostRows);
    if (rows < kLeastRows) metrics.clear();
  }
  std::vector<Lines> charts;
  for (const std::string& metric : metrics) charts.push_back(curves_of(run, metric, each, rows));
  if (wide) charts = {beside(charts, each, colour)};
  for (const Lines& chart : charts) lines.insert(lines.end(), chart.begin(), chart.end());
  return lines;
}

// A row for each run, and in one chart their losses: of evaluations, where all have some.
Lines table(const std::vector<WatchedRun>& runs, const FrameOptions& options) {
  TableRows rows = {{"", "", "epoch", "loss", printable(runs.front().state.metric, kLongestName)}};
  std::vector<const WatchedRun*> all;
  for (const WatchedRun& run : runs) {
    const RunState& state = run.state;
    const auto left = run.seconds_left();
    const MetricValues& shown = state.evaluation.empty() ? state.training : state.evaluation;
    rows.push_back({"", left ? human_duration(*left) + " left" : status_of(run),
                    fmt::format("{}/{}", state.epoch, show_count(state.start.epochs)),
                    show_metric(find_metric(shown, "loss")), show_metric(find_metric(shown, state.metric))});
    all.push_back(&run);
  }
  size_t others = 3;  // columns for all but the names: the letter and a space are beside them
  for (const std::string& line : split_lines(lay_out(rows, {.indent = ""})))
    others = std::max(others, line.size() + 3);
  const int room = std::clamp(options.width - static_cast<int>(others), 6, 60);
  for (size_t i = 0; i < runs.size(); ++i)
    rows[i + 1][0] = fmt::format("{:<2} {}", run_letter(i),
                                 end_of(printable(runs[i].path, 1000), static_cast<size_t>(room)));
  Lines lines;
  for (const std::string& line : split_lines(lay_out(rows, {.indent = ""}))) {
    const size_t number = lines.size();
    lines.push_back({fitted(line, options.width), number == 0 ? kBold : colour_of(runs[number - 1])});
  }
  const bool evaluated = std::ranges::all_of(
      runs, [](const WatchedRun& run) { return run.state.evaluation_curves.contains("loss"); });
  const StepAxis axis(all);
  TextPlot plot{.title = evaluated ? runs.front().state.during + " loss" : "training loss",
                .marks = "",
                .columns = static_cast<size_t>(std::max(options.width - kBesideChart, 8))};
  for (const WatchedRun& run : runs) {
    const Curves& curves = evaluated ? run.state.evaluation_curves : run.state.training_curves;
    const auto found = curves.find("loss");
    plot.curves.push_back(
        (found == curves.end() ? Curve() : found->second).sampled(axis.end, plot.columns, /*joined=*/true));
    plot.marks += run_letter(plot.marks.size()).back();
  }
  const int left =
      options.height > 0 ? options.height - static_cast<int>(lines.size()) - 1 - kAroundChart : kChartRows;
  if (left < kLeastRows) return lines;
  lines.push_back({});
  const Lines chart = chart_of(std::move(plot), axis, std::min(left, kMostRows), /*falls=*/true);
  lines.insert(lines.end(), chart.begin(), chart.end());
  return lines;
}

Lines panels(const std::vector<WatchedRun>& runs, const FrameOptions& options) {
  const int count = static_cast<int>(runs.size());
  const int columns = std::clamp((options.width + 2) / (kNarrowest + 2), 1, count);
  const int width = (options.width - 2 * (columns - 1)) / columns;
  const int rows = (count + columns - 1) / columns;
  const int height = options.height > 0 ? (options.height - (rows - 1)) / rows : 0;
  if (runs.size() > kMostPanels || (height > 0 && height < kLeastPanel && count > 1))
    return table(runs, options);
  Lines lines;
  for (size_t first = 0; first < runs.size(); first += static_cast<size_t>(columns)) {
    std::vector<Lines> blocks;
    for (size_t i = first; i < std::min(runs.size(), first + static_cast<size_t>(columns)); ++i)
      blocks.push_back(panel(runs[i], width, height, options.colour && columns == 1));
    if (first > 0) lines.push_back({});
    const Lines joined = columns > 1 ? beside(blocks, width, options.colour) : blocks.front();
    lines.insert(lines.end(), joined.begin(), joined.end());
  }
  return lines;
}

}  // namespace

std::vector<std::string> watch_frame(const std::vector<WatchedRun>& runs, const FrameOptions& options) {
  std::vector<std::string> frame;
  for (const Line& line : panels(runs, options)) {
    if (options.height > 0 && std::ssize(frame) == options.height) break;
    frame.push_back(options.colour && *line.colour != '\0' ? line.colour + line.text + kPlain : line.text);
  }
  return frame;
}

Event watch_document(const std::vector<WatchedRun>& runs) {
  const auto all = [](const MetricValues& metrics) {
    Event values = Event::object();
    for (const auto& [name, value] : metrics) values[name] = value;
    return values;
  };
  Event list = Event::array();
  for (const WatchedRun& run : runs) {
    const RunState& state = run.state;
    Event entry = {{"path", run.path}, {"status", run.status}};
    const auto put = [&](const char* name, const auto& value) {
      if (value) entry[name] = *value;
    };
    put("run", state.start.run);
    entry["epoch"] = state.epoch;
    put("epochs", state.start.epochs);
    entry["step"] = run.step();
    put("total_steps", state.start.total_steps);
    put("seconds_left", run.seconds_left());
    put("strategy", state.start.strategy);
    put("learning_rate", state.learning_rate);
    put("examples_per_second", state.speed.examples_per_second);
    put("step_ms", state.speed.step_ms);
    entry["training"] = all(state.training);
    entry["evaluation"] = {{"part", state.part}, {"metrics", all(state.evaluation)}};
    if (state.best)
      entry["best"] = {{"part", state.during},
                       {"epoch", state.best->epoch},
                       {"metric", *state.best_by.metric},
                       {"value", state.best->value(*state.best_by.metric)}};
    Event replicas = Event::array();
    for (const ReplicaStatus& replica : run.replicas)
      replicas.push_back({{"activity", activity_name(replica.activity)},
                          {"step", replica.step},
                          {"seconds", std::max(0.0, run.now - replica.since)}});
    entry["replicas"] = replicas;
    if (state.machine) put("processors", state.machine->processors);
    if (state.machine) put("memory_bytes", state.machine->memory_bytes);
    if (state.machine) put("memory_total_bytes", state.machine->memory_total_bytes);
    put("device_memory_bytes", state.device.device_memory_bytes);
    put("device_memory_total_bytes", state.device.device_memory_total_bytes);
    put("device_utilisation", state.device.device_utilisation);
    if (state.end) put("seconds", state.end->seconds);
    if (state.end) put("error", state.end->error);
    if (!state.verdict.empty()) entry["comparison"] = state.verdict;
    if (!state.note.empty()) entry["note"] = state.note;
    list.push_back(entry);
  }
  return {{"runs", list}};
}

}  // namespace dtrain
