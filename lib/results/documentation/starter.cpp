#include "documentation/starter.h"

#include <algorithm>
#include <sstream>

#include "core/patterns.h"
#include "core/text.h"
#include "spec/fields.h"
#include "spec/print.h"

namespace dtrain {
namespace {

constexpr int kWidth = 100;  // of a comment

// What a first job is about, where it applies.
const std::vector<std::string> kFirstFields = {"name",
                                               "seed",
                                               "strategy.kind",
                                               "strategy.replicas",
                                               "strategy.workers",
                                               "strategy.servers",
                                               "data.dataset",
                                               "data.fallback",
                                               "data.path",
                                               "data.target",
                                               "data.image.size",
                                               "data.split.test",
                                               "batch.per_replica",
                                               "batch.global",
                                               "model.kind",
                                               "model.hidden",
                                               "model.filters",
                                               "model.depth",
                                               "model.stem",
                                               "model.include_top",
                                               "model.layers",
                                               "train.epochs",
                                               "train.optimizer.kind",
                                               "train.optimizer.learning_rate",
                                               "train.optimizer.momentum",
                                               "train.schedule.kind",
                                               "checkpoint.every_epochs"};

std::string without_markdown(const std::string& text) {
  static const Pattern kLink(R"(\[([^\]]*)\]\([^)]*\))");
  return kLink.replace(text, "$1");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream wrapped_text(wrapped(text, kWidth));
  for (std::string line; std::getline(wrapped_text, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> comment_on(const FieldInfo& field) {
  std::vector<std::string> lines = lines_of(without_markdown(field.doc));
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

std::string starter_spec(const JobSpec& spec, const std::vector<std::string>& also,
                         const StarterNotes& notes) {
  const auto is_in = [](const std::vector<std::string>& paths, const std::string& path) {
    return std::find(paths.begin(), paths.end(), path) != paths.end();
  };
  const std::string fields = print_spec(spec, [&](const FieldInfo& field) {
    const bool decided = !notes.title.empty() && field.path.starts_with("data.");  // by what the data are
    const bool shown = is_in(also, field.path) || (!decided && is_in(kFirstFields, field.path));
    const auto note = notes.fields.find(field.path);
    if (shown && note != notes.fields.end()) return std::optional(lines_of(note->second));
    return shown ? std::optional(comment_on(field)) : std::nullopt;
  });
  std::string text, title;
  if (!notes.title.empty()) {
    for (const std::string& line : lines_of(notes.title)) title += "# " + line + "\n";
  }
  std::istringstream lines(fields);
  for (std::string line; std::getline(lines, line);) {
    const bool is_section = !line.empty() && line.front() != ' ' && line.back() == ':';
    text += (is_section ? "\n" : "") + line + "\n";
  }
  return title +
         "# A job of dtrain. Every other field has its default; `dtrain schema --markdown` describes all of "
         "them,\n"
         "# and `dtrain plan` shows every number that a run would use.\n" +
         text;
}

}  // namespace dtrain
