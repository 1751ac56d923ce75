#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "callbacks/callbacks.h"
#include "core/descriptor.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace dtrain {
namespace {

// The names of the metrics that have columns: those of evaluations alone come last.
struct MetricColumns {
  std::vector<std::string> first;
  std::vector<std::string> last;
};

// "a,b", after a comma if there are any and `after_others`.
std::string listed(const std::vector<std::string>& cells, bool after_others = false) {
  return (after_others && !cells.empty() ? "," : "") + join(cells, ",");
}

std::string head(const MetricColumns& columns) {
  return fmt::format("epoch,step,phase,{},learning_rate,examples_per_second,seconds{}\n",
                     listed(columns.first), listed(columns.last, /*after_others=*/true));
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

std::string line_of(const Row& row, const MetricColumns& columns) {
  const auto values = [&row](const std::vector<std::string>& names) {
    std::vector<std::string> cells;
    for (const std::string& name : names) cells.push_back(cell(find_metric(row.metrics, name)));
    return cells;
  };
  return fmt::format("{},{},{},{},{},{},{}{}\n", cell(row.epoch), cell(row.step), row.phase,
                     listed(values(columns.first)), cell(row.learning_rate), cell(row.examples_per_second),
                     cell(row.seconds), listed(values(columns.last), /*after_others=*/true));
}

class CsvHistory : public Callback {
 public:
  CsvHistory(const std::filesystem::path& path, MetricColumns columns)
      : path_(path),
        columns_(std::move(columns)),
        file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666)) {
    if (file_.get() < 0) refuse("open");
  }

  void on_event(const Event& event) override {
    if (decode<RunStartEvent>(event) && bytes_ == 0) begin();
    if (const auto epoch = decode<EpochEvent>(event)) {
      write(line_of({"train", epoch->epoch, std::nullopt, epoch->metrics, epoch->learning_rate,
                     epoch->speed.examples_per_second, epoch->seconds},
                    columns_));
    }
    if (const auto evaluation = decode<EvalEvent>(event)) {
      write(line_of({evaluation->part.value_or("eval"), evaluation->epoch, evaluation->step,
                     evaluation->metrics, std::nullopt, std::nullopt, evaluation->seconds},
                    columns_));
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
    write(head(columns_));
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
    throw Error(file_failure_code(error), "{}: cannot {} the history: {}", path_.string(), what,
                std::strerror(error));
  }

  std::filesystem::path path_;
  MetricColumns columns_;
  Descriptor file_;
  off_t bytes_ = 0;  // size of the file; 0: nothing written yet
};

}  // namespace

std::unique_ptr<Callback> make_csv_history(const CallbackContext& context) {
  MetricColumns columns;
  for (const MetricInfo& metric : objective_info(context.job.spec.train.loss.kind).all_metrics())
    (metric.is_of_evaluations() ? columns.last : columns.first).push_back(metric.name);
  return std::make_unique<CsvHistory>(context.folder / "history.csv", columns);
}

}  // namespace dtrain
