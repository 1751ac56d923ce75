#include "checkpoint/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <type_traits>

#include "core/checksum.h"
#include "core/error.h"
#include "core/files.h"
#include "spec/spec.h"

namespace dtrain {
namespace {

using Json = nlohmann::json;
using nlohmann::ordered_json;

const char* const kFormat = "dtrain checkpoint";
constexpr int kVersionOfFormat = 2;
constexpr int kManifestDepth = 8;
constexpr int64_t kMaxManifestBytes = int64_t{128} << 20;  // the sums of 300,000 outputs
const std::string kBeforeChecksum = ",\n  \"xxh3_128\": \"";
const std::string kAfterChecksum = "\"\n}\n";
const size_t kTailBytes = kBeforeChecksum.size() + kChecksumDigits + kAfterChecksum.size();

// Higher than the spec's fields allow (spec/fields.cpp), and low enough that arithmetic does not overflow.
constexpr int64_t kMostEpochs = 1'000'000;
constexpr int64_t kMostExamples = 1'000'000'000'000;
constexpr int64_t kMostReplicas = 65536;

int64_t count_at(const Json& json, const char* key) {
  const Json& count = json.at(key);
  if (!count.is_number_unsigned() || count.get<uint64_t>() > INT64_MAX) throw std::out_of_range(key);
  return count.get<int64_t>();
}

// What is wrong with the sums, in words. Of the counts, `correct` is compared with the number of examples.
// Those of a plug-in's metrics may be any number, also none.
std::string problem_of_sums(const char* name, const std::map<std::string, double>& sums) {
  if (sums.empty()) return "";
  for (const auto& [sum, value] : sums) {
    if (sum == "loss" && !std::isfinite(value))
      return fmt::format("{} in its {} is not a finite number", sum, name);
  }
  const auto examples = sums.find("examples");
  if (examples == sums.end()) return fmt::format("its {} lack the number of examples", name);
  const auto correct = sums.find("correct");
  const double counted = correct == sums.end() ? 0 : correct->second;
  if (!(0 <= counted && counted <= examples->second &&
        examples->second <= static_cast<double>(kMostExamples)))
    return fmt::format("its {} count {} of {} examples", name, counted, examples->second);
  return "";
}

std::string range_problem(const char* name, int64_t value, int64_t least, int64_t most) {
  if (least <= value && value <= most) return "";
  return fmt::format("its {} is {}, not from {} to {}", name, value, least, most);
}

// The last step of an epoch may have been dropped (data.drop_remainder), in some epochs and not in others.
std::string step_problem(const TrainingState& state) {
  const int64_t whole = state.train_examples / state.global_batch;
  const int64_t started = whole + (state.train_examples % state.global_batch > 0 ? 1 : 0);
  const int64_t of_next = state.position / state.global_batch;
  return range_problem("step", state.step, state.epoch * std::max<int64_t>(whole, 1) + of_next,
                       state.epoch * started + of_next);
}

#define EACH_MEMBER(member) each(#member, state.member);

// The fields of a state in their order, by the names of its members: `each(name, value)` reads or writes one.
template <class State, class Each>
void each_of_state(State& state, const Each& each) {
  NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(
      EACH_MEMBER, run, epoch, step, position, unevaluated, train_examples, validation_examples, global_batch,
      pass_seconds, pass_sums, window_sums, learning_rate, schedule, callbacks, metrics, suspicion, replicas,
      spec, dataset, content, table, dtrain, libtorch, arithmetic));
}

// Reads everything, but does not check the ranges of numbers. Throws std::exception if a member is missing or
// has another type.
Manifest manifest_of(const Json& json) {
  Manifest manifest;
  manifest.state = training_state_from(json.at("state"));
  for (const char* name : {kModelFile, kOptimizerFile, kProgramFile}) {
    if (name == kProgramFile && !json.at("files").contains(name)) continue;
    const Json& file = json.at("files").at(name);
    FileChecksums& checksums = manifest.files[name];
    checksums.bytes = count_at(file, "bytes");
    checksums.header = file.at("header").get<std::string>();
    checksums.tensors = file.at("tensors").get<std::map<std::string, std::string>>();
  }
  return manifest;
}

}  // namespace

TrainingState training_state_from(const Json& json) {
  static const std::set<std::string> kMayBeMissing = {
      // in checkpoints of older versions of dtrain
      "unevaluated", "validation_examples", "pass_seconds", "suspicion", "dataset", "content",
      "table",       "arithmetic"};
  TrainingState state;
  each_of_state(state, [&json](const char* name, auto& value) {
    if (kMayBeMissing.contains(name) && !json.contains(name)) return;
    if constexpr (std::is_same_v<decltype(value), int64_t&>) {
      value = count_at(json, name);
    } else if constexpr (std::is_same_v<decltype(value), std::map<std::string, double>&>) {
      // JSON has no NaN and no infinity: they are null.
      for (const auto& [key, number] : json.at(name).get_ref<const Json::object_t&>())
        value[key] = number.is_null() ? std::nan("") : number.template get<double>();
    } else {
      json.at(name).get_to(value);
    }
  });
  return state;
}

ordered_json to_json(const TrainingState& state) {
  ordered_json json;
  each_of_state(state, [&json](const char* name, const auto& value) { json[name] = value; });
  for (const auto& [name, value] : state.metrics) {
    if (!std::isfinite(value)) json["metrics"].erase(name);
  }
  return json;
}

std::string problem_of(const TrainingState& state) {
  if (state.run != "distributed" && state.run != "baseline")
    return "its run is neither distributed nor baseline";
  for (const std::string& problem :
       {range_problem("train_examples", state.train_examples, 1, kMostExamples),
        range_problem("validation_examples", state.validation_examples, 0, kMostExamples),
        range_problem("global_batch", state.global_batch, 1, kMostExamples),
        range_problem("replicas", state.replicas, 1, kMostReplicas),
        range_problem("epoch", state.epoch, 0, kMostEpochs),
        range_problem("position", state.position, 0, state.train_examples - 1)}) {
    if (!problem.empty()) return problem;
  }
  if (state.position % state.global_batch != 0)
    return fmt::format("its position is {}, within a global batch of {}", state.position, state.global_batch);
  if (std::string problem = step_problem(state); !problem.empty()) return problem;
  if (state.unevaluated && (state.epoch == 0 || state.position > 0))
    return "it is unevaluated, but not at the end of an epoch";
  if (!(state.learning_rate >= 0 && std::isfinite(state.learning_rate)))
    return "its learning_rate is not a finite number of at least 0";
  if (std::string problem = problem_of_sums("pass_sums", state.pass_sums); !problem.empty()) return problem;
  return problem_of_sums("window_sums", state.window_sums);
}

std::string manifest_text(const Manifest& manifest) {
  if (const std::string problem = problem_of(manifest.state); !problem.empty())
    throw Error(ExitCode::kBug, "refusing to save a checkpoint that could not be used: " + problem);
  ordered_json files = ordered_json::object();
  for (const auto& [name, file] : manifest.files)
    files[name] = {{"bytes", file.bytes}, {"header", file.header}, {"tensors", file.tensors}};
  const ordered_json json = {{"format", kFormat},
                             {"version", kVersionOfFormat},
                             {"state", to_json(manifest.state)},
                             {"files", files}};
  std::string text = json.dump(2, ' ', false, ordered_json::error_handler_t::replace);
  text.resize(text.size() - 2);  // without the final "\n}", because one more member follows
  return text + kBeforeChecksum + checksum_of(text) + kAfterChecksum;
}

Manifest parse_manifest(const std::string& text, const std::string& what) {
  const size_t body = text.size() < kTailBytes ? 0 : text.size() - kTailBytes;
  if (body == 0 || text.substr(body) != kBeforeChecksum + checksum_of(text.substr(0, body)) + kAfterChecksum)
    throw Error(ExitCode::kCheckpoint, what + ": is damaged or cut off: its checksum does not match");
  const Json json = parse_strict_json(text, kManifestDepth, what);
  const auto format = json.find("format");
  const auto version = json.find("version");
  if (format == json.end() || *format != kFormat || version == json.end())
    throw Error(ExitCode::kCheckpoint, what + ": is not the manifest of a dtrain checkpoint");
  if (*version != kVersionOfFormat)
    throw Error(ExitCode::kCheckpoint, "{}: is of version {} of the format, and this dtrain reads {}", what,
                version->dump(), kVersionOfFormat);
  Manifest manifest;
  try {
    manifest = manifest_of(json);
  } catch (const std::exception&) {
    throw Error(ExitCode::kCheckpoint, what + ": a member is missing or malformed");
  }
  if (const std::string problem = problem_of(manifest.state); !problem.empty())
    throw Error(ExitCode::kCheckpoint, what + ": makes no sense: " + problem);
  return manifest;
}

std::filesystem::path plain_file(const std::filesystem::path& path, const std::string& name) {
  std::error_code missing;  // not reported here: opening the file will fail
  if (std::filesystem::is_symlink(path / name, missing)) {
    throw Error(
        ExitCode::kCheckpoint,
        "{}: is a symbolic link, and a checkpoint is plain files; copy the file there if you trust it",
        (path / name).string());
  }
  return path / name;
}

Manifest read_manifest(const std::filesystem::path& path) {
  const std::filesystem::path file = plain_file(path, kManifestFile);
  return parse_manifest(read_file(file, kMaxManifestBytes, ExitCode::kCheckpoint), file.string());
}

}  // namespace dtrain
