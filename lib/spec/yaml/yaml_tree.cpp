#include "yaml/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <streambuf>

#include "core/text.h"

namespace dtrain {
namespace {

// Before yaml-cpp reports anything, it reads a whole flow collection into a queue of tokens, which in the
// worst case needs 200 bytes for each byte of text. So the parser gets the text in pieces, and no more of it
// once this many bytes have produced no event.
constexpr size_t kMaxBytesWithoutEvent = 128 * 1024;
constexpr size_t kPiece = 2048;

class MeteredText : public std::streambuf {
 public:
  explicit MeteredText(const std::string& text) : text_(text) {}
  void event() { event_at_ = given_; }
  bool starved() const { return starved_; }

 protected:
  int_type underflow() override {
    starved_ = starved_ || given_ - event_at_ > kMaxBytesWithoutEvent;
    if (starved_ || given_ == text_.size()) return traits_type::eof();
    char* const begin = const_cast<char*>(text_.data()) + given_;  // streambuf requires char*, but only reads
    given_ += std::min(kPiece, text_.size() - given_);
    setg(begin, begin, const_cast<char*>(text_.data()) + given_);
    return traits_type::to_int_type(*begin);
  }

 private:
  const std::string& text_;
  size_t given_ = 0;
  size_t event_at_ = 0;
  bool starved_ = false;
};

// Builds the tree from the parser's events.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const std::string& text, MeteredText& source) : text_(text), source_(source) {}

  YamlNode take_root() { return std::move(root_); }
  int line() const { return line_; }
  int column() const { return column_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) fail(mark, "a second document starts here; a spec is one document");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(start(mark, "", anchor)); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    YamlNode node = start(mark, "", 0);
    node.complaint = "aliases (*name) are not supported; write the value out";
    add(std::move(node));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node = start(mark, tag, anchor);
    node.kind = YamlNode::Kind::kScalar;
    node.text = value;
    node.plain = tag.empty() || tag == "?";
    if (!node.plain) require_closed(mark);
    add(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(start(mark, tag, anchor), YamlNode::Kind::kList);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(start(mark, tag, anchor), YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { close(); }

 private:
  // A list or map that has not ended yet.
  struct Frame {
    YamlNode node;
    bool has_key = false;
    YamlNode key;
  };

  [[noreturn]] static void fail(const YAML::Mark& mark, const std::string& text) {
    throw YamlError(mark.line + 1, mark.column + 1, text);
  }

  // yaml-cpp takes the end of the text for the end of a quote.
  void require_closed(const YAML::Mark& mark) const {
    static const std::string kByteOrderMark = "\xef\xbb\xbf";
    size_t at =
        static_cast<size_t>(mark.pos) + (text_.rfind(kByteOrderMark, 0) == 0 ? kByteOrderMark.size() : 0);
    if (at >= text_.size() || (text_[at] != '"' && text_[at] != '\'')) return;
    const char quote = text_[at];
    while (++at < text_.size() && (text_[at] != quote || (quote == '\'' && text_[at + 1] == quote))) {
      if (text_[at] == quote || (quote == '"' && text_[at] == '\\')) ++at;
    }
    if (at >= text_.size())
      throw explain_syntax(text_, mark.line + 1, mark.column + 1, "a quote is not closed");
  }

  static std::string short_tag(const std::string& tag) {
    static const std::string kStandard = "tag:yaml.org,2002:";
    const bool standard = tag.compare(0, kStandard.size(), kStandard) == 0;
    return printable(standard ? "!!" + tag.substr(kStandard.size()) : tag, 60);
  }

  YamlNode start(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    source_.event();
    if (++nodes_ > kMaxYamlNodes) fail(mark, fmt::format("more than {} values", kMaxYamlNodes));
    YamlNode node;
    node.line = line_ = mark.line + 1;
    node.column = column_ = mark.column + 1;
    if (anchor != 0)
      node.complaint = "anchors (&name) are not supported; write the value out where it is needed";
    const bool plain_tag = tag.empty() || tag == "?" || tag == "!" || tag == "tag:yaml.org,2002:str";
    if (!plain_tag) node.complaint = fmt::format("the tag {} is not supported; leave it out", short_tag(tag));
    return node;
  }

  void open(YamlNode node, YamlNode::Kind kind) {
    if (frames_.size() == kMaxYamlDepth)
      throw YamlError(node.line, node.column, fmt::format("nested deeper than {} levels", kMaxYamlDepth));
    node.kind = kind;
    frames_.push_back({std::move(node), false, {}});
  }

  void close() {
    YamlNode node = std::move(frames_.back().node);
    frames_.pop_back();
    add(std::move(node));
  }

  void add(YamlNode node) {
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node.kind == YamlNode::Kind::kList) {
      frame.node.items.push_back(std::move(node));
    } else if (frame.has_key) {
      if (node.kind == YamlNode::Kind::kNull) {  // the parser is already at the next line
        node.line = frame.key.line;
        node.column = frame.key.column;
      }
      frame.node.entries.push_back({std::move(frame.key), std::move(node)});
      frame.has_key = false;
    } else {
      frame.key = std::move(node);
      frame.has_key = true;
    }
  }

  const std::string& text_;
  MeteredText& source_;
  YamlNode root_;
  std::vector<Frame> frames_;
  size_t nodes_ = 0;
  int documents_ = 0;
  int line_ = 1;
  int column_ = 1;
};

// Refuses text that yaml-cpp would misread: control characters (0x04 ends its input) and other encodings.
void check_bytes(const std::string& text) {
  if (text.size() > kMaxYamlBytes)
    throw YamlError(0, 0,
                    fmt::format("{} is over the limit of {}", human_bytes(static_cast<int64_t>(text.size())),
                                human_bytes(kMaxYamlBytes)));
  size_t at = 0;
  if (is_clean_text(text, at)) return;
  const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
  const size_t line_begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;  // npos + 1 is 0
  const auto byte = static_cast<unsigned char>(text[at]);
  throw YamlError(static_cast<int>(line), static_cast<int>(at - line_begin) + 1,
                  byte < 0x80 ? fmt::format("the control character 0x{:02x} is not text", byte)
                              : fmt::format("the byte 0x{:02x} is not UTF-8", byte));
}

}  // namespace

bool is_clean_text(const std::string& text, size_t& at) {
  for (at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool control = (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f;
    const size_t length = control ? 0 : character_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

YamlNode parse_yaml(const std::string& text) {
  check_bytes(text);
  MeteredText source(text);
  TreeBuilder builder(text, source);
  const auto check_source = [&] {
    if (source.starved())
      throw YamlError(builder.line(), builder.column(),
                      fmt::format("a list, text or comment that follows is longer than {}",
                                  human_bytes(kMaxBytesWithoutEvent)));
  };
  try {
    std::istream stream(&source);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) check_source();
  } catch (const YAML::Exception& error) {
    check_source();
    const bool known = !error.mark.is_null();
    throw explain_syntax(text, known ? error.mark.line + 1 : builder.line(),
                         known ? error.mark.column + 1 : builder.column(), error.msg);
  }
  check_source();
  return builder.take_root();
}

}  // namespace dtrain
