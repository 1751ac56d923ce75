#include "optim/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace dtrain {
namespace {

// The lengths of a schedule in optimizer steps.
struct Lengths {
  const std::vector<int64_t>& boundaries;
  int64_t every;
  int64_t over;
};

using Curve = double (*)(const ScheduleSpec&, const Lengths&, int64_t step, double rate);

double part(int64_t of, int64_t whole) { return static_cast<double>(of) / static_cast<double>(whole); }

// Half a cosine from `start` at 0 to `end` at 1.
double anneal(double start, double end, double progress) {
  return end + (start - end) * (1 + std::cos(M_PI * progress)) / 2;
}

double constant(const ScheduleSpec&, const Lengths&, int64_t, double rate) { return rate; }

double piecewise(const ScheduleSpec& spec, const Lengths& lengths, int64_t step, double) {
  const auto& boundaries = lengths.boundaries;
  const auto passed = std::upper_bound(boundaries.begin(), boundaries.end(), step) - boundaries.begin();
  return spec.values[static_cast<size_t>(passed)];
}

double stepwise(const ScheduleSpec& spec, const Lengths& lengths, int64_t step, double rate) {
  return rate * std::pow(spec.factor, static_cast<double>(step / lengths.every));
}

double exponential(const ScheduleSpec& spec, const Lengths& lengths, int64_t step, double rate) {
  return rate * std::pow(spec.factor, part(step, lengths.every));
}

double cosine(const ScheduleSpec& spec, const Lengths& lengths, int64_t step, double rate) {
  return anneal(rate, rate * spec.final_factor, part(std::min(step, lengths.over), lengths.over));
}

double polynomial(const ScheduleSpec& spec, const Lengths& lengths, int64_t step, double rate) {
  const double left = 1 - part(std::min(step, lengths.over), lengths.over);
  return rate * (spec.final_factor + (1 - spec.final_factor) * std::pow(left, spec.power));
}

double one_cycle(const ScheduleSpec& spec, const Lengths& lengths, int64_t step, double rate) {
  const double end = static_cast<double>(lengths.over - 1);
  // A cycle that is too short to rise starts at its peak.
  const double peak = std::max(0.0, spec.peak_at * static_cast<double>(lengths.over) - 1);
  const double now = std::min(static_cast<double>(step), end);
  if (now < peak) return anneal(rate * spec.initial_factor, rate, now / peak);
  // One that ends where it peaks, as does a cycle of one step, has no way down.
  return anneal(rate, rate * spec.final_factor, end > peak ? (now - peak) / (end - peak) : 0.0);
}

const std::vector<std::pair<std::string, Curve>> kCurves = {
    {"constant", constant},   {"piecewise", piecewise},
    {"step", stepwise},       {"exponential", exponential},
    {"cosine", cosine},       {"polynomial", polynomial},
    {"one_cycle", one_cycle}, {"reduce_on_plateau", constant},
};

Curve curve_of(const std::string& kind) {
  for (const auto& [name, curve] : kCurves) {
    if (name == kind) return curve;
  }
  throw Error(ExitCode::kBug, "no schedule named '" + kind + "'");
}

// `count` times `unit`, or the largest number if that overflows: it is then beyond the end of any run.
int64_t in_steps(int64_t count, int64_t unit) {
  int64_t steps = 0;
  return __builtin_mul_overflow(count, unit, &steps) ? INT64_MAX : steps;
}

}  // namespace

ScheduleCurve::ScheduleCurve(const ScheduleSpec& spec, const RunSteps& steps)
    : spec_(spec), unit_(spec.unit == "epochs" ? steps.per_epoch : 1), total_(steps.total) {
  for (const int64_t boundary : spec.boundaries) boundaries_.push_back(in_steps(boundary, unit_));
  every_ = in_steps(spec.every, unit_);
  over_ = spec.over ? in_steps(*spec.over, unit_) : steps.total;
}

double ScheduleCurve::at(int64_t step, double rate) const {
  return curve_of(spec_.kind)(spec_, {boundaries_, every_, over_}, step, rate);
}

std::string ScheduleCurve::length_text(int64_t units) const {
  const int64_t steps = in_steps(units, unit_);
  const std::string text = counted(steps, "step");
  if (spec_.unit == "steps") return text;
  return fmt::format("{} ({})", counted(units, "epoch"), text);
}

std::string ScheduleCurve::description(double scaled, double scale) const {
  const std::string& kind = spec_.kind;
  const std::string over = spec_.over ? length_text(*spec_.over) : "all " + counted(over_, "step");
  const double final = scaled * spec_.final_factor;
  if (kind == "piecewise") {
    std::vector<std::string> parts;
    for (size_t i = 0; i < boundaries_.size(); ++i) {
      parts.push_back(fmt::format("{:g} after {}{}", spec_.values[i + 1] * scale,
                                  length_text(spec_.boundaries[i]),
                                  boundaries_[i] < total_ ? "" : ", which is not reached"));
    }
    return join(parts);
  }
  if (kind == "step") return fmt::format("times {:g} every {}", spec_.factor, length_text(spec_.every));
  if (kind == "exponential")
    return fmt::format("times {:g} in {}, gradually", spec_.factor, length_text(spec_.every));
  if (kind == "cosine") return fmt::format("falls to {:g} as a cosine over {}", final, over);
  if (kind == "polynomial")
    return fmt::format("falls to {:g} as a polynomial of degree {:g} over {}", final, spec_.power, over);
  if (kind == "one_cycle")
    return fmt::format("one cycle from {:g} up to it and down to {:g} over {}", scaled * spec_.initial_factor,
                       final, over);
  if (kind == "reduce_on_plateau")
    return fmt::format("times {:g} after {} without better {}, down to {:g}", spec_.factor,
                       counted(spec_.patience, "evaluation"), spec_.metric, final);
  return "";
}

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& entry : kCurves) all.push_back(entry.first);
    return all;
  }();
  return names;
}

}  // namespace dtrain
