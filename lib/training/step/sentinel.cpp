#include "step/sentinel.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "core/checksum.h"
#include "core/error.h"
#include "core/text.h"
#include "host/machine.h"
#include "kernels/instructions.h"
#include "models/variables.h"
#include "step/collect.h"

namespace dtrain {

const char* const kAfterCorruption = "; nothing of it was saved. If it happens there again, test that memory";

// What one replica reports to the others.
struct Sentinel::Finding {
  uint64_t digest = 0;      // of its copy, where copies are compared
  uint64_t arithmetic = 0;  // identifies what else the bits of an update depend on
  int64_t broken = -1;      // the parameter whose seal is broken
  Growth growth;
  std::array<char, 64> host{};
};

namespace {

constexpr size_t kMostNamed = 8;

uint64_t own_arithmetic() {
  const std::string capability = at::get_cpu_capability();
  const int threads = at::get_num_threads();
  Checksum checksum(capability.data(), capability.size());
  checksum.add(&threads, sizeof threads);
  // Libraries choose their code by the processor, and its instructions may be chosen for dtrain's own.
  const std::string code = processor_name() + to_string(instructions());
  checksum.add(code.data(), code.size());
  return checksum.number();
}

std::string named(const std::vector<Sentinel::Finding>& findings, const std::vector<size_t>& ranks) {
  std::vector<std::string> names;
  for (const size_t rank : ranks) {
    if (names.size() == kMostNamed) {
      names.push_back(fmt::format("{} more", ranks.size() - kMostNamed));
      break;
    }
    names.push_back(fmt::format("rank {} on host {}", rank, printable(findings[rank].host.data(), 64)));
  }
  return join(names, ", ");
}

// The digest that more than half of the findings have; nullptr if there is none.
const uint64_t* majority(const std::vector<Sentinel::Finding>& findings) {
  std::map<uint64_t, size_t> votes;
  for (const Sentinel::Finding& finding : findings) ++votes[finding.digest];
  for (const Sentinel::Finding& finding : findings) {
    if (2 * votes[finding.digest] > findings.size()) return &finding.digest;
  }
  return nullptr;
}

}  // namespace

std::string suspicion_of(const Growth& growth, const std::string& whose) {
  if (growth.is_plausible()) return "";
  return fmt::format(
      "{} is {:.3g}, where the updates since the last check should have made it {:.3g} at most: memory may "
      "be corrupt, or train.optimizer.learning_rate is far too high",
      whose, growth.largest, growth.bound);
}

Sentinel::Sentinel(const Model& model, ProcessGroup& group, const GradientReducer& reducer,
                   WatchedOptimizer& optimizer, std::optional<int64_t> every, bool alone)
    : model_(model),
      group_(group),
      reducer_(reducer),
      optimizer_(optimizer),
      alone_(alone),
      arithmetic_(own_arithmetic()),
      host_(own_host_name()) {
  if (every && !compares_copies()) optimizer_.seal_every(*every);
}

std::string Sentinel::check(std::optional<uint64_t> others) {
  optimizer_.test_seals();
  Finding own;
  own.growth = optimizer_.check_growth();
  own.arithmetic = arithmetic_;
  if (compares_copies()) own.digest = optimizer_.digest();
  if (others) own.digest = *others;
  const std::vector<Finding> findings = exchange(own);
  require_unbroken(findings);
  suspicion_.clear();
  for (size_t rank = 0; rank < findings.size() && suspicion_.empty(); ++rank)
    suspicion_ = suspicion_of(findings[rank].growth, fmt::format("the largest weight of rank {}", rank));
  if (others) require_equal(findings);
  if (!compares_copies()) {
    optimizer_.seal();
    return suspicion_;
  }
  const bool alike = std::ranges::all_of(
      findings, [&](const Finding& other) { return other.arithmetic == findings.front().arithmetic; });
  if (alike) require_equal(findings);
  if (alike || !suspicion_.empty() || std::exchange(told_, true)) return suspicion_;
  return "copies of the variables are not compared: replicas compute on different processors, or with "
         "different instructions or numbers of threads, and their updates differ in the last bits";
}

std::string Sentinel::check_own() {
  optimizer_.test_seals();
  if (optimizer_.broken())
    return "what the last update made of a variable has changed since: memory is corrupt";
  return suspicion_of(optimizer_.check_growth(), "the largest weight of this replica");
}

void Sentinel::after_step() {
  if (!optimizer_.is_past_seal()) return;
  optimizer_.test_seals();  // the step has tested the seals of what it changed
  require_unbroken(exchange({}));
}

std::vector<Sentinel::Finding> Sentinel::exchange(Finding own) {
  if (const auto broken = optimizer_.broken())
    own.broken = static_cast<int64_t>(reducer_.parts()[*broken].parameter);
  host_.copy(own.host.data(), own.host.size() - 1);
  at::Tensor bytes = at::empty({sizeof own}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), &own, sizeof own);
  const at::Tensor rows = gather_rows(group_, bytes);
  std::vector<Finding> all(static_cast<size_t>(group_.size()));
  std::memcpy(static_cast<void*>(all.data()), rows.const_data_ptr(), rows.nbytes());
  return all;
}

void Sentinel::require_unbroken(const std::vector<Finding>& findings) const {
  for (size_t rank = 0; rank < findings.size(); ++rank) {
    if (findings[rank].broken < 0) continue;
    const Variables parameters = trained_parameters(model_);
    throw Error(ExitCode::kDisagree,
                "memory of {} is corrupt: '{}' or what the optimizer remembers of it is no longer what the "
                "last update made it{}",
                named(findings, {rank}), parameters[static_cast<size_t>(findings[rank].broken)].first,
                kAfterCorruption);
  }
}

void Sentinel::require_equal(const std::vector<Finding>& findings) const {
  const uint64_t* const right = majority(findings);
  std::vector<size_t> wrong;
  for (size_t rank = 0; rank < findings.size(); ++rank) {
    if (right == nullptr || findings[rank].digest != *right) wrong.push_back(rank);
  }
  if (wrong.empty()) return;
  throw Error(ExitCode::kDisagree,
              right == nullptr
                  ? fmt::format("memory of one of {} is corrupt: their copies of the variables differ{}",
                                named(findings, wrong), kAfterCorruption)
                  : fmt::format("memory of {} is corrupt: its copy of the variables differs from that of the "
                                "other {} replicas{}",
                                named(findings, wrong), findings.size() - wrong.size(), kAfterCorruption));
}

}  // namespace dtrain
