#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "safetensors/safetensors.h"

namespace dtrain {
namespace {

using Json = nlohmann::json;

// Checks the depth and the keys of a text and stores nothing else. The parser's callback is no alternative:
// with a callback, the parser searches an object again after each of its members.
class StrictSax : public nlohmann::json_sax<Json> {
 public:
  StrictSax(int depth, const std::string& what) : depth_(depth), what_(what) {}

  bool start_object(size_t /*members*/) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(size_t /*elements*/) override { return open(); }
  bool end_array() override { return close(); }
  bool key(string_t& key) override {
    if (open_.back().insert(key).second) return true;
    throw Error(ExitCode::kCheckpoint, "{} has '{}' twice", what_, printable(key, 60));
  }
  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool parse_error(size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    throw Error(ExitCode::kCheckpoint, what_ + " is not JSON");
  }

 private:
  bool open() {
    if (static_cast<int>(open_.size()) >= depth_)
      throw Error(ExitCode::kCheckpoint, "{} nests deeper than {} levels", what_, depth_);
    open_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  int depth_;
  const std::string& what_;
  std::vector<std::set<std::string>> open_;  // the keys of each open object
};

}  // namespace

// Not ordered_json, which searches all keys for each new one.
Json parse_strict_json(const std::string& text, int depth, const std::string& what) {
  StrictSax strict(depth, what);
  Json::sax_parse(text, &strict);
  return Json::parse(text);
}

}  // namespace dtrain
