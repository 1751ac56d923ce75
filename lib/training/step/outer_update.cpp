#include "step/outer_update.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/checksum.h"

namespace dtrain {
namespace {

const std::string kHosts = "hosts.";  // before the name of a tensor with a row for each host
const std::string kOfHost = "variables.";
const std::string kOfReplicas = "replicas.";
const std::string kOuterMomentum = "outer.momentum.";
const std::string kRoundSteps = "outer.steps";
const std::string kRoundExamples = "examples";
const std::string kLost = "lost.";
const std::string kOptimizerSteps = "optimizer.steps";

constexpr int64_t kPieceNumbers = 1 << 22;
constexpr int64_t kBlockNumbers = 256;  // what is rounded together in an encoding
constexpr int64_t kMostLater = 20;      // how many times the steps that were asked for round_up() returns

// While one rank of a host exchanges tensors with other hosts, the others wait for each, not for all at once:
// the group's timeout is for one.
class InStep {
 public:
  // `leads`: this is that rank, and there are `count` tensors. Collective of the host.
  InStep(ProcessGroup& host, bool leads, int64_t count) : host_(host) {
    const int64_t of_first = shared_number(host, count);
    for (int64_t i = 0; !leads && i < of_first; ++i) next();
  }
  void next() { host_.barrier(); }

 private:
  ProcessGroup& host_;
};

at::Tensor bytes_of(const at::Tensor& tensor) { return tensor.contiguous().view({-1}).view(at::kByte); }

at::Tensor number(int64_t value) { return at::scalar_tensor(value, at::kLong); }

// `own` of each host, a row each, on the first one. Collective between hosts.
at::Tensor rows_on_first(ProcessGroup& hosts, const at::Tensor& own) {
  const at::Tensor sent = bytes_of(own);
  const auto size = static_cast<size_t>(hosts.size());
  const bool receives = hosts.rank() == 0;
  std::vector<int64_t> shape = own.sizes().vec();
  shape.insert(shape.begin(), receives ? hosts.size() : 0);
  at::Tensor rows = at::empty(shape, own.options());
  std::vector<int64_t> sent_bytes(size, 0);
  sent_bytes.front() = sent.numel();
  hosts.exchange(sent, sent_bytes, rows.view({-1}).view(at::kByte),
                 std::vector<int64_t>(size, receives ? sent.numel() : 0));
  return rows;
}

// Gives each host the tensors of the first one. Of those with rows, it gets its own row.
class Spreading {
 public:
  // `host`: the ranks of this one, of which this is the first.
  Spreading(ProcessGroup& hosts, ProcessGroup& host) : hosts_(hosts), host_(host) {}

  Variables spread(const Variables& tensors, bool has_rows) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& [name, tensor] : tensors)
      list.push_back({{"name", name},
                      {"type", static_cast<int>(tensor.scalar_type())},
                      {"shape", tensor.sizes().vec()}});
    list = nlohmann::json::parse(text(list.dump()));
    InStep in_step(host_, /*leads=*/true, std::ssize(list));
    Variables own;
    for (size_t i = 0; i < list.size(); ++i) {
      in_step.next();
      const auto name = list[i].at("name").get<std::string>();
      const at::Tensor saved = hosts_.rank() == 0 ? tensors[i].second : at::Tensor();
      const auto type = static_cast<at::ScalarType>(list[i].at("type").get<int>());
      const auto shape = list[i].at("shape").get<std::vector<int64_t>>();
      const bool is_row = has_rows && name.starts_with(kHosts);
      own.emplace_back(name, is_row ? row(saved, type, shape) : whole(saved, type, shape));
    }
    return own;
  }
  // Of the first host.
  std::string text(std::string text) {
    text.resize(static_cast<size_t>(shared_number(hosts_, std::ssize(text))));
    at::Tensor bytes = at::from_blob(text.data(), {std::ssize(text)}, at::kByte);
    hosts_.broadcast({bytes}, 0);
    return text;
  }
  // How many rows the last tensor with rows had.
  int64_t rows() const { return rows_; }

 private:
  at::Tensor whole(const at::Tensor& saved, at::ScalarType type, const std::vector<int64_t>& shape) {
    at::Tensor tensor = at::empty(shape, type);
    if (saved.defined()) tensor.copy_(saved);
    hosts_.broadcast({tensor}, 0);
    return tensor;
  }
  at::Tensor row(const at::Tensor& saved, at::ScalarType type, std::vector<int64_t> shape) {
    rows_ = shape.front();
    shape.erase(shape.begin());
    at::Tensor own = at::empty(shape, type);
    std::vector<at::Tensor> each;
    for (int host = 0; saved.defined() && host < hosts_.size(); ++host)
      each.push_back(bytes_of(saved[host % rows_]));
    const auto size = static_cast<size_t>(hosts_.size());
    std::vector<int64_t> received_bytes(size, 0);
    received_bytes.front() = static_cast<int64_t>(own.nbytes());
    hosts_.exchange(each.empty() ? at::empty({0}, at::kByte) : at::cat(each),
                    std::vector<int64_t>(size, each.empty() ? 0 : each.front().numel()),
                    own.view({-1}).view(at::kByte), received_bytes);
    return own;
  }

  ProcessGroup& hosts_;
  ProcessGroup& host_;
  int64_t rows_ = 0;
};

}  // namespace

OuterUpdate::OuterUpdate(const LocalStepsSpec& spec, Encoding encoding, Model& model, ProcessGroup& all)
    : spec_(spec), model_(model), all_(all), variables_(trained_parameters(model)) {
  int64_t numbers = 0;
  at::ScalarType type = variables_.front().second.scalar_type();
  const auto place = [&](const at::Tensor& tensor) {
    places_.push_back(numbers);
    numbers += (tensor.numel() + kBlockNumbers - 1) / kBlockNumbers * kBlockNumbers;
    type = at::promote_types(type, tensor.scalar_type());
  };
  for (const auto& [name, parameter] : variables_) place(parameter);
  parameters_ = numbers;
  for (const auto& [name, buffer] : model.moving_buffers()) {
    if (!buffer.is_floating_point()) continue;  // a count of steps
    variables_.emplace_back(name, buffer);
    place(buffer);
  }
  if (all.between() != nullptr) {
    outer_ = at::zeros({numbers}, type);
    momentum_ = at::zeros({parameters_}, type);
  }
  add_pieces(0, parameters_, encoding);
  // A variance that is rounded may become negative.
  add_pieces(parameters_, numbers, Encoding::kWhole);
}

void OuterUpdate::add_pieces(int64_t begin, int64_t end, Encoding encoding) {
  for (; begin < end; begin += kPieceNumbers) {
    Piece& piece = pieces_.emplace_back(Piece{begin, std::min(kPieceNumbers, end - begin)});
    if (!communicates()) continue;
    piece.mean = std::make_unique<HostMean>(*all_.between(), piece.count, outer_.scalar_type(), encoding);
  }
}

void OuterUpdate::begin() {
  steps_ = examples_ = 0;
  own_.reset();
  if (!communicates()) return;
  outer_ = read();
  momentum_.zero_();
  for (const Piece& piece : pieces_) {
    if (piece.mean->lost().defined()) piece.mean->lost().zero_();
  }
}

bool OuterUpdate::add_step(int64_t examples) {
  examples_ += examples;
  return ++steps_ >= *spec_.every;  // above it where a spec was changed within a round
}

int64_t OuterUpdate::round_up(int64_t steps) const {
  const int64_t every = *spec_.every, end = std::max(steps_ + steps, every);
  return std::min((end + every - 1) / every * every - steps_, kMostLater * steps);
}

void OuterUpdate::update() {
  const at::NoGradGuard no_grad;
  InStep in_step(all_.inside(), communicates(), std::ssize(pieces_));
  if (communicates()) {
    const at::Tensor own = read();
    for (const Piece& piece : pieces_) {
      in_step.next();
      update(piece, own.narrow(0, piece.begin, piece.count));
    }
  }
  write(outer_);
  steps_ = examples_ = 0;
}

// Each operation rounds once, as every processor does.
void OuterUpdate::update(const Piece& piece, const at::Tensor& own) {
  at::Tensor outer = outer_.narrow(0, piece.begin, piece.count);
  const at::Tensor change = own.sub_(outer);
  piece.mean->replace(change, static_cast<double>(examples_));
  if (piece.begin < parameters_) {
    at::Tensor momentum = momentum_.narrow(0, piece.begin, piece.count);
    momentum.mul_(spec_.outer.momentum).add_(change);
    if (spec_.outer.kind == "nesterov")
      change.add_(momentum.mul(spec_.outer.momentum));
    else
      change.copy_(momentum);
    change.mul_(spec_.outer.learning_rate);
  }
  outer.add_(change);
}

uint64_t OuterUpdate::digest() const {
  Checksum checksum;
  if (communicates()) {
    for (const at::Tensor& tensor : {outer_, momentum_})
      checksum.add(tensor.const_data_ptr(), tensor.nbytes());
  }
  return static_cast<uint64_t>(shared_number(all_.inside(), static_cast<int64_t>(checksum.number())));
}

void OuterUpdate::show_outer(bool outer) {
  if (!is_under_way() || outer == shows_outer_) return;
  const at::NoGradGuard no_grad;
  shows_outer_ = outer;
  if (outer && communicates()) own_ = read();
  write(outer ? outer_ : own_);
  if (!outer) own_.reset();
}

at::Tensor OuterUpdate::part(const at::Tensor& flat, size_t variable) const {
  const at::Tensor& like = variables_[variable].second;
  return flat.narrow(0, places_[variable], like.numel()).view(like.sizes());
}

at::Tensor OuterUpdate::read() const {
  const at::NoGradGuard no_grad;
  at::Tensor flat = at::zeros_like(outer_);
  for (size_t i = 0; i < variables_.size(); ++i) part(flat, i).copy_(variables_[i].second);
  return flat;
}

void OuterUpdate::write(const at::Tensor& flat) {
  std::vector<at::Tensor> tensors;
  for (size_t i = 0; i < variables_.size(); ++i) {
    tensors.push_back(variables_[i].second.detach());
    if (communicates()) tensors.back().copy_(part(flat, i));
  }
  all_.inside().broadcast(tensors, 0);
}

void OuterUpdate::collect(CollectedVariables& all) const {
  const at::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> of_model(all.model.begin(), all.model.end());
  const Variables own = communicates() ? differing(all.training, of_model) : Variables();
  InStep in_step(all_.inside(), communicates(), std::ssize(own));
  if (communicates()) {
    Variables saved = {{kRoundSteps, number(steps_)}};
    for (const auto& each : all.training) {
      if (each.first == kOptimizerSteps) saved.push_back(each);
    }
    for (const auto& [name, tensor] : own) {
      in_step.next();
      saved.emplace_back(kHosts + name, rows_on_first(*all_.between(), tensor));
    }
    for (size_t i = 0; i < places_.size() && places_[i] < parameters_; ++i)
      saved.emplace_back(kOuterMomentum + variables_[i].first, part(momentum_, i).clone());
    all.training = std::move(saved);
  }
  if (!is_under_way()) return;
  std::vector<at::Tensor> outer;
  for (size_t i = 0; i < variables_.size(); ++i) {
    outer.push_back(of_model.at(variables_[i].first));
    if (communicates()) outer.back().copy_(part(outer_, i));
  }
  all_.inside().broadcast(outer, 0);
}

// What hosts have each of their own. `of_model`: the variables of this host.
Variables OuterUpdate::differing(const Variables& training,
                                 const std::map<std::string, at::Tensor>& of_model) const {
  Variables all = {{kRoundExamples, number(examples_)}};
  for (const auto& [name, tensor] : training) {
    if (name != kOptimizerSteps) all.emplace_back(name, tensor);
  }
  for (const auto& [name, variable] : variables_) {
    if (is_under_way()) all.emplace_back(kOfHost + name, of_model.at(name).clone());
  }
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const at::Tensor lost = pieces_[i].mean->lost();
    if (lost.defined()) all.emplace_back(kLost + std::to_string(i), lost);
  }
  return all;
}

CollectedVariables OuterUpdate::restore(const CollectedVariables& saved) {
  begin();
  CollectedVariables own;
  if (communicates()) {
    const ProcessGroup& hosts = *all_.between();
    Spreading spreading(*all_.between(), all_.inside());
    own.model = spreading.spread(saved.model, /*has_rows=*/false);
    Variables rows = spreading.spread(saved.training, /*has_rows=*/true);
    require_variables(model_, own.model);
    std::map<std::string, at::Tensor> training;
    for (auto& [name, tensor] : rows)
      training[name.starts_with(kHosts) ? name.substr(kHosts.size()) : name] = tensor;
    const bool same = spreading.rows() == hosts.size(), is_new = hosts.rank() >= spreading.rows();
    take_round(training, own.model, same);
    for (auto& [name, tensor] : training) {
      const bool of_others =
          name.starts_with(kReplicaBuffer) ? !same : name.starts_with(kOfReplicas) && is_new;
      if (!of_others) own.training.emplace_back(name, tensor);
    }
  } else {
    for (int lists = 0; lists < 2; ++lists) InStep(all_.inside(), /*leads=*/false, 0);
  }
  steps_ = shared_number(all_.inside(), steps_);
  return own;
}

// Takes what is of a round out of `training`, and leaves the rest. `model` has the outer weights; it gets
// those of this host.
void OuterUpdate::take_round(std::map<std::string, at::Tensor>& training, const Variables& model,
                             bool same_hosts) {
  const auto take = [&](const std::string& name) {
    const auto found = training.find(name);
    if (found == training.end()) return at::Tensor();
    const at::Tensor tensor = found->second;
    training.erase(found);
    return tensor;
  };
  const at::Tensor steps = take(kRoundSteps), examples = take(kRoundExamples);
  if (same_hosts && steps.defined()) steps_ = steps.item<int64_t>(), examples_ = examples.item<int64_t>();
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const at::Tensor lost = take(kLost + std::to_string(i));
    at::Tensor own = pieces_[i].mean->lost();
    if (same_hosts && lost.defined() && own.defined() && lost.sizes() == own.sizes()) own.copy_(lost);
  }
  const std::map<std::string, at::Tensor> outer(model.begin(), model.end());
  for (size_t i = 0; i < variables_.size(); ++i) {
    const std::string& name = variables_[i].first;
    at::Tensor of_outer = outer.at(name);
    part(outer_, i).copy_(of_outer);
    const at::Tensor momentum = take(kOuterMomentum + name), of_host = take(kOfHost + name);
    if (momentum.defined() && places_[i] < parameters_) part(momentum_, i).copy_(momentum);
    if (is_under_way() && of_host.defined()) of_outer.copy_(of_host);
  }
}

CollectedVariables of_first_host(const CollectedVariables& saved) {
  CollectedVariables first = saved;
  const std::string optimizer = kHosts + "optimizer.";
  for (auto& [name, tensor] : first.training) {
    if (!name.starts_with(optimizer)) continue;
    name = name.substr(kHosts.size());
    tensor = tensor[0];
  }
  return first;
}

}  // namespace dtrain
