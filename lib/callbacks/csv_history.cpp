#include "callbacks/csv_history.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace dtrain {
namespace {

std::string head(const std::vector<std::string>& metrics) {
  return fmt::format("epoch,step,phase,{},learning_rate,examples_per_second,seconds\n", join(metrics, ","));
}

// A row of the table. Missing values stay empty.
struct Row {
  std::string phase;
  std::optional<int64_t> epoch;
  std::optional<int64_t> step;
  MetricValues metrics;
  std::optional<double> learning_rate;
  std::optional<double> examples_per_second;
  std::optional<double> seconds;
};

template <class T>
std::string cell(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "";
}

std::string line_of(const Row& row, const std::vector<std::string>& names) {
  std::vector<std::string> metrics;
  for (const std::string& name : names) metrics.push_back(cell(find_metric(row.metrics, name)));
  return fmt::format("{},{},{},{},{},{},{}\n", cell(row.epoch), cell(row.step), row.phase, join(metrics, ","),
                     cell(row.learning_rate), cell(row.examples_per_second), cell(row.seconds));
}

class CsvHistory : public Callback {
 public:
  // `metrics`: the names of the job's metrics, a column each.
  CsvHistory(const std::filesystem::path& path, std::vector<std::string> metrics)
      : path_(path),
        metrics_(std::move(metrics)),
        file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666)) {
    if (file_.get() < 0) refuse("open");
  }

  void on_event(const Event& event) override {
    if (decode<RunStartEvent>(event) && bytes_ == 0) begin();
    if (const auto epoch = decode<EpochEvent>(event)) {
      write(line_of({"train", epoch->epoch, std::nullopt, epoch->metrics, epoch->learning_rate,
                     epoch->speed.examples_per_second, epoch->seconds},
                    metrics_));
    }
    if (const auto evaluation = decode<EvalEvent>(event)) {
      write(line_of({evaluation->part.value_or("eval"), evaluation->epoch, evaluation->step,
                     evaluation->metrics, std::nullopt, std::nullopt, evaluation->seconds},
                    metrics_));
    }
  }

  nlohmann::ordered_json state() const override { return {{"bytes", bytes_}}; }
  void restore(const nlohmann::ordered_json& state) override {
    const auto bytes = state.at("bytes").get<off_t>();
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) refuse("look at");
    if (bytes > 0 && bytes <= status.st_size) cut_to(bytes);  // otherwise the file is new, in another folder
  }

 private:
  void begin() {
    cut_to(0);
    write(head(metrics_));
  }
  void cut_to(off_t bytes) {
    if (::ftruncate(file_.get(), bytes) != 0 || ::lseek(file_.get(), bytes, SEEK_SET) < 0) refuse("write");
    bytes_ = bytes;
  }
  void write(const std::string& text) {
    if (!write_all(file_.get(), text.data(), text.size())) refuse("write");
    bytes_ += static_cast<off_t>(text.size());
  }
  [[noreturn]] void refuse(const char* what) const {
    const int error = errno;
    throw Error(file_failure_code(error),
                fmt::format("{}: cannot {} the history: {}", path_.string(), what, std::strerror(error)));
  }

  std::filesystem::path path_;
  std::vector<std::string> metrics_;
  Descriptor file_;
  off_t bytes_ = 0;  // size of the file; 0: nothing written yet
};

}  // namespace

std::unique_ptr<Callback> make_csv_history(const CallbackContext& context) {
  std::vector<std::string> metrics;
  for (const MetricInfo& metric : objective_info(context.job.spec.train.loss.kind).all_metrics())
    metrics.push_back(metric.name);
  return std::make_unique<CsvHistory>(context.folder / "history.csv", metrics);
}

}  // namespace dtrain
