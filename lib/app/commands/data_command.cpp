// data check and data show: what a job's data are like.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "codecs/image_file.h"
#include "commands/commands.h"
#include "commands/shared.h"
#include "core/files.h"
#include "core/text.h"
#include "data/picture_dataset.h"
#include "data_check/findings.h"
#include "display/chart.h"
#include "host/cores.h"
#include "images/fit.h"
#include "loader/batches.h"
#include "metrics/event.h"
#include "plan/job_plan.h"
#include "report/page.h"
#include "train/assembly.h"

namespace dtrain {
namespace {

constexpr int64_t kMostShown = 1024;      // pictures on a page
constexpr int64_t kLargestShown = 160;    // pixels of a side: larger pictures are made smaller
constexpr size_t kMostTargetNumbers = 8;  // of an example, in words

// What the model gets, as pixels again: uint8 [channels, height, width].
at::Tensor pixels_of(const at::Tensor& input, const Normalisation& normalisation) {
  at::Tensor shown =
      input.to(at::kFloat).narrow(0, 0, input.size(0) == 3 ? 3 : 1).clone(at::MemoryFormat::Contiguous);
  for (int64_t channel = 0; channel < shown.size(0); ++channel)
    shown[channel].mul_(normalisation.standard_deviation_of(channel)).add_(normalisation.mean_of(channel));
  shown = shown.mul_(255).round_().clamp_(0, 255).to(at::kByte);
  return std::max(shown.size(1), shown.size(2)) <= kLargestShown ? shown
                                                                 : with_longer_side(shown, kLargestShown);
}

// "2 rose"; of a mixed picture "2 rose 0.70, 4 tulip 0.30"; of numbers the numbers.
std::string target_text(const DatasetInfo& data, const Batch& batch, int64_t row) {
  const at::Tensor target = batch.targets[row];
  if (batch.is_mixed()) {
    const auto share = batch.shares[row].item<double>();
    return fmt::format("{} {:.2f}, {} {:.2f}", class_title(data, target.item<int64_t>()), share,
                       class_title(data, batch.other_targets[row].item<int64_t>()), 1 - share);
  }
  if (data.classes > 0) return class_title(data, target.item<int64_t>());
  std::vector<std::string> numbers;
  for (int64_t i = 0; i < target.size(0) && numbers.size() < kMostTargetNumbers; ++i)
    numbers.push_back(fmt::format("{:g}", target[i].item<double>()));
  return join(numbers);
}

class BatchPages {
 public:
  BatchPages(const JobPlan& job, const Dataset& dataset, int64_t epoch)
      : job_(job), normalisation_(normalisation_of(job.spec.data)) {
    if (is_picture_dataset(job.data.name)) files_ = list_pictures(job.data, job.spec.data);
    for (int64_t rank = 0; rank < job.distributed_run().training_processes(); ++rank) {
      LoaderOptions options = train_options(job, job.distributed_run(), rank);
      options.prefetch = 0;
      loaders_.push_back(std::make_unique<ShareLoader>(dataset.train, options));
      loaders_.back()->start_epoch(epoch);
    }
  }

  // The next batch with the part of each replica, or nothing after the end of the epoch.
  std::string next() {
    std::string html;
    for (size_t rank = 0; rank < loaders_.size(); ++rank) {
      const std::optional<Share> share = loaders_[rank]->next();
      if (!share) return "";
      html += page_heading(fmt::format("step {}, replica {}", share->step, rank));
      html += "<ul class=\"pictures\">\n" + pictures_in(*share) + "</ul>\n";
    }
    return html;
  }
  int64_t shown() const { return shown_; }
  bool is_full() const { return shown_ >= kMostShown; }

 private:
  std::string pictures_in(const Share& share) {
    std::string html;
    auto index = share.indices.begin();
    for (const MicroBatch& micro_batch : share.micro_batches) {
      const Batch batch = micro_batch.assemble();
      for (int64_t row = 0; row < batch.size(); ++row, ++index) {
        if (is_full()) return html;
        ++shown_;
        std::vector<std::string> lines = {fmt::format("example {}", *index)};
        if (files_) {
          const int64_t picture = files_->train[static_cast<size_t>(*index)];
          lines.push_back(title_of({}, files_->pictures[static_cast<size_t>(picture)].file));
        }
        html += page_picture(png_file(pixels_of(batch.inputs[row], normalisation_)), lines.front(),
                             target_text(job_.data, batch, row), lines);
      }
    }
    return html;
  }

  const JobPlan& job_;
  std::optional<PictureList> files_ = {};  // of pictures in files
  const Normalisation normalisation_;
  std::vector<std::unique_ptr<ShareLoader>> loaders_;
  int64_t shown_ = 0;
};

// The spec's job with its data found and prepared; prints the problems and returns nullopt if it has any.
std::optional<JobPlan> job_of(const SpecOptions& options) {
  const LoadedSpec loaded = load_spec(options.spec, options.overrides);
  report_notes(loaded.notes);
  PlannedJob planned = plan_job(loaded, find_dataset);
  const JobPlan& job = planned.job;
  if (planned.ok()) {
    if (!job.data.has_pixels || job.data.example_shape.size() != 3)
      throw Error(ExitCode::kUsage, "the examples of {} are numbers, not pictures that a page could show",
                  job.data.name);
    if (prepare_data(job.data, job.spec.data, /*quiet=*/false)) planned = plan_job(loaded, find_dataset);
  }
  if (planned.ok()) return std::move(planned.job);
  report_problems(planned.problems);
  return std::nullopt;
}

// Adds what a run would say of the job, however sound the examples are. Returns the problems of its spec.
std::vector<Problem> plan_run(DataCheck& check, const LoadedSpec& loaded) {
  try {
    PlannedJob planned = plan_job(loaded, find_dataset);
    check.doubtful = data_warnings(planned.job);
    return std::move(planned.problems);
  } catch (const Error& error) {
    if (error.code() != ExitCode::kData) throw;
    if (check.is_sound()) check.refused.push_back(error.what());
    return {};
  }
}

}  // namespace

ExitCode data_check_command(const DataOptions& options) {
  if (options.out) require_own_page(*options.out, options.overwrite, "dtrain data check");
  const LoadedSpec loaded = load_spec(options.spec.spec, options.spec.overrides);
  report_notes(loaded.notes);
  if (!loaded.ok()) return report_problems(loaded.problems);
  DataCheck check = [&] {
    CountingLine line("checking examples");
    return check_data(loaded.spec.data, static_cast<uint64_t>(loaded.spec.seed), available_cores(),
                      line.progress());
  }();
  const std::vector<Problem> problems = plan_run(check, loaded);
  std::cout << (options.json ? event_text(check_json(check)) + "\n" : check_text(check));
  if (options.out) {
    write_output(*options.out, check_page(check), "--out");
    if (!options.json) std::cout << '\n' << printable(*options.out, 1000) << '\n';
  }
  if (!problems.empty()) report_problems(problems);
  return !check.is_sound() ? ExitCode::kData : problems.empty() ? ExitCode::kDone : ExitCode::kUsage;
}

ExitCode data_show_command(const DataOptions& options) {
  const std::string file = options.out.value_or("batches.html");
  require_own_page(file, options.overwrite, "dtrain data show");
  std::optional<JobPlan> job = job_of(options.spec);
  if (!job) return ExitCode::kUsage;
  report_warnings(data_warnings(*job));
  measure_data(job->data, job->spec, /*quiet=*/false);
  const Dataset dataset = load_dataset(job->spec.data, static_cast<uint64_t>(job->spec.seed));
  BatchPages pages(*job, dataset, options.epoch);
  std::string html =
      page_begin(job->spec.name, "dtrain data show") +
      fmt::format(
          "<p class=\"note\">{}</p>\n",
          markup_text(fmt::format("epoch {} of {}, as the model gets it", options.epoch, job->data.source),
                      1000));
  for (int64_t batch = 0; batch < options.batches && !pages.is_full(); ++batch) {
    const std::string next = pages.next();
    if (next.empty()) break;
    html += next;
  }
  if (pages.is_full())
    html += fmt::format("<p class=\"note\">Only the first {} pictures are shown.</p>\n", kMostShown);
  write_output(file, html + page_end(), "--out");
  std::cout << fmt::format("{}: {} of epoch {}\n", printable(file, 1000), counted(pages.shown(), "picture"),
                           options.epoch);
  return ExitCode::kDone;
}

}  // namespace dtrain
