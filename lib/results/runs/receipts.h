// Receipts: hashes of what a step computed, one line of JSON each in receipts.jsonl in the run's folder.
//
//   step      of the run, from 1
//   examples  the global batch: epoch and indices, in order
//   replicas  a list: the gradient of each (virtual) replica alone; empty if it is not to be had
//   gradient  by parameter: that of all replicas together, before clipping
//   weights   by parameter: after the update
//   after     the `chain` of the line before
//   chain     all of this line, and so all lines up to it
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/range.h"
#include "metrics/event.h"

namespace dtrain {

constexpr const char* kReceiptsFile = "receipts.jsonl";

// Adds `after` and `chain` to a receipt that follows one with the chain `last`, which becomes its own.
// Returns the line, with a newline at the end.
std::string chained_line(Event receipt, std::string& last);

// Reads a run's receipts, also while the run writes them.
class ReceiptReader {
 public:
  explicit ReceiptReader(const std::filesystem::path& run) : file_(run / kReceiptsFile) {}

  // Those of the complete lines that were added since the last call, or of these only those of `steps`.
  // Throws Error(kData) if a line is not as it was written, or does not follow the one before it.
  std::vector<Event> read(std::optional<Range> steps = {});

  int64_t first_step() const { return first_step_; }  // of all that were read; 0: there was none
  int64_t last_step() const { return step_; }

 private:
  Event parse(const std::string& line);

  std::filesystem::path file_;
  std::streamoff bytes_ = 0;  // read
  int64_t lines_ = 0;
  int64_t first_step_ = 0;
  int64_t step_ = 0;                 // of the last line
  std::optional<std::string> last_;  // chain
};

int64_t step_of(const Event& receipt);

// All receipts of a run, or those of `steps`. Throws Error(kUsage) if there are none, and as ReceiptReader.
std::vector<Event> read_receipts(const std::filesystem::path& run, std::optional<Range> steps = {});
// The same with a new `reader` of the run, which then knows the steps of all.
std::vector<Event> read_receipts(ReceiptReader& reader, const std::filesystem::path& run,
                                 std::optional<Range> steps);

// The receipts of two runs side by side, up to the first difference.
struct ReceiptsComparison {
  int64_t first = 0, last = 0;  // of the steps that are the same
  int64_t same = 0;             // how many receipts
  int64_t passed_over = 0;      // of steps of which only one of the two has a receipt, up to the difference
  int64_t lost = 0;             // the last step whose receipt has been lost with the end of the file; 0: none
  // Null: none. Else the step; whether its examples differ; the replicas whose own gradients differ; and the
  // parameters whose gradient or weights differ, in the order in which a step computes them.
  Event difference = Event(Event::value_t::null);

  // Both of one step. Returns whether they are the same.
  bool add(const Event& one, const Event& other);
  bool differs() const { return !difference.is_null(); }
  std::string text() const;
  Event document() const;
};

// Of the steps of which both have one. Throws Error(kUsage) if there are none.
ReceiptsComparison compare_receipts(const std::vector<Event>& one, const std::vector<Event>& other);

}  // namespace dtrain
