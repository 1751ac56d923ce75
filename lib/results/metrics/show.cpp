#include "metrics/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "metrics/statistics.h"

namespace dtrain {
namespace {

const char kMissing[] = "-";

// `number` with `decimals` decimals, or in scientific notation where that would show only zeros or be long.
std::string show_number(std::optional<double> number, int decimals) {
  if (!number) return kMissing;
  if (std::isnan(*number)) return "nan";  // fmt would show the sign of some NaNs
  const double size = std::fabs(*number);
  if (size != 0 && std::isfinite(size) && (size < 1e-3 || size >= 1e6)) return fmt::format("{:.2e}", *number);
  return fmt::format("{:.{}f}", *number, decimals);
}

}  // namespace

std::string show_text(const std::optional<std::string>& text) { return text ? printable(*text) : kMissing; }

std::string show_count(std::optional<int64_t> count) { return count ? with_separators(*count) : kMissing; }

std::string show_counted(std::optional<int64_t> count, const std::string& noun) {
  return show_count(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string show_metric(std::optional<double> value) { return show_number(value, 4); }

std::string show_noise_scale(double examples) {
  const double bounded = std::min(std::max(1.0, examples), 1e15);
  const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(bounded)) - 1));
  const std::string about = with_separators(std::llround(std::round(bounded / unit) * unit));
  return fmt::format(
      "gradient noise scale about {} examples: beyond a batch of {}, more replicas bring little", about,
      about);
}

std::string show_rate(std::optional<double> per_second) {
  if (per_second && *per_second >= 100 && *per_second < 1e15)
    return with_separators(std::llround(*per_second));
  return show_number(per_second, 1);
}

std::string show_milliseconds(std::optional<double> value) { return show_number(value, 3); }

std::string show_seconds(std::optional<double> seconds) {
  return seconds && *seconds < 60 ? show_number(seconds, 3) + " s" : show_duration(seconds);
}

std::string show_interval(const std::optional<NamedIntervals>& intervals, const std::string& metric) {
  for (const MetricInterval& one : intervals.value_or(NamedIntervals())) {
    if (one.name == metric) return show_metric(one.low) + " to " + show_metric(one.high);
  }
  return "";
}

std::string show_restarts(const RestartCost& cost) {
  return fmt::format("{} ({})", show_count(cost.restarts), show_seconds(cost.lost_seconds));
}

std::string show_duration(std::optional<double> seconds) {
  return seconds ? human_duration(*seconds) : kMissing;
}

std::vector<std::string> link_lines(const std::vector<LinkSummary>& links) {
  constexpr double kLeastMs = 0.2;
  constexpr double kLeastShare = 0.001;
  std::vector<double> least, shares;
  for (const LinkSummary& link : links) {
    const int64_t bytes = link.bytes_sent.value_or(0) + link.bytes_received.value_or(0);
    least.push_back(link.least_round_trip_ms.value_or(0));
    shares.push_back(static_cast<double>(link.retransmitted_bytes.value_or(0)) /
                     static_cast<double>(std::max<int64_t>(bytes, 1)));
  }
  std::vector<std::string> lines;
  for (size_t i = 0; i < links.size(); ++i) {
    const bool out = stands_out(least, i, kLeastMs) || stands_out(shares, i, kLeastShare);
    if (!out && links.size() > 1) continue;
    const LinkSummary& link = links[i];
    lines.push_back(fmt::format("link {}{}: {} ms round trip, at least {} ms; {:.2g} % sent again",
                                printable(join(link.hosts.value_or(std::vector<std::string>()), " - ")),
                                out ? " stands out" : "", show_milliseconds(link.round_trip_ms),
                                show_milliseconds(link.least_round_trip_ms), 100 * shares[i]));
  }
  return lines;
}

}  // namespace dtrain
