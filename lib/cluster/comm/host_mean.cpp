#include "comm/host_mean.h"

#include <ATen/ATen.h>

#include <cstring>
#include <vector>

#include "core/named.h"

namespace dtrain {
namespace {

constexpr int64_t kScaledNumbers = 256;  // numbers
constexpr int64_t kWeightBytes = sizeof(double);

struct NamedEncoding {
  std::string name;
  Encoding encoding;
};

const std::vector<NamedEncoding> kEncodings = {{"none", Encoding::kWhole},
                                               {"bf16", Encoding::kBf16},
                                               {"fp16", Encoding::kFp16},
                                               {"int8", Encoding::kInt8}};

at::ScalarType sent_type(Encoding encoding, at::ScalarType type) {
  if (encoding == Encoding::kBf16) return at::kBFloat16;
  return encoding == Encoding::kFp16 ? at::kHalf : type;
}

}  // namespace

Encoding encoding_from_name(const std::string& name) {
  return row_named(kEncodings, name, "encoding").encoding;
}

HostMean::HostMean(ProcessGroup& hosts, int64_t count, at::ScalarType type, Encoding encoding)
    : hosts_(hosts), count_(count), type_(type), encoding_(encoding) {
  const int64_t a_host = (count + hosts.size() - 1) / hosts.size();
  slice_ = (a_host + kScaledNumbers - 1) / kScaledNumbers * kScaledNumbers;
  if (encoding != Encoding::kWhole && hosts.size() > 1)
    lost_ = at::zeros({slice_ * (hosts.size() + 1)}, type);
}

void HostMean::replace(const at::Tensor& numbers, double weight) {
  const at::NoGradGuard no_grad;
  const int64_t size = hosts_.size();
  if (size == 1) return;
  at::Tensor padded = at::zeros({size, slice_}, type_);
  padded.view(-1).narrow(0, 0, count_).copy_(numbers);
  const auto lost_of = [this](int64_t first, int64_t slices) {
    return lost_.defined() ? lost_.narrow(0, first * slice_, slices * slice_) : at::Tensor();
  };
  const at::Tensor slices = encoded(padded.view(-1), lost_of(0, size)).view({size, -1});
  const at::Tensor own_weight = at::full({1}, weight, at::kDouble).view(at::kByte);
  const at::Tensor sent = at::cat({own_weight.expand({size, kWeightBytes}), slices}, 1);
  const at::Tensor received = at::empty_like(sent);
  const std::vector<int64_t> bytes(static_cast<size_t>(size), sent.size(1));
  hosts_.exchange(sent.view(-1), bytes, received.view(-1), bytes);

  at::Tensor mean = at::zeros({slice_}, type_);
  double weights = 0;
  for (int64_t host = 0; host < size; ++host) {  // in their order: the same bits whoever sums
    double of_host = 0;
    std::memcpy(&of_host, received[host].const_data_ptr(), sizeof of_host);  // before the numbers
    weights += of_host;
    mean.add_(decoded(received[host].narrow(0, kWeightBytes, slices.size(1))), of_host);
  }
  if (weights > 0) mean.div_(weights);
  const at::Tensor own = encoded(mean, lost_of(size, 1));
  const at::Tensor all = at::empty({size, own.numel()}, at::kByte);
  hosts_.gather(own, all.view(-1));
  for (int64_t host = 0; host < size; ++host) padded[host].copy_(decoded(all[host]));
  numbers.copy_(padded.view(-1).narrow(0, 0, count_));
}

// Whole blocks of numbers, a multiple of `slice_`, as bytes, by slices. `lost`: added, and what is lost.
at::Tensor HostMean::encoded(const at::Tensor& numbers, const at::Tensor& lost) const {
  if (encoding_ == Encoding::kWhole) return numbers.contiguous().view(at::kByte);
  const at::Tensor wanted = numbers + lost;
  at::Tensor bytes;
  if (encoding_ == Encoding::kInt8) {
    const at::Tensor blocks = wanted.view({-1, kScaledNumbers});
    const at::Tensor scales = blocks.abs().amax(1, /*keepdim=*/true).div_(127).to(at::kFloat);
    const at::Tensor safe = at::where(scales == 0, at::ones_like(scales), scales);
    const at::Tensor words = blocks.div(safe).round_().to(at::kChar).view(at::kByte);
    bytes = at::cat({scales.view(at::kByte), words}, 1);
  } else {
    bytes = wanted.to(sent_type(encoding_, type_)).view(at::kByte);
  }
  bytes = bytes.view(-1);
  lost.copy_(wanted - decoded(bytes));
  return bytes;
}

at::Tensor HostMean::decoded(const at::Tensor& bytes) const {
  const at::Tensor own = bytes.contiguous().clone();  // aligned, whatever it was a part of
  if (encoding_ != Encoding::kInt8) return own.view(sent_type(encoding_, type_)).to(type_);
  constexpr int64_t kScale = sizeof(float);
  const at::Tensor blocks = own.view({-1, kScale + kScaledNumbers});
  const at::Tensor scales = blocks.narrow(1, 0, kScale).contiguous().view(at::kFloat);
  return blocks.narrow(1, kScale, kScaledNumbers)
      .contiguous()
      .view(at::kChar)
      .to(type_)
      .mul_(scales)
      .view(-1);
}

}  // namespace dtrain
