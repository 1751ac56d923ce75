// Writes a StableHLO module operation by operation: each returns the value that it defines, with its type.
//
// An operation is written where it is called. C++ leaves open which operand of an operator or which argument
// of a function is evaluated first, so at most one of them may write something: name the others before. Then
// the text does not depend on the compiler. Elements of a list in braces are evaluated in their order.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace dtrain {

using Shape = std::vector<int64_t>;

class TextBuilder;

// A tensor in the text of a module. Its type is checked when the module is compiled, not here.
struct Value {
  std::string name = {};     // "%12"; empty: there is none
  std::string element = {};  // "f32", "f64", "bf16", "i32", "ui8", "ui32", "ui64", "i1"
  Shape shape = {};          // {}: a number
  TextBuilder* builder = nullptr;

  explicit operator bool() const { return !name.empty(); }
  std::string type() const;  // "tensor<32x10xf32>"
  int64_t size(int64_t dimension) const { return shape[static_cast<size_t>(dimension)]; }
  int64_t rank() const { return std::ssize(shape); }
};

// Element by element. One of the two may be a number.
Value operator+(const Value& a, const Value& b);
Value operator-(const Value& a, const Value& b);
Value operator*(const Value& a, const Value& b);
Value operator/(const Value& a, const Value& b);
Value operator+(const Value& a, double b);
Value operator-(const Value& a, double b);
Value operator*(const Value& a, double b);
Value operator/(const Value& a, double b);
Value operator-(double a, const Value& b);
Value operator-(const Value& a);

// Windows that slide over the last two of four dimensions; the padding may be negative, which cuts.
struct Sliding {
  std::array<int64_t, 2> size = {1, 1};
  std::array<int64_t, 2> stride = {1, 1};
  std::array<std::array<int64_t, 2>, 2> padding = {};  // before and after, of rows and columns
};

// A convolution of `left` with the kernel `right`.
struct Convolving {
  Sliding window = {};  // without the size, which is that of the kernel
  std::array<int64_t, 2> left_dilation = {1, 1};
  std::array<int64_t, 2> right_dilation = {1, 1};
  std::string dimensions = "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]";
  int64_t feature_groups = 1;
  int64_t batch_groups = 1;
};

class TextBuilder {
 public:
  explicit TextBuilder(int64_t devices) : devices_(devices) {}

  Value argument(const std::string& element, const Shape& shape);
  // A line of its own for readers.
  void comment(const std::string& text);

  // All elements the same, or row by row.
  Value constant(double number, const std::string& element, const Shape& shape = {});
  Value constants(const std::vector<double>& numbers, const std::string& element, const Shape& shape);
  Value like(const Value& value, double number) { return constant(number, value.element, value.shape); }
  Value iota(const std::string& element, const Shape& shape, int64_t dimension);

  // The operation of StableHLO with this name. Its result has the operands' type; one may be a number.
  Value apply(const std::string& operation, const Value& a);
  Value apply(const std::string& operation, const Value& a, const Value& b);
  Value error_function(const Value& a);
  Value compare(const std::string& direction, const Value& a, const Value& b);  // EQ, NE, LT, LE, GT, GE
  Value select(const Value& which, const Value& yes, const Value& no);
  Value convert(const Value& value, const std::string& element);
  // `value`, which a compiler computes as a whole before what uses it.
  Value computed(const Value& value);
  Value bitcast(const Value& value, const std::string& element, const Shape& shape);

  // Dimension i of `value` becomes dimension dimensions[i] of the result.
  Value broadcast(const Value& value, const std::vector<int64_t>& dimensions, const Shape& shape);
  Value reshape(const Value& value, const Shape& shape);
  Value transpose(const Value& value, const std::vector<int64_t>& permutation);
  Value reverse(const Value& value, const std::vector<int64_t>& dimensions);
  // Puts `fill` before, after and between the elements of the last two of four dimensions.
  Value pad(const Value& value, double fill, const std::array<std::array<int64_t, 2>, 2>& padding,
            const std::array<int64_t, 2>& between = {0, 0});
  // The elements of the last two of four dimensions from `begin` on, `stride` apart, as many as `shape` has.
  Value slice(const Value& value, const std::array<int64_t, 2>& begin, const Shape& shape,
              int64_t stride = 1);
  Value concatenate(const std::vector<Value>& values, int64_t dimension);
  // The elements of the first dimension whose numbers are in `rows` (i32 [n]).
  Value gather(const Value& value, const Value& rows);
  // The element of the first dimension whose number is `index` (i32), without that dimension.
  Value row(const Value& value, const Value& index);
  // `value` with `row` in the place of row(value, index).
  Value with_row(const Value& value, const Value& index, const Value& row);

  Value sum(const Value& value, const std::vector<int64_t>& dimensions);
  Value maximum(const Value& value, const std::vector<int64_t>& dimensions);
  Value minimum(const Value& value, const std::vector<int64_t>& dimensions);

  // From here on products and convolutions of f32 numbers may round their operands as the device is fastest
  // with (TensorFloat-32 on GPUs); before, they are computed in full precision.
  void round_products() { precision_ = "DEFAULT"; }
  // The product, summed over `left`'s dimension `of_left` and `right`'s `of_right`. bf16 gives f32.
  Value product(const Value& left, int64_t of_left, const Value& right, int64_t of_right);
  Value convolution(const Value& left, const Value& right, const Convolving& how, const Shape& shape);
  Value window_sum(const Value& value, const Sliding& window, const Shape& shape);
  Value window_maximum(const Value& value, const Sliding& window, const Shape& shape);
  // Adds each of `gradient` to where the first largest element of its window over `value` is; else zeros.
  Value to_window_maximum(const Value& value, const Value& gradient, const Sliding& window);

  // The sums over all devices, of values of one element type.
  std::vector<Value> all_reduce(const std::vector<Value>& values);
  int64_t devices() const { return devices_; }
  Value device();  // its number: a ui32 number
  // Random ui32 numbers, and only a function of `state`: ui64 [2], a key and the first number of a counter.
  Value random_bits(const Value& state, const Shape& shape);

  // A loop of `count` (i32) passes that changes `state`; returns the last one. `body` writes a pass: it gets
  // its number, from 0, and the state before it, and may use what was defined before. If `count` is a
  // constant, a compiler can run the loop without asking the device after each pass.
  using LoopBody = std::function<std::vector<Value>(const Value& index, const std::vector<Value>& state)>;
  std::vector<Value> loop(const Value& count, const std::vector<Value>& state, const LoopBody& body);

  // The module whose @main has the arguments so far and gives `results`. `aliases` has for each argument the
  // result that takes its memory, or -1.
  std::string module(const std::string& name, const std::vector<Value>& results,
                     const std::vector<int64_t>& aliases) const;

 private:
  Value fresh(const std::string& element, const Shape& shape);
  // A value by the operation that fmt::format makes, whose text ends with the value's type.
  template <class... Parts>
  Value define(const std::string& element, const Shape& shape, fmt::format_string<Parts...> operation,
               Parts&&... parts) {
    Value value = fresh(element, shape);
    body_ += fmt::format("    {} = {}{}\n", value.name,
                         fmt::vformat(operation, fmt::make_format_args(parts...)), value.type());
    return value;
  }
  Value retyped(const char* operation, const Value& value, const std::string& element, const Shape& shape);
  Value literal(const std::string& text, const std::string& element, const Shape& shape);
  std::vector<Value> row_start(const Value& value, const Value& index);
  Value reduce(const char* operation, double start, const Value& value,
               const std::vector<int64_t>& dimensions);
  Value reduce_window(const char* operation, double start, const Value& value, const Sliding& window,
                      const Shape& shape);
  // A function of two numbers, for operations that take one: "({ ... })".
  std::string region(const std::string& operation, const std::string& element, const std::string& result);
  std::pair<Value, Value> matched(const Value& a, const Value& b);

  int64_t devices_;
  const char* precision_ = "HIGHEST";
  int64_t count_ = 0;
  std::vector<Value> arguments_;
  std::string body_;
};

}  // namespace dtrain
