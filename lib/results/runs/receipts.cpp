#include "runs/receipts.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "core/checksum.h"
#include "core/error.h"
#include "core/text.h"

namespace dtrain {
namespace {

Event by_name(const NamedHashes& hashes) {
  Event object = Event::object();
  for (const auto& [name, hash] : hashes) object[name] = hash;
  return object;
}

NamedHashes hashes_of(const Event& object) {
  NamedHashes hashes;
  for (const auto& [name, hash] : object.items()) hashes.emplace_back(name, hash.get<std::string>());
  return hashes;
}

// The names that do not have the same hash in both.
std::vector<std::string> differing(const NamedHashes& one, const NamedHashes& other) {
  std::map<std::string, std::string> left(other.begin(), other.end());
  std::vector<std::string> names;
  for (const auto& [name, hash] : one) {
    const auto found = left.find(name);
    if (found == left.end() || found->second != hash) names.push_back(name);
    if (found != left.end()) left.erase(found);
  }
  for (const auto& [name, hash] : left) names.push_back(name);
  return names;
}

// "dense_2.bias", "dense_2.bias and 5 more parameters"
std::string first_of(const std::vector<std::string>& names) {
  const int64_t more = std::ssize(names) - 1;
  return more == 0 ? printable(names.front())
                   : fmt::format("{} and {} more parameter{}", printable(names.front()), more,
                                 more == 1 ? "" : "s");
}

std::string text_of(const ReceiptDifference& difference) {
  std::vector<std::string> parts;
  if (difference.examples) parts.emplace_back("the examples");
  if (!difference.replicas.empty())
    parts.push_back(fmt::format("the gradient of replica{} {}", difference.replicas.size() == 1 ? "" : "s",
                                fmt::join(difference.replicas, ", ")));
  if (!difference.gradient.empty())
    parts.push_back("the combined gradient of " + first_of(difference.gradient));
  if (!difference.weights.empty()) parts.push_back("the weights of " + first_of(difference.weights));
  return fmt::format("step {}: differs in {}", difference.step, join(parts, ", then in "));
}

}  // namespace

std::string ReceiptChain::add(const StepReceipt& receipt) {
  Event line = {{"step", receipt.step},
                {"examples", receipt.examples},
                {"replicas", receipt.replicas},
                {"gradient", by_name(receipt.gradient)},
                {"weights", by_name(receipt.weights)},
                {"after", last_}};
  last_ = checksum_of(event_text(line));
  line["chain"] = last_;
  return event_text(line) + "\n";
}

std::vector<StepReceipt> ReceiptReader::read() {
  std::ifstream file(file_);
  file.seekg(bytes_);
  std::vector<StepReceipt> receipts;
  for (std::string line; std::getline(file, line) && !file.eof();) {  // not the one that is being written
    bytes_ += static_cast<std::streamoff>(line.size() + 1);
    ++lines_;
    receipts.push_back(parse(line));
  }
  return receipts;
}

StepReceipt ReceiptReader::parse(const std::string& line) try {
  const Event all = Event::parse(line);
  StepReceipt receipt{.step = all.at("step").get<int64_t>(),
                      .examples = all.at("examples").get<std::string>(),
                      .replicas = all.at("replicas").get<std::vector<std::string>>(),
                      .gradient = hashes_of(all.at("gradient")),
                      .weights = hashes_of(all.at("weights"))};
  ReceiptChain chain(all.at("after").get<std::string>());
  const bool follows = !last_ || chain.last() == *last_;
  if (chain.add(receipt) != line + "\n")
    throw Error(ExitCode::kData, "{}: line {}, of step {}, is not as it was written: its hash is another one",
                file_.string(), lines_, receipt.step);
  if (!follows)
    throw Error(ExitCode::kData, "{}: line {}, of step {}, does not follow the line before it",
                file_.string(), lines_, receipt.step);
  last_ = chain.last();
  return receipt;
} catch (const nlohmann::json::exception&) {
  throw Error(ExitCode::kData, "{}: line {} is no receipt", file_.string(), lines_);
}

std::vector<StepReceipt> read_receipts(const std::filesystem::path& run, std::optional<Range> steps) {
  std::vector<StepReceipt> all = ReceiptReader(run).read();
  if (all.empty())
    throw Error(ExitCode::kUsage, "{}: has no receipts; a run writes them with --set receipts.every_steps=50",
                run.string());
  const int64_t first = all.front().step, last = all.back().step;
  std::erase_if(all, [&](const StepReceipt& receipt) {
    return steps && (receipt.step < steps->begin || receipt.step >= steps->end);
  });
  if (all.empty())
    throw Error(ExitCode::kUsage,
                "{}: has no receipt of a step from {} to {}; its first is of step {}, its last of step {}",
                run.string(), steps->begin, steps->end - 1, first, last);
  return all;
}

bool ReceiptsComparison::add(const StepReceipt& one, const StepReceipt& other) {
  ReceiptDifference found{.step = one.step,
                          .examples = one.examples != other.examples,
                          .replicas = {},
                          .gradient = differing(one.gradient, other.gradient),
                          .weights = differing(one.weights, other.weights)};
  // Where they are not as many, each has another part of the examples.
  for (size_t i = 0; one.replicas.size() == other.replicas.size() && i < one.replicas.size(); ++i) {
    if (one.replicas[i] != other.replicas[i]) found.replicas.push_back(static_cast<int64_t>(i));
  }
  std::reverse(found.gradient.begin(), found.gradient.end());  // the last layer's is computed first
  if (found.examples || !found.replicas.empty() || !found.gradient.empty() || !found.weights.empty()) {
    difference_ = std::move(found);
    return false;
  }
  if (same_++ == 0) first_ = one.step;
  last_ = one.step;
  return true;
}

std::string ReceiptsComparison::text() const {
  std::string lines;
  if (same_ > 0)
    lines = fmt::format("steps {} to {}: the same ({})\n", first_, last_, counted(same_, "receipt"));
  return difference_ ? lines + text_of(*difference_) + "\n" : lines;
}

Event ReceiptsComparison::document() const {
  Event document = {{"same", !difference_}, {"receipts", same_}};
  if (same_ > 0) document["steps"] = {first_, last_};
  if (difference_)
    document["difference"] = {{"step", difference_->step},
                              {"examples", difference_->examples},
                              {"replicas", difference_->replicas},
                              {"gradient", difference_->gradient},
                              {"weights", difference_->weights}};
  return document;
}

ReceiptsComparison compare_receipts(const std::vector<StepReceipt>& one,
                                    const std::vector<StepReceipt>& other) {
  ReceiptsComparison comparison;
  auto next = other.begin();
  for (const StepReceipt& receipt : one) {
    while (next != other.end() && next->step < receipt.step) ++next;
    if (next == other.end()) break;
    if (next->step == receipt.step && !comparison.add(receipt, *next)) break;
  }
  if (comparison.same() == 0 && !comparison.difference())
    throw Error(ExitCode::kUsage, "the two runs have no receipts of the same step");
  return comparison;
}

}  // namespace dtrain
