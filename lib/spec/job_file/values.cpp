#include "job_file/values.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "core/addresses.h"
#include "core/patterns.h"
#include "core/text.h"

namespace dtrain {
namespace {

constexpr size_t kMaxTextBytes = 4096;

std::string in_quotes(const std::string& text) { return "'" + printable(text, 60) + "'"; }

// Whether all of the text matches. Making an automaton of a pattern takes far longer than using it.
bool matches(const std::string& text, const std::string& pattern) {
  thread_local std::map<std::string, Pattern> made;
  return made.try_emplace(pattern, pattern).first->second.match(text).has_value();
}

// Reads the whole text as a number. `overflow`: the number is too large, other than text that is none.
template <class T>
std::optional<T> parse_number(const std::string& text, bool& overflow) {
  T value{};
  const char* begin = text.data();
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') ++begin;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  overflow = error == std::errc::result_out_of_range;
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Why a field of a path cannot have this address; empty: it can.
std::string fault_of(const FieldInfo& field, const std::string& address) {
  return field.may_be_address ? fault_of_address(address) : "is an address; this has to be a file or folder";
}

constexpr size_t kMaxExpandedBytes = 64 * 1024;

bool is_variable_name(const std::string& name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) return false;
  return std::ranges::all_of(name, [](unsigned char c) { return c < 0x80 && (std::isalnum(c) || c == '_'); });
}

struct Expansion {
  std::string text;
  std::string problem;    // if not empty, `text` must not be used
  bool expanded = false;  // at least one variable was replaced
};

// Replaces each ${NAME} by the value of the environment variable. The value is not expanded again. "$${"
// becomes a literal "${"; any other dollar sign is kept. An unset variable is a problem, an empty one is not.
Expansion expand_variables(const std::string& text) {
  Expansion result;
  for (size_t at = 0; at < text.size();) {
    if (text.compare(at, 3, "$${") == 0) {
      result.text += "${";
      at += 3;
      continue;
    }
    if (text.compare(at, 2, "${") != 0) {
      result.text += text[at++];
      continue;
    }
    const size_t end = text.find('}', at);
    const std::string name = end == std::string::npos ? "" : text.substr(at + 2, end - at - 2);
    if (!is_variable_name(name)) {
      result.problem =
          fmt::format("'{}' is not of the form ${{NAME}}; write $${{ for a literal ${{",
                      printable(text.substr(at, end == std::string::npos ? end : end - at + 1), 40));
      return result;
    }
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) {
      result.problem = fmt::format("the environment variable {} is not set", printable(name, 60));
      return result;
    }
    result.text += value;
    result.expanded = true;
    if (result.text.size() > kMaxExpandedBytes) {
      result.problem =
          fmt::format("the environment variables in it hold more than {}", human_bytes(kMaxExpandedBytes));
      return result;
    }
    at = end + 1;
  }
  return result;
}

// "; write 5" for the integer 5.0, and similar hints.
std::string integer_hint(const std::string& text) {
  bool overflow = false;
  const auto number = parse_number<double>(text, overflow);
  if (!number || *number != std::floor(*number) || std::abs(*number) > 1e15) return "";
  return fmt::format("; write {}", static_cast<int64_t>(*number));
}

// "; write 1000" for 1,000.
std::string thousands_hint(std::string text) {
  if (!matches(text, "[+-]?[0-9]{1,3}(,[0-9]{3})+")) return "";
  std::erase(text, ',');
  return "; write " + text;
}

// "; write 0.5, with a decimal point" for 0,5.
std::string decimal_hint(std::string text) {
  if (!matches(text, "[+-]?[0-9]+,[0-9]+")) return "";
  text[text.find(',')] = '.';
  return "; write " + text + ", with a decimal point";
}

// "; for instance mein_job" for the name "mein job".
std::string name_hint(const std::string& text, const std::string& pattern) {
  std::string mended;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-';
    if (plain || mended.empty() || mended.back() != '_') mended += plain ? c : '_';
  }
  return matches(mended, pattern) ? "; for instance " + mended : "";
}

std::string boolean_hint(const std::string& text) {
  const std::string word = in_lower_case(text);
  if (contains({"yes", "on", "true", "y", "1"}, word)) return "; write true";
  if (contains({"no", "off", "false", "n", "0"}, word)) return "; write false";
  return "";
}

std::string unknown_choice(const Choices& choices, const std::string& text) {
  // tpu is the closest, and the one kind that has no GPUs.
  const bool means_gpus =
      &choices == &strategy_kinds() && contains({"gpu", "gpus", "cuda"}, in_lower_case(text));
  const std::string hint =
      means_gpus ? "; it says how replicas train together; strategy.devices: cuda puts them on GPUs"
                 : did_you_mean(text, choices.built);
  return fmt::format("unknown {} {}; known: {}{}", choices.noun, in_quotes(text), join(choices.built), hint);
}

}  // namespace

std::string shown(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kScalar) return in_quotes(node.text);
  return node.kind == YamlNode::Kind::kNull   ? "nothing"
         : node.kind == YamlNode::Kind::kList ? "a list"
                                              : "a section";
}

bool is_of_kind(const YamlNode& node, YamlNode::Kind kind, const std::string& expected,
                const std::string& path, const ReportProblem& report) {
  if (node.complaint.empty() && node.kind == kind) return true;
  report(node, path,
         node.complaint.empty() ? fmt::format("expected {}, got {}", expected, shown(node)) : node.complaint);
  return false;
}

std::string split_at_comma(const YamlEntry& entry, const YamlEntry& next) {
  const bool split = entry.value.kind == YamlNode::Kind::kScalar && entry.value.plain &&
                     next.key.kind == YamlNode::Kind::kScalar && next.value.kind == YamlNode::Kind::kNull &&
                     matches(entry.value.text, "[+-]?[0-9]+") && matches(next.key.text, "[0-9]+");
  if (!split) return "";
  const std::string text = entry.value.text + "," + next.key.text;
  return fmt::format("expected a number, got {}{}", in_quotes(text), decimal_hint(text));
}

ValueReader::ValueReader(const FieldInfo& field, const YamlNode& node, std::string path, ReportProblem report)
    : field_(field), node_(node), path_(std::move(path)), report_(std::move(report)) {}

// " or auto", ", imagenet or measured"; empty if there are no words.
std::string ValueReader::or_word() const {
  std::vector<std::string> words = field_.words();
  if (words.empty()) return "";
  const std::string last = words.back();
  words.pop_back();
  return (words.empty() ? "" : ", " + join(words)) + " or " + last;
}

// A scalar's text with variables replaced.
struct ValueReader::Scalar {
  std::string text;
  bool plain;  // it may be something other than text
};

std::optional<ValueReader::Scalar> ValueReader::scalar(const std::string& expected) const {
  if (!require(YamlNode::Kind::kScalar, expected)) return std::nullopt;
  Expansion expansion = expand_variables(node_.text);
  if (!expansion.problem.empty()) {
    problem(expansion.problem);
    return std::nullopt;
  }
  // "${N}" has to be quoted inside braces, but may still be meant as a number.
  return Scalar{std::move(expansion.text), node_.plain || expansion.expanded};
}

bool ValueReader::is_list(const std::string& expected) const {
  if (!require(YamlNode::Kind::kList, expected)) return false;
  const auto& [least, most] = field_.length;
  const size_t size = node_.items.size();
  if (size >= least && size <= most) return true;
  problem("must have {} entries, has {}",
          least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most), size);
  return false;
}

// Reads the value of an entry of the map.
ValueReader ValueReader::entry(const YamlEntry& of_map) const {
  return {field_, of_map.value, path_in(path_, printable(of_map.key.text, 60)), report_};
}

void ValueReader::read(bool& value) const {
  const auto given = scalar("true or false");
  if (!given) return;
  const std::string& text = given->text;
  if (given->plain && (text == "true" || text == "false")) {
    value = text == "true";
  } else {
    problem("expected true or false, got {}{}", in_quotes(text), boolean_hint(text));
  }
}

template <class T>
void ValueReader::read_number(T& value) const {
  constexpr bool kWhole = std::is_same_v<T, int64_t>;
  const std::string expected = (kWhole ? "an integer" : "a number") + or_word();
  const auto given = scalar(expected);
  if (!given) return;
  const std::string& text = given->text;
  bool overflow = false;
  const auto number = parse_number<T>(text, overflow);
  const bool infinite = !kWhole && (overflow || (number && !std::isfinite(static_cast<double>(*number))) ||
                                    text == ".inf" || text == "-.inf" || text == ".nan");
  if (number && !given->plain) {
    problem("expected {}, got the quoted text {}; remove the quotes", expected, in_quotes(text));
  } else if (infinite) {
    problem("expected a finite number, got {}", in_quotes(text));
  } else if (overflow) {
    problem("expected {}, got {}, which is too large", expected, in_quotes(text));
  } else if (!number) {
    std::string hint = kWhole ? integer_hint(text) + thousands_hint(text) : decimal_hint(text);
    if (hint.empty()) hint = did_you_mean(text, field_.words());
    problem("expected {}, got {}{}", expected, in_quotes(text), hint);
  } else if (!field_.bounds.contain(static_cast<double>(*number))) {
    problem("must be {}, got {}", bounds_text(field_.bounds), printable(text, 60));
  } else {
    value = *number;
  }
}
template void ValueReader::read_number(int64_t&) const;
template void ValueReader::read_number(double&) const;

void ValueReader::read(std::string& value) const {
  const auto given =
      scalar((field_.choices ? "one of " + join(field_.choices->built) : std::string("text")) + or_word());
  if (!given) return;
  const std::string& text = given->text;
  size_t at = 0;
  if (field_.choices) {
    if (contains(field_.choices->built, text)) {
      value = text;
    } else {
      problem(unknown_choice(*field_.choices, text));
    }
  } else if (text.empty()) {
    problem("must not be empty");
  } else if (text.size() > kMaxTextBytes) {
    problem("is longer than {} bytes", kMaxTextBytes);
  } else if (!is_clean_text(text, at) || text.find_first_of("\t\r\n") != std::string::npos) {
    problem("{} has characters that are not text", in_quotes(text));
  } else if (!field_.pattern.empty() && !matches(text, field_.pattern)) {
    problem("must be {}, got {}{}", field_.made_of, in_quotes(text), name_hint(text, field_.pattern));
  } else if (field_.file_system && text[0] == '~') {
    problem("'~' is not expanded in {}; write ${{HOME}}", in_quotes(text));
  } else if (field_.file_system && is_address(text) && !fault_of(field_, text).empty()) {
    problem(fault_of(field_, text));
  } else {
    value = text;
  }
}

template <class T>
void ValueReader::read_optional(std::optional<T>& value) const {
  if (!field_.word.empty() && node_.complaint.empty() && expand_variables(node_.text).text == field_.word) {
    value = std::nullopt;
    if constexpr (std::is_same_v<T, int64_t>) value = field_.word_number;
    return;
  }
  T given{};
  bool ok = true;
  const auto report = [&](const YamlNode& node, const std::string& path, const std::string& text) {
    ok = false;
    report_(node, path, text);
  };
  ValueReader(field_, node_, path_, report).read(given);
  if (ok) value = given;
}

template void ValueReader::read_optional(std::optional<int64_t>&) const;
template void ValueReader::read_optional(std::optional<double>&) const;
template void ValueReader::read_optional(std::optional<std::string>&) const;

template <class T>
void ValueReader::read_list(std::vector<T>& value, const std::string& expected) const {
  if (!is_list(expected)) return;
  std::vector<T> items;
  for (const YamlNode& item : node_.items) {
    items.emplace_back();
    ValueReader(field_, item, fmt::format("{}[{}]", path_, items.size() - 1), report_).read(items.back());
  }
  value = std::move(items);
}

void ValueReader::read(std::vector<int64_t>& value) const {
  read_list(value, "a list of integers such as [256, 128]");
}

void ValueReader::read(std::vector<double>& value) const {
  if (field_.one_or_more && is(YamlNode::Kind::kScalar)) {
    std::optional<double> number;
    read_optional(number);
    if (number) value = {*number};
    return;
  }
  read_list(value, "a list of numbers such as [0.01, 0.001]");
}

void ValueReader::read(ChannelNumbers& numbers) const {
  if (is(YamlNode::Kind::kScalar)) {
    const auto named = field_.named.find(expand_variables(node_.text).text);
    if (named != field_.named.end()) {
      numbers = named->second;
      return;
    }
  }
  std::vector<double> values;
  read(values);
  if (!values.empty()) numbers = {.values = values};
}

void ValueReader::read(std::vector<std::string>& texts) const {
  if (field_.choices) return read_devices(texts);
  if (field_.one_or_more && node_.kind == YamlNode::Kind::kScalar) {
    std::string text;
    ValueReader(field_, node_, path_, report_).read(text);
    if (!text.empty()) texts = {text};
    return;
  }
  read_list(texts, "a list of names such as [a, b]");
}

void ValueReader::read(std::map<std::string, std::string>& words) const {
  if (!require(YamlNode::Kind::kMap, fmt::format("one of {} by name, such as {{a: {}}}",
                                                 join(field_.choices->built), field_.choices->built.front())))
    return;
  if (node_.entries.size() > field_.length.most)
    return problem("must have at most {} entries, has {}", field_.length.most, node_.entries.size());
  std::map<std::string, std::string> given;
  for (const YamlEntry& one : node_.entries) {
    if (!one.key.complaint.empty()) return problem(one.key.complaint);
    const ValueReader item = entry(one);
    if (given.contains(one.key.text)) return item.problem("is written twice");
    item.read(given[one.key.text]);
  }
  words = given;
}

void ValueReader::read(ClassWeights& weights) const {
  const char* const kExpected =
      "balanced, a list of numbers such as [1, 5], or a number by name such as {cat: 5}";
  if (is(YamlNode::Kind::kScalar)) {
    const auto given = scalar(kExpected);
    if (!given) return;
    if (given->text == "balanced") {
      weights = {.balanced = true};
    } else {
      problem("expected {}, got {}{}", kExpected, in_quotes(given->text),
              did_you_mean(given->text, {"balanced"}));
    }
    return;
  }
  ClassWeights given;
  if (is(YamlNode::Kind::kMap)) {
    for (size_t i = 0; i < node_.entries.size(); ++i) {
      const YamlEntry& one = node_.entries[i];
      if (!one.key.complaint.empty()) return problem(one.key.complaint);
      const std::string split = i + 1 < node_.entries.size() ? split_at_comma(one, node_.entries[i + 1]) : "";
      if (!split.empty()) return problem(split);
      const ValueReader item = entry(one);
      if (contains(given.names, one.key.text)) return item.problem("is written twice");
      given.names.push_back(one.key.text);
      item.read(given.weights.emplace_back(1));
    }
  } else {
    read_list(given.weights, kExpected);
  }
  weights = given;
}

void ValueReader::read(TrainableSpec& trainable) const {
  const char* const kExpected =
      "all, head, a list of layers such as [conv2d_4, dense*], or {last_layers: 10}";
  TrainableSpec given;
  if (is(YamlNode::Kind::kMap)) {
    if (node_.entries.size() != 1 || node_.entries.front().key.text != "last_layers")
      return problem("expected {}", kExpected);
    int64_t count = 0;
    entry(node_.entries.front()).read(count);
    if (count > 0) trainable = {.last_layers = count};
    return;
  }
  if (is(YamlNode::Kind::kScalar)) {
    given.layers = {""};
    read(given.layers.front());
  } else {
    given.layers.clear();
    read_list(given.layers, kExpected);
  }
  if (!given.layers.empty() && !given.layers.front().empty()) trainable = given;
}

void ValueReader::read_devices(std::vector<std::string>& devices) const {
  const bool is_word = node_.kind == YamlNode::Kind::kScalar;
  if (!is_word && !is_list("auto, cpu, cuda, or a list of devices such as [\"cuda:0\", \"cuda:1\"]")) return;
  std::vector<std::string> names;
  for (size_t index = 0; index < (is_word ? 1 : node_.items.size()); ++index) {
    const ValueReader item(field_, is_word ? node_ : node_.items[index],
                           is_word ? path_ : fmt::format("{}[{}]", path_, index), report_);
    const auto given = item.scalar("a device");
    if (!given) continue;
    const std::string& text = given->text;
    const bool is_device = matches(text, field_.pattern);
    if (!is_word && !is_device && contains(field_.choices->built, text)) {
      item.problem("a list names each replica's device; write devices: {}, or cpu or cuda:0 here", text);
    } else if (text.rfind("gpu", 0) == 0) {
      item.problem("unknown device {}; GPUs are called cuda, or cuda:0, cuda:1, ...", in_quotes(text));
    } else if (!is_device && !contains(field_.choices->built, text)) {
      item.problem(unknown_choice(*field_.choices, text));
    }
    names.push_back(text);
  }
  devices = std::move(names);
}

}  // namespace dtrain
