#include "diagnostics/link_speed.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "core/clock.h"
#include "store/store.h"

namespace dtrain {
namespace {

constexpr int64_t kMostFullyJoined = 16;  // ranks; they have 120 links
constexpr int kRounds = 50;
constexpr int64_t kFirstBytes = int64_t{64} << 10;
constexpr int64_t kLastBytes = int64_t{64} << 20;
constexpr double kLongEnough = 0.1;  // seconds, of one message there and back
constexpr int64_t kEnd = -1;

// One end of a link. Before each message its size goes there and back.
class LinkEnd {
 public:
  LinkEnd(GlooGroup& group, int64_t other)
      : backend_(group.c10d_group()->getBackend(c10::DeviceType::CPU)), other_(static_cast<int>(other)) {}

  void measure(LinkSpeed& link) {
    double least = std::numeric_limits<double>::infinity();
    for (int round = 0; round < kRounds; ++round) least = std::min(least, announce(0));
    double seconds = 0;
    for (int64_t bytes = kFirstBytes; bytes <= kLastBytes && seconds < kLongEnough; bytes *= 2) {
      announce(bytes);
      seconds = there_and_back(message_.narrow(0, 0, bytes));
      link.gb_per_second = 2 * static_cast<double>(bytes) / seconds / 1e9;  // of the largest one
    }
    announce(kEnd);
    link.round_trip_us = least * 1e6;
  }

  void answer() {
    do {
      send_back(size_);
      if (bytes() > 0) send_back(message_.narrow(0, 0, bytes()));
    } while (bytes() != kEnd);
  }

 private:
  int64_t bytes() const { return size_.item<int64_t>(); }

  double announce(int64_t bytes) {
    size_.fill_(bytes);
    return there_and_back(size_);
  }

  double there_and_back(const at::Tensor& tensor) {
    std::vector<at::Tensor> tensors = {tensor};
    const double started = steady_seconds();
    backend_->send(tensors, other_, /*tag=*/0)->wait();
    backend_->recv(tensors, other_, /*tag=*/0)->wait();
    return steady_seconds() - started;
  }

  void send_back(const at::Tensor& tensor) {
    std::vector<at::Tensor> tensors = {tensor};
    backend_->recv(tensors, other_, /*tag=*/0)->wait();
    backend_->send(tensors, other_, /*tag=*/0)->wait();
  }

  c10::intrusive_ptr<c10d::Backend> backend_;
  int other_;
  at::Tensor size_ = at::zeros({1}, at::kLong);
  at::Tensor message_ = at::zeros({kLastBytes}, at::kByte);
};

}  // namespace

std::vector<LinkSpeed> links_among(int64_t ranks) {
  std::vector<LinkSpeed> links;
  for (int64_t i = 0; i < ranks; ++i) {
    if (ranks > kMostFullyJoined) links.push_back({i, (i + 1) % ranks});
    for (int64_t j = i + 1; j < ranks && ranks <= kMostFullyJoined; ++j) links.push_back({i, j});
  }
  return links;
}

std::vector<LinkSpeed> measure_links(GlooGroup& group) {
  std::vector<LinkSpeed> links = links_among(group.size());
  at::Tensor numbers = at::zeros({2 * std::ssize(links)}, at::kDouble);
  auto* const values = numbers.mutable_data_ptr<double>();
  for (size_t i = 0; i < links.size(); ++i) {
    group.barrier();
    with_peer_errors("measuring a link", [&] {
      if (group.rank() == links[i].first) LinkEnd(group, links[i].second).measure(links[i]);
      if (group.rank() == links[i].second) LinkEnd(group, links[i].first).answer();
    });
    values[2 * i] = links[i].round_trip_us;
    values[2 * i + 1] = links[i].gb_per_second;
  }
  group.all_reduce_sum(numbers);
  for (size_t i = 0; i < links.size(); ++i) {
    links[i].round_trip_us = values[2 * i];
    links[i].gb_per_second = values[2 * i + 1];
  }
  return links;
}

}  // namespace dtrain
