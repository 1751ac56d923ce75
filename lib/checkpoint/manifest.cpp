#include "checkpoint/manifest.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "checkpoint/strict_json.h"
#include "core/checksum.h"
#include "core/error.h"
#include "core/files.h"

namespace dtrain {
namespace {

using nlohmann::ordered_json;

const char* const kFormat = "dtrain checkpoint";
constexpr int kVersionOfFormat = 1;
constexpr int kManifestDepth = 8;
constexpr size_t kSums = 3;
constexpr int64_t kMaxManifestBytes = int64_t{32} << 20;
const std::string kBeforeChecksum = ",\n  \"xxh3_128\": \"";
const std::string kAfterChecksum = "\"\n}\n";
const size_t kTailBytes = kBeforeChecksum.size() + kChecksumDigits + kAfterChecksum.size();

int64_t count_at(const ordered_json& json, const char* key) {
  const ordered_json& count = json.at(key);
  if (!count.is_number_unsigned() || count.get<uint64_t>() > INT64_MAX) throw std::out_of_range(key);
  return count.get<int64_t>();
}

// Three numbers that are finite.
std::vector<double> sums_at(const ordered_json& json, const char* key) {
  auto sums = json.at(key).get<std::vector<double>>();
  if (sums.size() != kSums) throw std::out_of_range(key);
  return sums;
}

}  // namespace

TrainingState training_state_from(const ordered_json& json) {
  TrainingState state;
  state.run = json.at("run").get<std::string>();
  state.epoch = count_at(json, "epoch");
  state.step = count_at(json, "step");
  state.position = count_at(json, "position");
  state.train_examples = count_at(json, "train_examples");
  state.global_batch = count_at(json, "global_batch");
  state.pass_sums = sums_at(json, "pass_sums");
  state.window_sums = sums_at(json, "window_sums");
  state.callbacks = json.at("callbacks");
  state.learning_rate = json.at("learning_rate").get<double>();
  state.schedule = json.at("schedule");
  state.metrics = json.at("metrics").get<std::map<std::string, double>>();
  state.suspicion = json.value("suspicion", "");  // checkpoints of dtrain before it knew the word lack it
  state.replicas = count_at(json, "replicas");
  state.spec = json.at("spec").get<std::string>();
  state.dtrain = json.at("dtrain").get<std::string>();
  state.libtorch = json.at("libtorch").get<std::string>();
  return state;
}

namespace {

Manifest manifest_of(const ordered_json& json) {
  Manifest manifest;
  manifest.state = training_state_from(json.at("state"));
  for (const char* name : {kModelFile, kOptimizerFile}) {
    const ordered_json& file = json.at("files").at(name);
    FileChecksums& checksums = manifest.files[name];
    checksums.bytes = count_at(file, "bytes");
    checksums.header = file.at("header").get<std::string>();
    checksums.tensors = file.at("tensors").get<std::map<std::string, std::string>>();
  }
  return manifest;
}

}  // namespace

ordered_json to_json(const TrainingState& state) {
  ordered_json metrics = ordered_json::object();
  for (const auto& [name, value] : state.metrics) {
    if (std::isfinite(value)) metrics[name] = value;  // JSON has no other numbers
  }
  return {{"run", state.run},
          {"epoch", state.epoch},
          {"step", state.step},
          {"position", state.position},
          {"train_examples", state.train_examples},
          {"global_batch", state.global_batch},
          {"pass_sums", state.pass_sums},
          {"window_sums", state.window_sums},
          {"learning_rate", state.learning_rate},
          {"schedule", state.schedule},
          {"callbacks", state.callbacks},
          {"metrics", metrics},
          {"suspicion", state.suspicion},
          {"replicas", state.replicas},
          {"spec", state.spec},
          {"dtrain", state.dtrain},
          {"libtorch", state.libtorch}};
}

std::string manifest_text(const Manifest& manifest) {
  ordered_json files = ordered_json::object();
  for (const auto& [name, file] : manifest.files)
    files[name] = {{"bytes", file.bytes}, {"header", file.header}, {"tensors", file.tensors}};
  const ordered_json json = {{"format", kFormat},
                             {"version", kVersionOfFormat},
                             {"state", to_json(manifest.state)},
                             {"files", files}};
  std::string text = json.dump(2, ' ', false, ordered_json::error_handler_t::replace);
  text.resize(text.size() - 2);  // without "\n}": one more member follows
  return text + kBeforeChecksum + checksum_of(text) + kAfterChecksum;
}

Manifest parse_manifest(const std::string& text, const std::string& what) {
  const size_t body = text.size() < kTailBytes ? 0 : text.size() - kTailBytes;
  if (body == 0 || text.substr(body) != kBeforeChecksum + checksum_of(text.substr(0, body)) + kAfterChecksum)
    throw Error(ExitCode::kCheckpoint, what + ": is damaged or cut off: its checksum is another");
  const ordered_json json = parse_strict_json(text, kManifestDepth, what);
  const auto format = json.find("format");
  const auto version = json.find("version");
  if (format == json.end() || *format != kFormat || version == json.end())
    throw Error(ExitCode::kCheckpoint, what + ": is no manifest of a dtrain checkpoint");
  if (*version != kVersionOfFormat) {
    throw Error(
        ExitCode::kCheckpoint,
        fmt::format("{}: was written by a newer dtrain; this one reads version {}", what, kVersionOfFormat));
  }
  try {
    return manifest_of(json);
  } catch (const std::exception&) {  // a member is missing or of another type
    throw Error(ExitCode::kCheckpoint, what + ": lacks something that dtrain writes");
  }
}

Manifest read_manifest(const std::filesystem::path& path) {
  const std::filesystem::path file = path / kManifestFile;
  return parse_manifest(read_file(file, kMaxManifestBytes, ExitCode::kCheckpoint), file.string());
}

}  // namespace dtrain
