// Formats values of events for people: "-" for missing values; all text is safe for a terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "metrics/events.h"

namespace dtrain {

std::string show_text(const std::optional<std::string>& text);
std::string show_count(std::optional<int64_t> count);                             // 60,000
std::string show_counted(std::optional<int64_t> count, const std::string& noun);  // "1 replica", "2 replicas"
std::string show_metric(std::optional<double> value);                             // 0.1234, 1.23e-05, nan
std::string show_rate(std::optional<double> per_second);                          // 71,234
std::string show_milliseconds(std::optional<double> value);                       // 1.796
std::string show_seconds(std::optional<double> seconds);                          // 0.892 s, 1 min 15 s
// "gradient noise scale about 1,200 examples: beyond a batch of 1,200, more replicas bring little"
std::string show_noise_scale(double examples);
std::string show_restarts(const RestartCost& cost);        // 2 (3.500 s)
std::string show_duration(std::optional<double> seconds);  // 0.9 s, 1 min 15 s

// "0.9794 to 0.9849", of the metric; empty: it has none.
std::string show_interval(const std::optional<NamedIntervals>& intervals, const std::string& metric);

// A line for each link that stands out among three or more by its least round trip or by what was sent again.
// Of a single link, its numbers.
std::vector<std::string> link_lines(const std::vector<LinkSummary>& links);

}  // namespace dtrain
