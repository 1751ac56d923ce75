#include "inference/prediction.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "arrays/array_file.h"
#include "arrays/idx.h"
#include "core/error.h"
#include "core/text.h"
#include "data/example_source.h"
#include "data/table_dataset.h"
#include "images/fit.h"
#include "inference/evaluation.h"
#include "inference/model_description.h"
#include "loader/batches.h"
#include "objective/objective.h"
#include "tables/csv_table.h"
#include "tables/plain_column.h"
#include "train/assembly.h"

namespace dtrain {
namespace {

// The classes to show of each row, the first ones first: int64 [n, at most top].
at::Tensor order_of(const at::Tensor& probabilities, int64_t top, std::optional<double> threshold) {
  const int64_t shown = std::min(top, probabilities.size(1));
  if (!threshold) return std::get<1>(probabilities.topk(shown, /*dim=*/1));
  const at::Tensor first = probabilities.select(1, 1).ge(*threshold).to(at::kLong);
  return at::stack({first, 1 - first}, 1).narrow(1, 0, shown);
}

// The classes of each of the images, uint8 [n, channels, height, width] in the model's input shape.
std::vector<std::vector<ClassProbability>> predict(const Predictor& predictor, const at::Tensor& images,
                                                   int64_t top) {
  const at::NoGradGuard no_grad;
  RunPlan alone = predictor.job.distributed_run();
  alone.replicas = 1;
  alone.servers = 0;
  // Uses the same code path as the test examples; the labels do not matter here.
  const ExampleSourcePtr source = make_memory_source({images, at::zeros({images.size(0)}, at::kLong)});
  ShareLoader loader(source, evaluation_options(predictor.job, alone, /*rank=*/0));
  loader.start_epoch(0);
  const auto objective = make_objective(predictor.job.spec.train);
  std::vector<std::vector<ClassProbability>> predictions;
  while (const std::optional<Share> share = loader.next()) {
    for (const MicroBatch& micro_batch : share->micro_batches) {
      const Batch batch = micro_batch.assemble();
      const at::Tensor probabilities = objective->predictions(
          finite_outputs(predictor.job.spec, *predictor.model, batch.inputs), /*classes=*/true);
      const at::Tensor labels = order_of(probabilities, top, predictor.threshold);
      const at::Tensor values = probabilities.gather(1, labels);
      for (int64_t row = 0; row < batch.size(); ++row) {
        std::vector<ClassProbability>& classes = predictions.emplace_back();
        for (int64_t rank = 0; rank < values.size(1); ++rank)
          classes.push_back({labels[row][rank].item<int64_t>(), values[row][rank].item<double>()});
      }
    }
  }
  return predictions;
}

// The inputs of a file's rows, as the model was trained on them.
TableTensors inputs_in(const std::filesystem::path& path, const JobPlan& job) {
  const DatasetInfo& data = job.data;
  if (has_columns(data.name)) {
    const TableFormat format = table_format_of(data);
    return encode_table(read_raw_table(path, format, /*with_targets=*/false), format, /*with_targets=*/false);
  }
  at::Tensor inputs = map_npy(path);
  if (inputs.dim() == 1 && data.example_shape == std::vector<int64_t>{1}) inputs = inputs.unsqueeze(1);
  if (inputs.dim() == 3 && data.example_shape.size() == 3) inputs = inputs.unsqueeze(1);
  if (inputs.dim() == 4 && inputs.scalar_type() == at::kByte) {  // as the examples of the training were read
    require_bytes_as_trained(path.string(), /*are_bytes=*/true, data);
    inputs = inputs.to(at::kFloat).div_(255);
  }
  if (inputs.dim() == 0 || inputs.sizes().slice(1) != at::IntArrayRef(data.example_shape))
    throw Error(ExitCode::kData, "{}: has the shape [{}], and the model takes [n, {}]",
                printable(path.string(), 1000), fmt::join(inputs.sizes(), ", "),
                fmt::join(data.example_shape, ", "));
  require_finite(path.string(), inputs, dtype_from_name(job.spec.model.dtype));
  return {.inputs = inputs, .targets = {}};
}

}  // namespace

void predict_picture_file(const Predictor& predictor, const std::filesystem::path& path, bool resize,
                          int64_t top, const std::function<void(const Prediction&)>& on_prediction) {
  // As for training, where that was from pictures of any size.
  const ImageSpec& image = predictor.job.spec.data.image;
  SmallestSize smallest;
  if (image.scaled_decoding) smallest = {.height = image.size.at(0), .width = image.size.at(1)};
  const at::Tensor images = read_images_of_any_file(path, smallest);
  const Fit fit = !image.size.empty() ? fit_of(image.fit) : resize ? Fit::kStretch : Fit::kRefuse;
  const int64_t count = images.size(0);
  const int64_t at_once = predictor.job.spec.evaluate.batch_per_replica;
  for (int64_t begin = 0; begin < count; begin += at_once) {
    at::Tensor fitted;
    try {
      const at::Tensor some = images.narrow(0, begin, std::min(at_once, count - begin));
      fitted = fit_images(some, predictor.job.data.example_shape, fit);
    } catch (const Error& error) {
      throw Error(error.code(), printable(path.string(), 1000) + ": " + error.what());
    }
    int64_t index = begin;
    for (auto& classes : predict(predictor, fitted, top))
      on_prediction({count > 1 ? std::optional(index++) : std::nullopt, std::move(classes)});
  }
}

std::vector<std::string> predicted_columns(const JobPlan& job) {
  const DatasetInfo& data = job.data;
  std::vector<std::string> columns;
  if (job.spec.data.id) columns.push_back(*job.spec.data.id);
  if (data.targets > 0) {
    for (const std::string& name : target_names(data)) columns.push_back(name);
    return columns;
  }
  columns.push_back(has_columns(data.name) ? table_format_of(data).targets.front() : "class");
  for (int64_t label = 0; label < data.classes; ++label) columns.push_back("p_" + class_name(data, label));
  return columns;
}

void predict_table_file(const Predictor& predictor, const std::filesystem::path& path,
                        const std::function<void(const std::string& line)>& on_warning,
                        const std::function<void(const RowPrediction&)>& on_row) {
  const auto& [job, model, threshold] = predictor;
  const at::NoGradGuard no_grad;
  const TableTensors table = inputs_in(path, job);
  std::vector<std::string> ids;
  if (job.spec.data.id) ids = read_cells(path, *job.spec.data.id, {table_format_of(job.data).separator});
  for (const std::string& line : table.unknown_words)
    on_warning(printable(path.string(), 1000) + ": " + line);
  const at::Tensor& inputs = table.inputs;
  const at::ScalarType type = dtype_from_name(job.spec.model.dtype);
  const bool classes = job.data.classes > 0;
  const auto objective = make_objective(job.spec.train);
  const int64_t at_once = job.spec.evaluate.batch_per_replica;
  for (int64_t begin = 0; begin < inputs.size(0); begin += at_once) {
    const at::Tensor some = inputs.narrow(0, begin, std::min(at_once, inputs.size(0) - begin)).to(type);
    at::Tensor outputs = objective->predictions(finite_outputs(job.spec, *model, some), classes);
    if (!classes && threshold) outputs = outputs.ge(*threshold).to(at::kDouble);
    const at::Tensor best =
        classes && threshold ? outputs.select(1, 1).ge(*threshold).to(at::kLong) : outputs.argmax(1);
    for (int64_t row = 0; row < outputs.size(0); ++row) {
      RowPrediction predicted{.row = begin + row + 1};
      if (job.spec.data.id) predicted.id = ids.at(static_cast<size_t>(begin + row));
      if (classes) predicted.name = class_name(job.data, best[row].item<int64_t>());
      for (int64_t output = 0; output < outputs.size(1); ++output)
        predicted.numbers.push_back(outputs[row][output].item<double>());
      on_row(predicted);
    }
  }
}

}  // namespace dtrain
