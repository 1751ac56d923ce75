// Receipts: hashes of what a step computed, one line of JSON each in receipts.jsonl in the run's folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/range.h"
#include "metrics/event.h"

namespace dtrain {

constexpr const char* kReceiptsFile = "receipts.jsonl";

using NamedHashes = std::vector<std::pair<std::string, std::string>>;

struct StepReceipt {
  int64_t step = 0;                   // of the run, from 1
  std::string examples;               // the global batch: epoch and indices, in order
  std::vector<std::string> replicas;  // the gradient of each (virtual) replica alone; empty: not to be had
  NamedHashes gradient;               // all replicas together, before clipping, by parameter
  NamedHashes weights;                // after the update, by parameter
};

// The receipts of one run, each chained to the one before it.
class ReceiptChain {
 public:
  explicit ReceiptChain(std::string last = "") : last_(std::move(last)) {}

  std::string add(const StepReceipt& receipt);  // its line, with a newline at the end
  // The hash of the last line, which has that of the line before: it stands for all of them.
  const std::string& last() const { return last_; }

 private:
  std::string last_;
};

// Reads a run's receipts, also while the run writes them.
class ReceiptReader {
 public:
  explicit ReceiptReader(const std::filesystem::path& run) : file_(run / kReceiptsFile) {}

  // The complete lines that were added since the last call. Throws Error(kData) if a line is not as it was
  // written, or does not follow the one before it.
  std::vector<StepReceipt> read();

 private:
  StepReceipt parse(const std::string& line);

  std::filesystem::path file_;
  std::streamoff bytes_ = 0;  // read
  int64_t lines_ = 0;
  std::optional<std::string> last_;  // hash
};

// All receipts of a run; of `steps` alone if given. Throws Error(kUsage) if there are none, and as
// ReceiptReader::read().
std::vector<StepReceipt> read_receipts(const std::filesystem::path& run, std::optional<Range> steps = {});

// What differs in a step, each list in the order in which a step computes.
struct ReceiptDifference {
  int64_t step = 0;
  bool examples = false;
  std::vector<int64_t> replicas;  // from 0
  std::vector<std::string> gradient, weights;
};

// The receipts of two runs side by side, up to the first difference.
class ReceiptsComparison {
 public:
  // Both of one step. Returns whether they are the same.
  bool add(const StepReceipt& one, const StepReceipt& other);

  int64_t same() const { return same_; }  // how many
  const std::optional<ReceiptDifference>& difference() const { return difference_; }
  std::string text() const;
  Event document() const;

 private:
  int64_t first_ = 0, last_ = 0;  // of those that are the same
  int64_t same_ = 0;
  std::optional<ReceiptDifference> difference_;
};

// Of the steps of which both have one. Throws Error(kUsage) if there are none.
ReceiptsComparison compare_receipts(const std::vector<StepReceipt>& one,
                                    const std::vector<StepReceipt>& other);

}  // namespace dtrain
