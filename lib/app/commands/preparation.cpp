#include "commands/preparation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <utility>

#include "core/clock.h"
#include "core/terminal.h"
#include "core/text.h"
#include "data/picture_dataset.h"
#include "data/pixel_statistics.h"
#include "host/cores.h"
#include "spec/normalisation.h"

namespace dtrain {
namespace {

constexpr double kSecondsBetween = 0.2;
constexpr double kLong = 2;  // seconds, after which a user wonders

}  // namespace

CountingLine::CountingLine(std::string what)
    : what_(std::move(what)),
      on_terminal_(is_terminal(STDERR_FILENO)),
      begin_(steady_seconds()),
      next_(begin_) {}

CountingLine::~CountingLine() {
  if (drawn_) std::cerr << "\r\x1b[K" << std::flush;
}

void CountingLine::on_progress(int64_t done, int64_t all) {
  const double now = steady_seconds();
  if (now < next_ && done < all) return;
  next_ = now + kSecondsBetween;
  const std::string text = fmt::format("{}: {} of {}", what_, with_separators(done), with_separators(all));
  if (on_terminal_) {
    std::cerr << '\r' << text << std::flush;
    drawn_ = true;
  } else if (!told_ && now - begin_ > kLong) {
    std::cerr << "dtrain: " << text << std::endl;
    told_ = true;
  }
}

bool prepare_data(const DatasetInfo& data, const DataSpec& spec, bool quiet) {
  CountingLine preparation("decoding pictures, once");
  OnPrepared on_progress;
  if (!quiet) on_progress = [&preparation](int64_t done, int64_t all) { preparation.on_progress(done, all); };
  prepare_dataset(data, spec, on_progress);
  return !data.bad.known;
}

void measure_data(const DatasetInfo& data, JobSpec& job, bool quiet) {
  DataSpec& spec = job.data;
  if (!measures_pixels(spec)) return;
  const Dataset dataset = load_dataset(spec, static_cast<uint64_t>(job.seed));
  const bool decodes = is_picture_dataset(data.name) && spec.cache_in_use() == "none";  // with own threads
  const PixelStatistics measured = [&] {
    CountingLine line("measuring the training pictures");
    OnPrepared on_progress;
    if (!quiet) on_progress = [&line](int64_t done, int64_t all) { line.on_progress(done, all); };
    return measure_pixels(*dataset.train, decodes ? 1 : available_cores(), on_progress);
  }();
  set_measured(spec, measured);
  if (are_nearly_black(measured)) std::cerr << "WARNING: " << kNearlyBlack << std::endl;
  const Normalisation by = normalisation_of(spec);
  if (!quiet)
    std::cerr << fmt::format("dtrain: the training pictures have a mean of {} and a standard deviation of {}",
                             text_of(by.mean), text_of(by.standard_deviation))
              << std::endl;
}

}  // namespace dtrain
