// Hostile specs: each is refused in under a second and under 100 MB, measured in a process of its own.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "catch.h"
#include "files.h"
#include "sanitized.h"
#include "spec_cases.h"

namespace dtrain {
namespace {

constexpr size_t kMebibyte = 1 << 20;

std::string repeated(const std::string& text, size_t bytes) {
  std::string result;
  while (result.size() + text.size() <= bytes) result += text;
  return result;
}

// Runs `refused` in a child: it returns whether the spec was refused as it should.
template <class Check>
void check_within_limits(const std::string& name, Check refused) {
  INFO(name);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int code = 1;
    try {
      code = refused() ? 0 : 2;
    } catch (...) {
    }
    ::_exit(code);
  }
  int status = 0;
  struct rusage usage {};
  REQUIRE(::wait4(child, &status, 0, &usage) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  if (kSanitized) return;  // its own memory and time would be measured
  CHECK(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec == 0);
  CHECK(usage.ru_maxrss < 100 * 1024);  // KiB
}

// The text is refused, with `message` among the problems and not a flood of them.
void check_bomb(const std::string& name, const std::string& text, const std::string& message) {
  check_within_limits(name, [&] {
    const LoadedSpec loaded = parse_spec(text, "bomb");
    const bool found = problems_of(loaded).find(message) != std::string::npos;
    if (!found) ::dprintf(STDERR_FILENO, "%s: %.2000s\n", name.c_str(), problems_of(loaded).c_str());
    return found && loaded.problems.size() <= 101;
  });
}

TEST_CASE("deep nesting is refused at its 33rd level") {
  check_bomb("brackets", repeated("[", kMebibyte), "nested deeper than 32 levels");
  check_bomb("braces", repeated("{a: ", kMebibyte), "nested deeper than 32 levels");
  check_bomb("dashes", repeated("- ", kMebibyte), "nested deeper than 32 levels");
  check_bomb("question marks", repeated("? ", kMebibyte), "nested deeper than 32 levels");
}

TEST_CASE("floods of values are refused") {
  const std::string numbers = repeated("1, ", kMebibyte - 20);
  check_bomb("flow list", "model: {hidden: [" + numbers + "]}", "more than 20000 values");
  check_bomb("unclosed flow list", "a: [" + numbers, "more than 20000 values");
  check_bomb("block list", repeated("- 1\n", kMebibyte), "more than 20000 values");
  check_bomb("map", repeated("a: 1\n", kMebibyte), "more than 20000 values");
  check_bomb("unknown keys", repeated("learning_rte: 1\n", 16 * 9000), "and 8");
  check_bomb("wrong layers",
             "model: {kind: layers, layers: [" + repeated("{kind: relu, units: 1},", 23 * 1000) + "]}",
             "more problems");
}

TEST_CASE("text that yields nothing for long is refused") {
  check_bomb("comment", repeated("#", kMebibyte), "longer than 128.0 KiB");
  check_bomb("empty lines", repeated("\n", kMebibyte), "longer than 128.0 KiB");
  check_bomb("plain text", "name: " + repeated("x", kMebibyte - 10), "longer than 128.0 KiB");
  check_bomb("quoted text", "name: \"" + repeated("x", kMebibyte - 10), "longer than 128.0 KiB");
  check_bomb("block text", "name: |\n" + repeated(" x\n", kMebibyte - 10), "longer than 128.0 KiB");
  check_bomb("quotes in a list", "a: [" + repeated("'' ", kMebibyte - 10), "longer than 128.0 KiB");
  check_bomb("colons in a list", "a: [" + repeated("a:", kMebibyte - 10), "longer than 128.0 KiB");
}

TEST_CASE("aliases are refused, not followed") {
  std::string laughs = "data: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char name = 'b'; name < 'k'; ++name) {
    laughs += fmt::format("{0}: &{0} [", name);
    for (int i = 0; i < 9; ++i) laughs += fmt::format("*{}, ", static_cast<char>(name - 1));
    laughs += "]\n";
  }
  check_bomb("billion laughs", laughs, "data: anchors (&name) are not supported");
  check_bomb("contains itself", "model: {hidden: &a [*a]}",
             "model.hidden: anchors (&name) are not supported");
  check_bomb("root contains itself", "&a [*a]", "anchors (&name) are not supported");
}

TEST_CASE("what is not UTF-8 text is refused where it stands") {
  check_bomb("NUL", std::string("name: a\0b", 9), "bomb:1:8: the control character 0x00 is not text");
  check_bomb("all NUL", std::string(kMebibyte, '\0'), "bomb:1:1: the control character 0x00 is not text");
  check_bomb("end of transmission", "batch: {per_replica: 1}\n\x04", "bomb:2:1: the control character 0x04");
  check_bomb("latin-1", "a: 1\nname: \xe9t\xe9", "bomb:2:7: the byte 0xe9 is not UTF-8");
  check_bomb("overlong", "name: \xc0\xaf", "the byte 0xc0 is not UTF-8");
  check_bomb("surrogate", "name: \xed\xa0\x80", "the byte 0xed is not UTF-8");
  check_bomb("cut short", "name: \xf0\x9f\x99", "the byte 0xf0 is not UTF-8");
  check_bomb("UTF-16",
             std::string("\xff\xfe"
                         "a\0",
                         4),
             "bomb:1:1: the byte 0xff is not UTF-8");
}

TEST_CASE("a huge file is refused by its size, unread") {
  const TemporaryFolder folder;
  const auto name = folder.write("huge.yaml", "");
  std::filesystem::resize_file(name, 100'000'000);
  check_within_limits("100 MB", [&] {
    const LoadedSpec loaded = load_spec(name);
    return loaded.problems.size() == 1 &&
           loaded.problems[0].text.find("over the limit of 1.0 MiB") != std::string::npos;
  });
  check_bomb("2 MiB in memory", repeated("a: 1\n", 2 * kMebibyte), "over the limit of 1.0 MiB");
}

TEST_CASE("hostile overrides are refused too") {
  const auto refused = [](const std::string& text, const std::string& message) {
    return [=] {
      return problems_of(parse_spec("batch: {per_replica: 1}", "spec", {text})).find(message) !=
             std::string::npos;
    };
  };
  check_within_limits("deep", refused("model.hidden=" + repeated("[", kMebibyte - 1), "nested deeper"));
  check_within_limits("long path", refused(repeated("a.", kMebibyte) + "=1", "unknown field"));
  check_within_limits("layer index", refused("model.layers[99999999999999999999].units=1", "unknown field"));
  check_within_limits("alias", refused("name=*a", "not valid YAML"));
}

}  // namespace
}  // namespace dtrain
