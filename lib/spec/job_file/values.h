// Reads one written value into one member of a spec: checks its type, words, bounds and choices.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <string>

#include "spec/fields.h"
#include "yaml/yaml_tree.h"

namespace dtrain {

// Called with the node of the problem, the path of the value (or of the list's entry), and what is wrong.
using ReportProblem = std::function<void(const YamlNode&, const std::string& path, const std::string& text)>;

// What was written, for messages: "'five'", "a list", "a section", "nothing".
std::string shown(const YamlNode& node);

// Whether a node is of this kind and has no complaint; otherwise reports it. `expected`: "a list of numbers".
bool is_of_kind(const YamlNode& node, YamlNode::Kind kind, const std::string& expected,
                const std::string& path, const ReportProblem& report);

// Reads `node` as `field` describes into a member. The type of the member selects the overload. If there is a
// problem, the member keeps its old value.
class ValueReader {
 public:
  ValueReader(const FieldInfo& field, const YamlNode& node, std::string path, ReportProblem report);

  void read(bool& value) const;
  void read(int64_t& value) const { read_number(value); }
  void read(double& value) const { read_number(value); }
  void read(std::string& value) const;
  void read(std::optional<int64_t>& value) const { read_optional(value); }
  void read(std::optional<double>& value) const { read_optional(value); }
  void read(std::optional<std::string>& value) const { read_optional(value); }
  void read(std::vector<int64_t>& value) const;
  void read(std::vector<double>& value) const;
  void read(std::vector<std::string>& texts) const;
  void read(std::map<std::string, std::string>& words) const;
  void read(ChannelNumbers& numbers) const;
  void read(ClassWeights& weights) const;
  void read(TrainableSpec& trainable) const;
  // Whether it is a list with as many entries as the field may have; otherwise reports it.
  bool is_list(const std::string& expected) const;

 private:
  struct Scalar;

  bool is(YamlNode::Kind kind) const { return node_.complaint.empty() && node_.kind == kind; }
  bool require(YamlNode::Kind kind, const std::string& expected) const {
    return is_of_kind(node_, kind, expected, path_, report_);
  }
  std::optional<Scalar> scalar(const std::string& expected) const;
  void read_devices(std::vector<std::string>& devices) const;
  std::string or_word() const;
  void problem(const std::string& text) const { report_(node_, path_, text); }
  template <class... Values>
  requires(sizeof...(Values) > 0) void problem(fmt::format_string<Values...> format,
                                               Values&&... values) const {
    problem(fmt::vformat(format, fmt::make_format_args(values...)));
  }
  ValueReader entry(const YamlEntry& of_map) const;
  template <class T>
  void read_number(T& value) const;
  template <class T>
  void read_list(std::vector<T>& value, const std::string& expected) const;
  template <class T>
  void read_optional(std::optional<T>& value) const;

  const FieldInfo& field_;
  const YamlNode& node_;
  std::string path_;
  ReportProblem report_;
};

// What is wrong if a decimal comma has made two entries of a map from one number: `{rate: 0,5}` is the number
// 0 and a field `5` without a value. Empty if these two entries are no such number.
std::string split_at_comma(const YamlEntry& entry, const YamlEntry& next);

}  // namespace dtrain
