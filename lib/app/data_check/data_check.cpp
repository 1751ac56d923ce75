#include "data_check/data_check.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "core/checksum.h"
#include "core/clock.h"
#include "data/picture_dataset.h"

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
  std::ranges::sort(groups, [](const SameExamples& one, const SameExamples& other) {
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

const char* name_of(DataPart part) {
  constexpr std::array<const char*, kDataParts> kNames = {"train", "validation", "test", "unused"};
  return kNames[static_cast<size_t>(part)];
}

std::string DataCheck::title_of(size_t example) const {
  if (!files.empty()) return dtrain::title_of(std::filesystem::path(), files[example]);
  const CheckedExample& one = examples[example];
  if (!has_columns(dataset)) return fmt::format("{} example {}", name_of(one.part), one.number);
  const bool in_test_file = has_test_file && static_cast<int64_t>(example) >= rows_to_train;
  return fmt::format("row {}{}", one.number, in_test_file ? " of the test's file" : "");
}

std::vector<std::vector<int64_t>> DataCheck::counts() const {
  std::vector<std::vector<int64_t>> counts(kDataParts,
                                           std::vector<int64_t>(std::max<size_t>(1, classes.size())));
  for (const CheckedExample& one : examples) {
    const size_t label = classes.empty() ? 0 : static_cast<size_t>(one.label);
    if (classes.empty() || one.label >= 0) ++counts[static_cast<size_t>(one.part)][label];
  }
  return counts;
}

bool DataCheck::crosses_parts(const SameExamples& group) const {
  bool trained = false, measured = false;
  for (const size_t member : group.members) {
    trained = trained || examples[member].part == DataPart::kTrain;
    measured = measured || examples[member].part == DataPart::kTest ||
               examples[member].part == DataPart::kValidation;
  }
  return trained && measured;
}

bool DataCheck::has_several_labels(const SameExamples& group) const {
  return std::ranges::any_of(group.members, [&](size_t member) {
    return examples[member].label != examples[group.members.front()].label;
  });
}

std::vector<SameExamples> find_copies(const std::vector<uint64_t>& contents,
                                      const std::vector<bool>& readable) {
  std::vector<size_t> order = readable_ones(readable);
  std::ranges::sort(order, [&](size_t one, size_t other) {
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
    std::ranges::sort(order, [&](size_t one, size_t other) {
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
    const bool copies =
        std::ranges::all_of(group.members, [&](size_t member) { return contents[member] == first; });
    if (copies) continue;  // or alone
    group.exact = false;
    groups.push_back(std::move(group));
  }
  sort_groups(groups);
  return groups;
}

void check_examples(DataCheck& check, const Dataset& dataset, const OnPrepared& on_progress) {
  constexpr int64_t kAtOnce = 1024;
  std::vector<uint64_t> contents;
  int64_t all = dataset.train->size() + dataset.test->size();
  if (dataset.validation) all += dataset.validation->size();
  const bool classes = dataset.info.classes > 0;
  const auto add = [&](const ExampleSource& source, DataPart part) {
    for (int64_t begin = 0; begin < source.size(); begin += kAtOnce) {
      const int64_t count = std::min(kAtOnce, source.size() - begin);
      const ExampleSlot slot = read_rows(source, {begin, begin + count});
      for (int64_t i = 0; i < count; ++i) {
        const at::Tensor input = slot.inputs[i];
        contents.push_back(Checksum(input.const_data_ptr(), input.nbytes()).number());
        check.examples.push_back({part, classes ? slot.targets.const_data_ptr<int64_t>()[i] : -1, begin + i});
      }
      if (on_progress) on_progress(std::ssize(check.examples), all);
    }
  };
  add(*dataset.train, DataPart::kTrain);
  if (dataset.validation) add(*dataset.validation, DataPart::kValidation);
  add(*dataset.test, DataPart::kTest);
  check.same = find_copies(contents, std::vector<bool>(contents.size(), true));
}

DataCheck check_data(const DataSpec& spec, uint64_t seed, int64_t threads, const OnPrepared& on_progress) {
  const double begin = steady_seconds();
  const DataSpec here = with_files_here(spec);
  DataCheck check;
  check.dataset = here.dataset;
  if (has_columns(here.dataset)) {
    check.source = here.path.value_or("");
    check_table(check, here);
  } else {
    DataSpec of_all = here;
    of_all.on_bad_example = "error";  // none is left out
    const DatasetInfo info = find_dataset(of_all);
    check.dataset = info.name;
    check.source = info.source;
    check.classes = info.class_names;
    for (int64_t label = std::ssize(check.classes); label < info.classes; ++label)
      check.classes.push_back(std::to_string(label));
    if (is_picture_dataset(info.name)) {
      check_pictures(check, list_pictures(info, of_all), of_all, threads, on_progress);
    } else {
      check_examples(check, load_dataset(here, seed), on_progress);
    }
  }
  if (here.path != spec.path) check.source = *spec.path;
  check.seconds = steady_seconds() - begin;
  return check;
}

}  // namespace dtrain
