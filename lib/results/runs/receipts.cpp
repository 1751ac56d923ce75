#include "runs/receipts.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "core/checksum.h"
#include "core/error.h"
#include "core/text.h"

namespace dtrain {
namespace {

// The names that do not have the same hash in both.
Event differing(const Event& one, const Event& other) {
  Event names = Event::array();
  for (const auto& [name, hash] : one.items()) {
    if (other.value(name, Event()) != hash) names.push_back(name);
  }
  for (const auto& [name, hash] : other.items()) {
    if (!one.contains(name)) names.push_back(name);
  }
  return names;
}

// "dense_2.bias", "dense_2.bias and 5 more"
std::string first_of(const Event& names) {
  const std::string first = printable(names.front().get<std::string>());
  return names.size() == 1 ? first : fmt::format("{} and {} more", first, names.size() - 1);
}

std::string text_of(const Event& difference) {
  std::vector<std::string> parts;
  if (difference.at("examples") == true) parts.emplace_back("the examples");
  if (const Event& replicas = difference.at("replicas"); !replicas.empty())
    parts.push_back(fmt::format("the gradient of replica{} {}", replicas.size() == 1 ? "" : "s",
                                fmt::join(replicas.get<std::vector<size_t>>(), ", ")));
  if (const Event& names = difference.at("gradient"); !names.empty())
    parts.push_back("the combined gradient of " + first_of(names));
  if (const Event& names = difference.at("weights"); !names.empty())
    parts.push_back("the weights of " + first_of(names));
  return fmt::format("step {}: differs in {}\n", step_of(difference), join(parts, ", then in "));
}

}  // namespace

std::string chained_line(Event receipt, std::string& last) {
  receipt["after"] = last;
  last = checksum_of(event_text(receipt));
  receipt["chain"] = last;
  return event_text(receipt) + "\n";
}

int64_t step_of(const Event& receipt) { return receipt.at("step").get<int64_t>(); }

std::vector<Event> ReceiptReader::read(std::optional<Range> steps) {
  std::ifstream file(file_);
  file.seekg(bytes_);
  std::vector<Event> receipts;
  for (std::string line; std::getline(file, line) && !file.eof();) {  // not the one that is being written
    bytes_ += static_cast<std::streamoff>(line.size() + 1);
    ++lines_;
    Event receipt = parse(line);
    if (!steps || (step_ >= steps->begin && step_ < steps->end)) receipts.push_back(std::move(receipt));
  }
  return receipts;
}

Event ReceiptReader::parse(const std::string& line) try {
  Event receipt = Event::parse(line);
  const int64_t step = step_of(receipt);
  const bool is_whole = receipt.at("examples").is_string() && receipt.at("replicas").is_array() &&
                        receipt.at("gradient").is_object() && receipt.at("weights").is_object();
  if (!is_whole || step <= step_)
    throw Error(ExitCode::kData, "{}: line {} is no receipt of a step after step {}", file_.string(), lines_,
                step_);
  step_ = step;
  if (first_step_ == 0) first_step_ = step;
  std::string chain = receipt.at("after").get<std::string>();
  const bool follows = !last_ || chain == *last_;
  receipt.erase("after");
  receipt.erase("chain");
  if (chained_line(receipt, chain) != line + "\n")
    throw Error(ExitCode::kData, "{}: line {}, of step {}, is not as it was written: it has another hash",
                file_.string(), lines_, step);
  if (!follows)
    throw Error(ExitCode::kData, "{}: line {}, of step {}, does not follow the line before it",
                file_.string(), lines_, step);
  last_ = chain;
  return receipt;
} catch (const nlohmann::json::exception&) {
  throw Error(ExitCode::kData, "{}: line {} is no receipt", file_.string(), lines_);
}

std::vector<Event> read_receipts(const std::filesystem::path& run, std::optional<Range> steps) {
  ReceiptReader reader(run);
  return read_receipts(reader, run, steps);
}

std::vector<Event> read_receipts(ReceiptReader& reader, const std::filesystem::path& run,
                                 std::optional<Range> steps) {
  std::vector<Event> wanted = reader.read(steps);
  if (reader.last_step() == 0)
    throw Error(ExitCode::kUsage, "{}: has no receipts; a run writes them with --set receipts.every_steps=50",
                run.string());
  if (wanted.empty())
    throw Error(ExitCode::kUsage,
                "{}: has no receipt of these steps; its first is of step {}, its last of step {}",
                run.string(), reader.first_step(), reader.last_step());
  return wanted;
}

bool ReceiptsComparison::add(const Event& one, const Event& other) {
  const int64_t step = step_of(one);
  const bool examples = one.at("examples") != other.at("examples");
  Event replicas = Event::array();
  const Event &own = one.at("replicas"), &others = other.at("replicas");
  // Where they are not as many, each has another part of the examples.
  for (size_t i = 0; own.size() == others.size() && i < own.size(); ++i) {
    if (own[i] != others[i]) replicas.push_back(i);
  }
  Event gradient = differing(one.at("gradient"), other.at("gradient"));
  std::reverse(gradient.begin(), gradient.end());  // that of the last layer is computed first
  const Event weights = differing(one.at("weights"), other.at("weights"));
  if (examples || !replicas.empty() || !gradient.empty() || !weights.empty()) {
    difference = {{"step", step},
                  {"examples", examples},
                  {"replicas", replicas},
                  {"gradient", gradient},
                  {"weights", weights}};
    return false;
  }
  if (same++ == 0) first = step;
  last = step;
  return true;
}

std::string ReceiptsComparison::text() const {
  std::string lines;
  if (same > 0) lines = fmt::format("steps {} to {}: the same ({})\n", first, last, counted(same, "receipt"));
  if (differs()) lines += text_of(difference);
  if (passed_over > 0)
    lines += fmt::format("skipped {} of steps for which the other side has none\n",
                         counted(passed_over, "receipt"));
  if (lost > 0 && !differs())
    lines += fmt::format("WARNING: {} has lost its end: steps {} to {} are not verified\n", kReceiptsFile,
                         last + 1, lost);
  return lines;
}

Event ReceiptsComparison::document() const {
  Event document = {{"same", !differs()}, {"receipts", same}, {"passed_over", passed_over}};
  if (same > 0) document["steps"] = {first, last};
  if (lost > 0) document["lost"] = lost;
  if (differs()) document["difference"] = difference;
  return document;
}

ReceiptsComparison compare_receipts(const std::vector<Event>& one, const std::vector<Event>& other) {
  ReceiptsComparison comparison;
  auto next = other.begin();
  for (const Event& receipt : one) {
    for (; next != other.end() && step_of(*next) < step_of(receipt); ++next) ++comparison.passed_over;
    if (next == other.end() || step_of(*next) > step_of(receipt)) {
      ++comparison.passed_over;
    } else if (!comparison.add(receipt, *next++)) {
      break;
    }
  }
  if (!comparison.differs()) comparison.passed_over += other.end() - next;
  if (comparison.same == 0 && !comparison.differs())
    throw Error(ExitCode::kUsage, "the two runs have no receipts of the same step");
  return comparison;
}

}  // namespace dtrain
