#include "data_check/check_kinds.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace dtrain {
namespace {

constexpr size_t kMostCompared = 4096;  // pictures with the same piece of a hash

// Sets of examples that are joined pair by pair.
class JoinedSets {
 public:
  explicit JoinedSets(size_t count) : above_(count) { std::iota(above_.begin(), above_.end(), size_t{0}); }
  size_t find(size_t one) {
    while (above_[one] != one) one = above_[one] = above_[above_[one]];
    return one;
  }
  void join(size_t one, size_t other) { above_[find(one)] = find(other); }

 private:
  std::vector<size_t> above_;
};

void sort_groups(std::vector<SameExamples>& groups) {
  std::sort(groups.begin(), groups.end(), [](const SameExamples& one, const SameExamples& other) {
    return std::pair(-std::ssize(one.members), one.members.front()) <
           std::pair(-std::ssize(other.members), other.members.front());
  });
}

std::vector<size_t> readable_ones(const std::vector<bool>& readable) {
  std::vector<size_t> all;
  for (size_t i = 0; i < readable.size(); ++i) {
    if (readable[i]) all.push_back(i);
  }
  return all;
}

// Hashes within kMostBitsApart have one of one more pieces than that in common.
constexpr size_t kPieces = kMostBitsApart + 1;

uint64_t piece_of(uint64_t hash, size_t piece) {
  constexpr uint64_t kBits = 13;  // five of them cover the 64
  return hash >> (kBits * piece) & ((uint64_t{1} << kBits) - 1);
}

}  // namespace

std::vector<SameExamples> find_copies(const std::vector<uint64_t>& contents,
                                      const std::vector<bool>& readable) {
  std::vector<size_t> order = readable_ones(readable);
  std::sort(order.begin(), order.end(), [&](size_t one, size_t other) {
    return std::pair(contents[one], one) < std::pair(contents[other], other);
  });
  std::vector<SameExamples> groups;
  for (size_t begin = 0, end; begin < order.size(); begin = end) {
    for (end = begin + 1; end < order.size() && contents[order[end]] == contents[order[begin]];) ++end;
    if (end - begin > 1)
      groups.push_back({true,
                        {order.begin() + static_cast<std::ptrdiff_t>(begin),
                         order.begin() + static_cast<std::ptrdiff_t>(end)}});
  }
  sort_groups(groups);
  return groups;
}

std::vector<SameExamples> find_alike(const std::vector<Look>& looks, const std::vector<uint64_t>& contents,
                                     const std::vector<bool>& readable) {
  const std::vector<size_t> all = readable_ones(readable);
  JoinedSets sets(looks.size());
  for (const SameExamples& copies : find_copies(contents, readable)) {
    for (const size_t member : copies.members) sets.join(member, copies.members.front());
  }
  for (size_t piece = 0; piece < kPieces; ++piece) {
    std::vector<size_t> order = all;
    std::sort(order.begin(), order.end(), [&](size_t one, size_t other) {
      return std::pair(piece_of(looks[one].across, piece), one) <
             std::pair(piece_of(looks[other].across, piece), other);
    });
    for (size_t one = 0; one < order.size(); ++one) {
      const uint64_t wanted = piece_of(looks[order[one]].across, piece);
      const size_t last = std::min(order.size(), one + 1 + kMostCompared);
      for (size_t other = one + 1; other < last && piece_of(looks[order[other]].across, piece) == wanted;
           ++other) {
        if (look_alike(looks[order[one]], looks[order[other]])) sets.join(order[one], order[other]);
      }
    }
  }
  std::map<size_t, SameExamples> by_set;
  for (const size_t one : all) by_set[sets.find(one)].members.push_back(one);
  std::vector<SameExamples> groups;
  for (auto& [set, group] : by_set) {
    const uint64_t first = contents[group.members.front()];
    const bool copies = std::all_of(group.members.begin(), group.members.end(),
                                    [&](size_t member) { return contents[member] == first; });
    if (copies) continue;  // or alone
    group.exact = false;
    groups.push_back(std::move(group));
  }
  sort_groups(groups);
  return groups;
}

}  // namespace dtrain
