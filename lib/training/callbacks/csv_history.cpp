#include <fmt/format.h>

#include "callbacks/callbacks.h"
#include "callbacks/lines_file.h"
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
  CsvHistory(const CallbackContext& context, MetricColumns columns)
      : columns_(std::move(columns)), file_(context, "history.csv", "the history") {}

  void on_event(const Event& event) override {
    if (decode<RunStartEvent>(event) && file_.bytes() == 0) begin();
    if (const auto epoch = decode<EpochEvent>(event)) {
      file_.write(line_of({"train", epoch->epoch, std::nullopt, epoch->metrics, epoch->learning_rate,
                           epoch->speed.examples_per_second, epoch->seconds},
                          columns_));
    }
    if (const auto evaluation = decode<EvalEvent>(event)) {
      file_.write(line_of({evaluation->part.value_or("eval"), evaluation->epoch, evaluation->step,
                           evaluation->metrics, std::nullopt, std::nullopt, evaluation->seconds},
                          columns_));
    }
  }

  nlohmann::ordered_json state() const override { return {{"bytes", file_.bytes()}}; }
  void restore(const nlohmann::ordered_json& state) override {
    file_.go_back_to(state.at("bytes").get<off_t>());
  }

 private:
  void begin() {
    file_.empty();
    file_.write(head(columns_));
  }

  MetricColumns columns_;
  LinesFile file_;
};

}  // namespace

std::unique_ptr<Callback> make_csv_history(const CallbackContext& context) {
  MetricColumns columns;
  for (const MetricInfo& metric : objective_info(context.job.spec.train.loss.kind).all_metrics())
    (metric.is_of_evaluations() ? columns.last : columns.first).push_back(metric.name);
  return std::make_unique<CsvHistory>(context, columns);
}

}  // namespace dtrain
