#include "documentation/first_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/patterns.h"
#include "core/text.h"
#include "documentation/texts.h"
#include "job_file/print.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

constexpr const char* kFirstJob =
    "strategy: {kind: mirrored}\nbatch: {per_replica: 64}\ntrain: {epochs: 5}\ncheckpoint: {every_epochs: "
    "1}\n";
// What some kinds cannot do without; one's own --set replaces it.
constexpr const char* kFirstLayers =
    "model.layers=[{kind: flatten}, {kind: dense, units: 128}, {kind: relu}, {kind: dense, units: 10}]";
constexpr const char* kFirstWorkers = "strategy.workers=2";
const std::map<std::string, std::string> kFirstRates = {{"lars", "4"}, {"muon", "0.02"}};

bool is_answer(const FirstJob& job, const std::string& path, const std::string& value) {
  const auto answer = job.answers.find(path);
  const bool set = contains(job.set, path + "=" + value);
  return set || (answer != job.answers.end() && answer->second == value);
}

std::string field_set_by(const std::string& setting) { return setting.substr(0, setting.find('=')); }

// What some datasets cannot do without, as an example.
std::vector<std::string> example_data(const FirstJob& job) {
  const auto dataset_is = [&](const std::string& kind) { return is_answer(job, "data.dataset", kind); };
  std::vector<std::string> data;
  for (const char* kind : {"csv", "parquet"}) {
    if (dataset_is(kind))
      data = {std::string("data.path=data.") + kind, "data.target=target", "data.split.test=0.2"};
  }
  if (dataset_is("arrays")) data.emplace_back("data.path=data.npz");
  if (std::ranges::any_of(kPictureDatasets, dataset_is))
    data = {"data.path=pictures", "data.image.size=[128, 128]", "data.split.test=0.2"};
  else if (is_answer(job, "model.kind", "vit"))
    data.emplace_back("model.patch=4");  // of images of 28x28 or 32x32
  if (dataset_is("idx")) data.emplace_back("data.path=datasets/idx");
  const bool chosen = job.answers.contains("data.dataset");
  // The images of MNIST are too small for vgg. Other first runs train where nothing has been fetched, too.
  if (!chosen && is_answer(job, "model.kind", "vgg"))
    data.emplace_back("data.dataset=cifar10");
  else if (!chosen || dataset_is("mnist"))
    data.emplace_back("data.fallback=fashion_mnist");
  return data;
}

// The field that answers a question: processes that train have another name where they share nothing.
std::string answered_field(const FirstJob& job, const std::string& path) {
  const bool served = is_answer(job, "strategy.kind", "parameter_server");
  return served && path == "strategy.replicas" ? "strategy.workers" : path;
}

// "train.epochs" -> "epochs"; "strategy.kind" -> "strategy"
std::string label_of(const FirstQuestion& question) {
  std::string label = question.option.substr(2);
  std::replace(label.begin(), label.end(), '-', ' ');
  return label;
}

constexpr int kWidth = 100;  // of a comment

// What a first job is about, where it applies.
const std::vector<std::string> kFirstFields = split(
    "name seed strategy.kind strategy.replicas strategy.workers strategy.servers data.dataset "
    "data.fallback data.path data.target data.image.size data.split.test batch.per_replica "
    "batch.global model.kind model.hidden model.filters model.depth model.stem model.size model.patch "
    "model.include_top model.layers model.file train.epochs train.optimizer.kind "
    "train.optimizer.learning_rate train.optimizer.momentum train.schedule.kind checkpoint.every_epochs",
    ' ');

std::vector<std::string> lines_of(const std::string& text) { return split_lines(wrapped(text, kWidth)); }

std::vector<std::string> comment_on(const FieldInfo& field) {
  static const Pattern kLink(R"(\[([^\]]*)\]\([^)]*\))");
  std::vector<std::string> lines = lines_of(kLink.replace(field.doc, "$1"));
  std::vector<std::string> limits;
  if (field.choices) limits.push_back("one of " + join(field.choices->built));
  const std::string bounds = bounds_text(field.bounds);
  if (!bounds.empty()) limits.push_back(bounds + (field.unit.empty() ? "" : " " + field.unit));
  for (const std::string& word : field.words()) limits.push_back("or " + word);
  for (const std::string& line : limits.empty() ? limits : lines_of("(" + join(limits) + ")"))
    lines.push_back(line);
  return lines;
}

}  // namespace

std::string summary_of(const ShippedConfig& config) {
  std::string summary;
  for (size_t begin = 0; config.text.compare(begin, 2, "# ") == 0;) {
    const size_t end = std::min(config.text.find('\n', begin), config.text.size());
    summary += (summary.empty() ? "" : " ") + config.text.substr(begin + 2, end - begin - 2);
    const size_t sentence = summary.find(". ");
    if (sentence != std::string::npos) return summary.substr(0, sentence + 1);
    if (summary.back() == ':') summary.back() = '.';
    if (summary.back() == '.' || end == config.text.size()) break;
    begin = end + 1;
  }
  return summary;
}

bool is_decided(const FirstJob& job, const std::string& path) {
  std::vector<std::string> given;
  for (const auto& [answered, value] : job.answers) given.push_back(answered);
  for (const std::string& setting : job.set) given.push_back(field_set_by(setting));
  const std::string kind = path.substr(0, path.rfind('.') + 1) + "kind";
  return std::ranges::any_of(given, [&](const std::string& other) {
    return other == path || other == kind || path.starts_with(other + ".");
  });
}

LoadedSpec read_first_job(const FirstJob& job) {
  std::vector<std::string> overrides;
  if (is_answer(job, "model.kind", "layers")) overrides.push_back(kFirstLayers);
  if (is_answer(job, "model.kind", "torchscript")) overrides.emplace_back("model.file=net.pt");
  if (is_answer(job, "strategy.kind", "parameter_server")) overrides.push_back(kFirstWorkers);
  for (const auto& [kind, rate] : kFirstRates) {
    if (is_answer(job, "train.optimizer.kind", kind))
      overrides.push_back("train.optimizer.learning_rate=" + rate);
  }
  for (const std::string& setting : job.found.empty() ? example_data(job) : job.found) {
    if (job.found.empty() || !is_decided(job, field_set_by(setting))) overrides.push_back(setting);
  }
  for (const auto& [path, value] : job.answers) overrides.push_back(answered_field(job, path) + "=" + value);
  overrides.insert(overrides.end(), job.set.begin(), job.set.end());
  return parse_spec(kFirstJob, "the first job", overrides);
}

const std::vector<FirstQuestion>& first_questions() {
  static const std::vector<FirstQuestion> questions = {
      {"--dataset", "data.dataset"},           {"--model", "model.kind"},
      {"--strategy", "strategy.kind"},         {"--replicas", "strategy.replicas"},
      {"--batch", "batch.per_replica"},        {"--epochs", "train.epochs"},
      {"--optimizer", "train.optimizer.kind"}, {"--learning-rate", "train.optimizer.learning_rate"},
  };
  return questions;
}

std::map<std::string, std::string> ask_for_job(std::istream& in, std::ostream& out) {
  FirstJob job;
  for (const FirstQuestion& question : first_questions()) {
    const FieldInfo& field = *find_field(job_fields(), question.path);
    const std::string choices = field.choices ? join(field.choices->built) : bounds_text(field.bounds);
    for (bool valid = false; !valid;) {
      const auto& asked = *find_field(job_fields(), answered_field(job, question.path));
      out << fmt::format("{} ({}) [{}]: ", label_of(question), choices,
                         yaml_text(to_json(asked, read_first_job(job).spec)))
          << std::flush;
      std::string line;
      if (!std::getline(in, line)) return job.answers;
      line = trimmed(line);
      valid = line.empty();
      if (valid) continue;
      FirstJob with = job;
      with.answers[question.path] = line;
      const LoadedSpec loaded = read_first_job(with);
      valid = loaded.ok();
      if (valid) job = with;
      for (const Problem& problem : loaded.problems) out << "  " << printable(problem.text, 1000) << '\n';
    }
  }
  return job.answers;
}

std::string starter_spec(const JobSpec& spec, const std::vector<std::string>& also,
                         const StarterNotes& notes) {
  const std::string fields = print_spec(spec, [&](const FieldInfo& field) {
    const bool decided = !notes.title.empty() && field.path.starts_with("data.");  // by what the data are
    const bool shown = contains(also, field.path) || (!decided && contains(kFirstFields, field.path));
    const auto note = notes.fields.find(field.path);
    if (shown && note != notes.fields.end()) return std::optional(lines_of(note->second));
    return shown ? std::optional(comment_on(field)) : std::nullopt;
  });
  std::string text, title;
  if (!notes.title.empty()) {
    for (const std::string& line : lines_of(notes.title)) title += "# " + line + "\n";
  }
  for (const std::string& line : split_lines(fields)) {
    const bool is_section = !line.empty() && line.front() != ' ' && line.back() == ':';
    text += (is_section ? "\n" : "") + line + "\n";
  }
  return title +
         "# A job of dtrain. Every other field has its default; `dtrain schema --markdown` describes all of "
         "them,\n"
         "# and `dtrain plan` shows every number that a run would use.\n" +
         text;
}

std::vector<std::pair<std::string, std::string>> plugin_project(const std::string& name) {
  const auto named = [&](const char* text) { return filled(text, {{"NAME", name}}); };
  return {{"CMakeLists.txt", named(texts::plugin_CMakeLists_txt)},
          {name + ".cpp", named(texts::plugin_cpp_in)},
          {"job.yaml", named(texts::plugin_job_yaml)}};
}

}  // namespace dtrain
