// The files to which a run adds lines: history.csv and the receipts.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "callbacks/callbacks.h"
#include "core/descriptor.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "runs/receipts.h"

namespace dtrain {
namespace {

// A file to which a callback adds text as the run goes on. All functions throw Error(kUsage, kDisk).
class LinesFile {
 public:
  // The file `name` in the run's folder. Text already in it stays until empty(). `what` names it in errors.
  LinesFile(const CallbackContext& context, const std::string& name, std::string what)
      : run_(context.run),
        events_(context.events),
        path_(context.folder / name),
        what_(std::move(what)),
        file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666)) {
    if (file_.get() < 0) refuse("open");
  }
  ~LinesFile() { ::fdatasync(file_.get()); }  // as metrics.jsonl when a run has ended

  void empty() { cut_to(0); }
  void write(const std::string& text) {
    if (!write_all(file_.get(), text.data(), text.size())) refuse("write");
    bytes_ += static_cast<off_t>(text.size());
  }
  // For checkpoints: the size; 0: nothing was written yet.
  off_t bytes() const { return bytes_; }
  // Goes back to that size. An empty file is a new one, in another folder, and stays as it is. A shorter one
  // has lost its end, as when the power failed, and one in which no line ends there had lost it before: it
  // goes on after its last whole line, with a warning. Returns that line; empty if nothing was lost.
  std::string go_back_to(off_t bytes) {
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) refuse("look at");
    if (bytes == 0 || status.st_size == 0) return "";
    std::ifstream file(path_, std::ios::binary);
    if (bytes <= status.st_size && file.seekg(bytes - 1).get() == '\n') {
      cut_to(bytes);
      return "";
    }
    std::string last;
    off_t whole = 0;
    file.clear();
    file.seekg(0);
    for (std::string line; std::getline(file, line) && !file.eof() && file.tellg() <= bytes;) {
      whole = file.tellg();
      last = std::move(line);
    }
    cut_to(whole);
    events_.on_event(warning_event(
        run_.name(),
        fmt::format(
            "{} has not the {} bytes that it had when the checkpoint was saved: lines are missing, and "
            "it goes on after the last whole one of the first {} bytes",
            path_.string(), bytes, std::min(bytes, status.st_size))));
    return last;
  }

 private:
  void cut_to(off_t bytes) {
    if (::ftruncate(file_.get(), bytes) != 0 || ::lseek(file_.get(), bytes, SEEK_SET) < 0) refuse("write");
    bytes_ = bytes;
  }
  [[noreturn]] void refuse(const char* verb) const {
    const int error = errno;
    throw Error(file_failure_code(error), "{}: cannot {} {}: {}", path_.string(), verb, what_,
                std::strerror(error));
  }

  const RunPlan& run_;
  EventSink& events_;
  std::filesystem::path path_;
  std::string what_;
  Descriptor file_;
  off_t bytes_ = 0;
};

class ReceiptsFile : public Callback {
 public:
  explicit ReceiptsFile(const CallbackContext& context) : file_(context, kReceiptsFile, "the receipts") {}

  void on_event(const Event& event) override {
    if (decode<RunStartEvent>(event) && file_.bytes() == 0) file_.empty();
  }
  void on_receipt(const Event& receipt) override { file_.write(chained_line(receipt, chain_)); }

  nlohmann::ordered_json state() const override { return {{"bytes", file_.bytes()}, {"chain", chain_}}; }
  void restore(const nlohmann::ordered_json& state) override {
    chain_ = state.at("chain").get<std::string>();
    const std::string last = file_.go_back_to(state.at("bytes").get<off_t>());
    const Event receipt = Event::parse(last, nullptr, /*allow_exceptions=*/false);
    if (receipt.is_object()) chain_ = receipt.value("chain", chain_);
  }

 private:
  LinesFile file_;
  std::string chain_;  // of the last line
};

// The names of the metrics that have columns: those of evaluations alone come last.
struct MetricColumns {
  std::vector<std::string> first;
  std::vector<std::string> last;
};

// "a,b", after a comma if there are any and `after_others`.
std::string listed(const std::vector<std::string>& cells, bool after_others = false) {
  return (after_others && !cells.empty() ? "," : "") + join(cells, ",");
}

template <class T>
std::string cell(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "";
}

class CsvHistory : public Callback {
 public:
  CsvHistory(const CallbackContext& context, MetricColumns columns)
      : columns_(std::move(columns)),
        steps_per_epoch_(context.run.steps_per_epoch),
        total_steps_(context.run.total_steps),
        file_(context, "history.csv", "the history") {}

  void on_event(const Event& event) override {
    if (const auto start = decode<RunStartEvent>(event)) {
      if (file_.bytes() == 0)
        begin();
      else if (start->resumed_step.value_or(0) < total_steps_)  // else that part is evaluated again
        file_.write(after_restored_);
    }
    if (const auto epoch = decode<EpochEvent>(event)) {
      const off_t before = file_.bytes();
      add("train", *epoch, std::nullopt, epoch->learning_rate, epoch->speed.examples_per_second);
      if (epoch->steps.value_or(steps_per_epoch_) < steps_per_epoch_) before_cut_epoch_ = before;
    }
    if (const auto evaluation = decode<EvalEvent>(event))
      add(evaluation->part.value_or("eval"), *evaluation, evaluation->step, std::nullopt, std::nullopt);
  }

  // Whoever goes on has the whole epoch, and the evaluation of its part is one more.
  nlohmann::ordered_json state() const override {
    return {{"bytes", before_cut_epoch_.value_or(file_.bytes())}, {"then", after_cut_epoch_}};
  }
  void restore(const nlohmann::ordered_json& state) override {
    file_.go_back_to(state.at("bytes").get<off_t>());
    after_restored_ = state.value("then", "");
  }

 private:
  void begin() {
    file_.empty();
    file_.write(fmt::format("epoch,step,phase,{},learning_rate,examples_per_second,seconds{}\n",
                            listed(columns_.first), listed(columns_.last, /*after_others=*/true)));
  }

  // A row of the table. Missing values stay empty.
  template <class Of>
  void add(const std::string& phase, const Of& of, std::optional<int64_t> step,
           std::optional<double> learning_rate, std::optional<double> examples_per_second) {
    const auto values = [&of](const std::vector<std::string>& names) {
      std::vector<std::string> cells;
      for (const std::string& name : names) cells.push_back(cell(find_metric(of.metrics, name)));
      return cells;
    };
    const std::string row =
        fmt::format("{},{},{},{},{},{},{}{}\n", cell(of.epoch), cell(step), phase,
                    listed(values(columns_.first)), cell(learning_rate), cell(examples_per_second),
                    cell(of.seconds), listed(values(columns_.last), /*after_others=*/true));
    file_.write(row);
    if (before_cut_epoch_) after_cut_epoch_ += row;
  }

  MetricColumns columns_;
  int64_t steps_per_epoch_;
  int64_t total_steps_;
  LinesFile file_;
  std::optional<off_t> before_cut_epoch_;  // where the row begins of an epoch that train.max_steps has cut
  std::string after_cut_epoch_;            // the rows after it
  std::string after_restored_;             // the same, of the run that this one resumes
};

}  // namespace

std::unique_ptr<Callback> make_receipts_file(const CallbackContext& context) {
  return std::make_unique<ReceiptsFile>(context);
}

std::unique_ptr<Callback> make_csv_history(const CallbackContext& context) {
  MetricColumns columns;
  for (const MetricInfo& metric : objective_info(context.job.spec.train.loss.kind).all_metrics())
    (metric.is_of_evaluations() ? columns.last : columns.first).push_back(metric.name);
  return std::make_unique<CsvHistory>(context, columns);
}

}  // namespace dtrain
