#include "mlir/builder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/named.h"
#include "core/range.h"
#include "core/text.h"

namespace dtrain {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class Numbers>
std::string list(const Numbers& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

std::string list(const std::array<std::array<int64_t, 2>, 2>& sides) {
  return fmt::format("[{}, {}]", list(sides[0]), list(sides[1]));
}

// With digits that lead back to the very number. MLIR wants a point in fractions, and bits for infinities.
std::string number_text(double number, const std::string& element) {
  if (element[0] != 'f' && element != "bf16") return fmt::format("{}", static_cast<int64_t>(number));
  const bool is_single = element != "f64";
  if (!std::isfinite(number)) {
    const auto bits = std::bit_cast<uint32_t>(static_cast<float>(number));
    if (element == "bf16") return fmt::format("0x{:04X}", bits >> 16);  // the upper half of the bits
    return is_single ? fmt::format("0x{:08X}", bits)
                     : fmt::format("0x{:016X}", std::bit_cast<uint64_t>(number));
  }
  std::string text = is_single ? fmt::format("{}", static_cast<float>(number)) : fmt::format("{}", number);
  if (text.find('.') == std::string::npos) text.insert(std::min(text.find('e'), text.size()), ".0");
  return text;
}

// Products of 16 bits are added up in 32.
std::string element_of_sums(const Value& factor) { return factor.element == "bf16" ? "f32" : factor.element; }

std::string types_of(const std::vector<Value>& values) {
  std::vector<std::string> types;
  for (const Value& value : values) types.push_back(value.type());
  return join(types);
}

std::string names_of(const std::vector<Value>& values) { return join(names_of_rows(values)); }

// The properties of a window over four dimensions.
std::string window_text(const Sliding& window) {
  return fmt::format(
      "padding = dense<[[0, 0], [0, 0], {}, {}]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 1, "
      "{}>, window_strides = array<i64: 1, 1, {}>",
      list(window.padding[0]), list(window.padding[1]), fmt::join(window.size, ", "),
      fmt::join(window.stride, ", "));
}

}  // namespace

std::string Value::type() const {
  std::string sizes;
  for (const int64_t each : shape) sizes += fmt::format("{}x", each);
  return fmt::format("tensor<{}{}>", sizes, element);
}

Value operator+(const Value& a, const Value& b) { return a.builder->apply("add", a, b); }
Value operator-(const Value& a, const Value& b) { return a.builder->apply("subtract", a, b); }
Value operator*(const Value& a, const Value& b) { return a.builder->apply("multiply", a, b); }
Value operator/(const Value& a, const Value& b) { return a.builder->apply("divide", a, b); }
Value operator+(const Value& a, double b) { return a + a.builder->like(a, b); }
Value operator-(const Value& a, double b) { return a - a.builder->like(a, b); }
Value operator*(const Value& a, double b) { return a * a.builder->like(a, b); }
Value operator/(const Value& a, double b) { return a / a.builder->like(a, b); }
Value operator-(double a, const Value& b) { return b.builder->like(b, a) - b; }
Value operator-(const Value& a) { return a.builder->apply("negate", a); }

Value TextBuilder::argument(const std::string& element, const Shape& shape) {
  arguments_.push_back({fmt::format("%arg{}", arguments_.size()), element, shape, this});
  return arguments_.back();
}

void TextBuilder::comment(const std::string& text) { body_ += "    // " + text + "\n"; }

Value TextBuilder::fresh(const std::string& element, const Shape& shape) {
  return {fmt::format("%{}", count_++), element, shape, this};
}

Value TextBuilder::literal(const std::string& text, const std::string& element, const Shape& shape) {
  return define(element, shape, "stablehlo.constant dense<{}> : ", text);
}

Value TextBuilder::constant(double number, const std::string& element, const Shape& shape) {
  return literal(number_text(number, element), element, shape);
}

Value TextBuilder::constants(const std::vector<double>& numbers, const std::string& element,
                             const Shape& shape) {
  // Nested as the shape is: [[1.0, 2.0], [3.0, 4.0]].
  std::string text;
  for (size_t i = 0; i < numbers.size(); ++i) {
    int64_t block = 1;
    std::string open, close;
    for (auto size = shape.rbegin(); size != shape.rend(); ++size) {
      block *= *size;
      if (static_cast<int64_t>(i) % block == 0) open += '[';
      if ((static_cast<int64_t>(i) + 1) % block == 0) close += ']';
    }
    text += (i == 0 ? "" : ", ") + open + number_text(numbers[i], element) + close;
  }
  return literal(text, element, shape);
}

Value TextBuilder::iota(const std::string& element, const Shape& shape, int64_t dimension) {
  return define(element, shape, "stablehlo.iota dim = {} : ", dimension);
}

Value TextBuilder::apply(const std::string& operation, const Value& a) {
  return define(a.element, a.shape, "stablehlo.{} {} : ", operation, a.name);
}

std::pair<Value, Value> TextBuilder::matched(const Value& a, const Value& b) {
  if (a.shape == b.shape) return {a, b};
  if (a.shape.empty()) return {broadcast(a, {}, b.shape), b};
  return {a, broadcast(b, {}, a.shape)};
}

Value TextBuilder::apply(const std::string& operation, const Value& a, const Value& b) {
  const auto [left, right] = matched(a, b);
  return define(left.element, left.shape, "stablehlo.{} {}, {} : ", operation, left.name, right.name);
}

// An operation of CHLO, a dialect of every compiler of StableHLO: devices have one of their own for it.
Value TextBuilder::error_function(const Value& a) {
  return define(a.element, a.shape, "chlo.erf {} : {} -> ", a.name, a.type());
}

Value TextBuilder::compare(const std::string& direction, const Value& a, const Value& b) {
  const auto [left, right] = matched(a, b);
  const char* kind = left.element[0] == 'i' ? "SIGNED" : left.element[0] == 'u' ? "UNSIGNED" : "FLOAT";
  return define("i1", left.shape, "stablehlo.compare {}, {}, {}, {} : ({}, {}) -> ", direction, left.name,
                right.name, kind, left.type(), right.type());
}

Value TextBuilder::select(const Value& which, const Value& yes, const Value& no) {
  const auto [first, second] = matched(yes, no);
  return define(first.element, first.shape, "stablehlo.select {}, {}, {} : {}, ", which.name, first.name,
                second.name, which.type());
}

// The same numbers, or bits, as another type.
Value TextBuilder::retyped(const char* operation, const Value& value, const std::string& element,
                           const Shape& shape) {
  return define(element, shape, "stablehlo.{} {} : ({}) -> ", operation, value.name, value.type());
}

Value TextBuilder::convert(const Value& value, const std::string& element) {
  return value.element == element ? value : retyped("convert", value, element, value.shape);
}

Value TextBuilder::computed(const Value& value) {
  return define(value.element, value.shape, "stablehlo.optimization_barrier {} : ", value.name);
}

Value TextBuilder::bitcast(const Value& value, const std::string& element, const Shape& shape) {
  return retyped("bitcast_convert", value, element, shape);
}

Value TextBuilder::broadcast(const Value& value, const std::vector<int64_t>& dimensions, const Shape& shape) {
  return define(value.element, shape, "stablehlo.broadcast_in_dim {}, dims = {} : ({}) -> ", value.name,
                list(dimensions), value.type());
}

Value TextBuilder::reshape(const Value& value, const Shape& shape) {
  return value.shape == shape ? value : retyped("reshape", value, value.element, shape);
}

Value TextBuilder::transpose(const Value& value, const std::vector<int64_t>& permutation) {
  Shape shape;
  for (const int64_t from : permutation) shape.push_back(value.size(from));
  return define(value.element, shape, "stablehlo.transpose {}, dims = {} : ({}) -> ", value.name,
                list(permutation), value.type());
}

Value TextBuilder::reverse(const Value& value, const std::vector<int64_t>& dimensions) {
  return define(value.element, value.shape, "stablehlo.reverse {}, dims = {} : ", value.name,
                list(dimensions));
}

Value TextBuilder::pad(const Value& value, double fill, const std::array<std::array<int64_t, 2>, 2>& padding,
                       const std::array<int64_t, 2>& between) {
  const Value filler = constant(fill, value.element);
  Shape shape = value.shape;
  for (size_t i = 0; i < 2; ++i)
    shape[i + 2] += padding[i][0] + padding[i][1] + (value.shape[i + 2] - 1) * between[i];
  return define(value.element, shape,
                "stablehlo.pad {}, {}, low = [0, 0, {}, {}], high = [0, 0, {}, {}], interior = [0, 0, {}] : "
                "({}, {}) -> ",
                value.name, filler.name, padding[0][0], padding[1][0], padding[0][1], padding[1][1],
                fmt::join(between, ", "), value.type(), filler.type());
}

Value TextBuilder::slice(const Value& value, const std::array<int64_t, 2>& begin, const Shape& shape,
                         int64_t stride) {
  std::string ranges;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t end = begin[i] + (shape[i + 2] - 1) * stride + 1;
    ranges += fmt::format(", {}:{}{}", begin[i], end, stride == 1 ? "" : fmt::format(":{}", stride));
  }
  return define(value.element, shape, "stablehlo.slice {} [0:{}, 0:{}{}] : ({}) -> ", value.name, shape[0],
                shape[1], ranges, value.type());
}

Value TextBuilder::concatenate(const std::vector<Value>& values, int64_t dimension) {
  Shape shape = values.front().shape;
  int64_t& size = shape[static_cast<size_t>(dimension)];
  size = 0;
  for (const Value& value : values) size += value.size(dimension);
  return define(values.front().element, shape, "stablehlo.concatenate {}, dim = {} : ({}) -> ",
                names_of(values), dimension, types_of(values));
}

Value TextBuilder::gather(const Value& value, const Value& rows) {
  Shape shape = value.shape;
  shape.front() = 1;
  const std::string one_row = fmt::format("{}", fmt::join(shape, ", "));
  shape.front() = rows.size(0);
  return define(value.element, shape,
                "\"stablehlo.gather\"({}, {}) {{dimension_numbers = #stablehlo.gather<offset_dims = {}, "
                "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = "
                "array<i64: {}>, indices_are_sorted = false}} : ({}, {}) -> ",
                value.name, rows.name, list(consecutive<int64_t>(1, value.rank())), one_row, value.type(),
                rows.type());
}

// Where a row begins, in each dimension.
std::vector<Value> TextBuilder::row_start(const Value& value, const Value& index) {
  std::vector<Value> start(static_cast<size_t>(value.rank()), constant(0, index.element));
  start.front() = index;
  return start;
}

Value TextBuilder::row(const Value& value, const Value& index) {
  Shape one = value.shape;
  one.front() = 1;
  const std::vector<Value> start = row_start(value, index);
  const Value found = define(value.element, one, "stablehlo.dynamic_slice {}, {}, sizes = {} : ({}, {}) -> ",
                             value.name, names_of(start), list(one), value.type(), types_of(start));
  return reshape(found, {value.shape.begin() + 1, value.shape.end()});
}

Value TextBuilder::with_row(const Value& value, const Value& index, const Value& row) {
  Shape shape = {1};
  shape.insert(shape.end(), row.shape.begin(), row.shape.end());
  const Value one = reshape(row, shape);
  const std::vector<Value> start = row_start(value, index);
  return define(value.element, value.shape, "stablehlo.dynamic_update_slice {}, {}, {} : ({}, {}, {}) -> ",
                value.name, one.name, names_of(start), value.type(), one.type(), types_of(start));
}

Value TextBuilder::reduce(const char* operation, double start, const Value& value,
                          const std::vector<int64_t>& dimensions) {
  const Value first = constant(start, value.element);
  Shape shape;
  for (int64_t i = 0; i < value.rank(); ++i) {
    if (std::ranges::find(dimensions, i) == dimensions.end()) shape.push_back(value.size(i));
  }
  return define(value.element, shape,
                "stablehlo.reduce({} init: {}) applies stablehlo.{} across dimensions = {} : ({}, {}) -> ",
                value.name, first.name, operation, list(dimensions), value.type(), first.type());
}

Value TextBuilder::sum(const Value& value, const std::vector<int64_t>& dimensions) {
  return reduce("add", 0, value, dimensions);
}

Value TextBuilder::maximum(const Value& value, const std::vector<int64_t>& dimensions) {
  return reduce("maximum", -kInfinity, value, dimensions);
}

Value TextBuilder::minimum(const Value& value, const std::vector<int64_t>& dimensions) {
  const bool is_whole = value.element == "i32";
  return reduce("minimum", is_whole ? std::numeric_limits<int32_t>::max() : kInfinity, value, dimensions);
}

Value TextBuilder::product(const Value& left, int64_t of_left, const Value& right, int64_t of_right) {
  Shape shape = left.shape;
  shape.erase(shape.begin() + of_left);
  for (int64_t i = 0; i < right.rank(); ++i) {
    if (i != of_right) shape.push_back(right.size(i));
  }
  return define(
      element_of_sums(left), shape,
      "stablehlo.dot_general {}, {}, contracting_dims = [{}] x [{}], precision = [{}, {}] : ({}, {}) -> ",
      left.name, right.name, of_left, of_right, precision_, precision_, left.type(), right.type());
}

Value TextBuilder::convolution(const Value& left, const Value& right, const Convolving& how,
                               const Shape& shape) {
  return define(
      element_of_sums(left), shape,
      "stablehlo.convolution({}, {}) dim_numbers = {}, window = {{stride = {}, pad = {}, lhs_dilate = {}, "
      "rhs_dilate = {}}} {{batch_group_count = {} : i64, feature_group_count = {} : i64, precision_config = "
      "[#stablehlo<precision {}>, #stablehlo<precision {}>]}} : ({}, {}) -> ",
      left.name, right.name, how.dimensions, list(how.window.stride), list(how.window.padding),
      list(how.left_dilation), list(how.right_dilation), how.batch_groups, how.feature_groups, precision_,
      precision_, left.type(), right.type());
}

std::string TextBuilder::region(const std::string& operation, const std::string& element,
                                const std::string& result) {
  const Value a = fresh(element, {}), b = fresh(element, {}), made = fresh(result, {});
  const std::string types =
      operation.starts_with("compare") ? fmt::format("({0}, {0}) -> {1}", a.type(), made.type()) : a.type();
  return fmt::format(
      "{{\n      ^bb0({0}: {2}, {1}: {2}):\n        {3} = stablehlo.{4} {0}, {1}{5} : {6}\n        "
      "stablehlo.return {3} : {7}\n    }}",
      a.name, b.name, a.type(), made.name, operation, operation.starts_with("compare") ? ", FLOAT" : "",
      types, made.type());
}

Value TextBuilder::reduce_window(const char* operation, double start, const Value& value,
                                 const Sliding& window, const Shape& shape) {
  const Value first = constant(start, value.element);
  const std::string function = region(operation, value.element, value.element);
  return define(value.element, shape, "\"stablehlo.reduce_window\"({}, {}) <{{{}}}> ({}) : ({}, {}) -> ",
                value.name, first.name, window_text(window), function, value.type(), first.type());
}

Value TextBuilder::window_sum(const Value& value, const Sliding& window, const Shape& shape) {
  return reduce_window("add", 0, value, window, shape);
}

Value TextBuilder::window_maximum(const Value& value, const Sliding& window, const Shape& shape) {
  return reduce_window("maximum", -kInfinity, value, window, shape);
}

Value TextBuilder::to_window_maximum(const Value& value, const Value& gradient, const Sliding& window) {
  const Value zero = constant(0, value.element);
  // Of two elements the first stays chosen unless the second is larger.
  const std::string choose = region("compare GE,", value.element, "i1");
  const std::string add = region("add", value.element, value.element);
  return define(value.element, value.shape,
                "\"stablehlo.select_and_scatter\"({}, {}, {}) <{{{}}}> ({}, {}) : ({}, {}, {}) -> ",
                value.name, gradient.name, zero.name, window_text(window), choose, add, value.type(),
                gradient.type(), zero.type());
}

std::vector<Value> TextBuilder::all_reduce(const std::vector<Value>& values) {
  if (devices_ == 1 || values.empty()) return values;
  const std::string add = region("add", values.front().element, values.front().element);
  const Value all = fresh("", {});
  body_ += fmt::format(
      "    {}:{} = \"stablehlo.all_reduce\"({}) <{{replica_groups = dense<[{}]> : tensor<1x{}xi64>}}> ({}) : "
      "({}) -> ({})\n",
      all.name, values.size(), names_of(values), list(consecutive<int64_t>(0, devices_)), devices_, add,
      types_of(values), types_of(values));
  std::vector<Value> sums = values;
  for (size_t i = 0; i < sums.size(); ++i) sums[i].name = fmt::format("{}#{}", all.name, i);
  return sums;
}

Value TextBuilder::device() { return define("ui32", {}, "stablehlo.replica_id : "); }

Value TextBuilder::random_bits(const Value& state, const Shape& shape) {
  const Value next = fresh(state.element, state.shape), bits = fresh("ui32", shape);
  body_ +=
      fmt::format("    {}, {} = stablehlo.rng_bit_generator {}, algorithm = THREE_FRY : ({}) -> ({}, {})\n",
                  next.name, bits.name, state.name, state.type(), next.type(), bits.type());
  return bits;
}

std::vector<Value> TextBuilder::loop(const Value& count, const std::vector<Value>& state,
                                     const LoopBody& body) {
  std::vector<Value> carried = {constant(0, count.element)};
  carried.insert(carried.end(), state.begin(), state.end());
  const auto block = [&](std::vector<Value>& arguments) {
    std::string text;
    for (const Value& each : carried) {
      arguments.push_back(fresh(each.element, each.shape));
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", arguments.back().name, each.type());
    }
    return fmt::format("      ^bb0({}):\n", text);
  };
  const auto give = [&](const std::vector<Value>& values) {
    body_ += fmt::format("    stablehlo.return {} : {}\n", names_of(values), types_of(values));
  };
  const Value all = fresh("", {});
  body_ +=
      fmt::format("    {}:{} = \"stablehlo.while\"({}) ({{\n", all.name, carried.size(), names_of(carried));
  std::vector<Value> before;
  body_ += block(before);
  give({compare("LT", before.front(), count)});
  body_ += "    }, {\n";
  std::vector<Value> during;
  body_ += block(during);
  const Value index = during.front();
  std::vector<Value> after = body(index, {during.begin() + 1, during.end()});
  const Value one = constant(1, index.element);
  after.insert(after.begin(), index + one);
  give(after);
  body_ += fmt::format("    }}) : ({}) -> ({})\n", types_of(carried), types_of(carried));
  std::vector<Value> results = state;
  for (size_t i = 0; i < results.size(); ++i) results[i].name = fmt::format("{}#{}", all.name, i + 1);
  return results;
}

std::string TextBuilder::module(const std::string& name, const std::vector<Value>& results,
                                const std::vector<int64_t>& aliases) const {
  std::string text = fmt::format(
      "module @{} attributes {{mhlo.num_partitions = 1 : i32, mhlo.num_replicas = {} : i32}} {{\n", name,
      devices_);
  text += "  func.func public @main(";
  for (size_t i = 0; i < arguments_.size(); ++i) {
    text += fmt::format("{}{}: {}", i == 0 ? "" : ", ", arguments_[i].name, arguments_[i].type());
    if (i < aliases.size() && aliases[i] >= 0)
      text += fmt::format(" {{tf.aliasing_output = {} : i32}}", aliases[i]);
  }
  text += fmt::format(") -> ({}) {{\n{}    return {} : {}\n  }}\n}}\n", types_of(results), body_,
                      names_of(results), types_of(results));
  return text;
}

}  // namespace dtrain
