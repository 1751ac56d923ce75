#include "plugins/plugin_kinds.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <list>

#include "core/text.h"
#include "models/parts_model.h"

namespace dtrain {
namespace {

constexpr size_t kMostText = 2000;  // of an exception, in a message

thread_local const char* now_calling = nullptr;
const char* loaded_ones = "";  // the names of all that are loaded

void say(const char* text) { [[maybe_unused]] const auto written = write(STDERR_FILENO, text, strlen(text)); }

// Only what a signal's handler may do. The signal then ends the process as it would have done.
void last_words(int number) {
  say("dtrain: crashed (signal ");
  const char digits[] = {static_cast<char>('0' + number / 10), static_cast<char>('0' + number % 10), '\0'};
  say(number < 10 ? digits + 1 : digits);
  say(now_calling == nullptr ? ") with plug-ins: " : ") in ");
  say(now_calling == nullptr ? loaded_ones : now_calling);
  say("\n");
  raise(number);  // once this handler has returned: it was installed for one signal
}

bool install_last_words() {
  struct sigaction action {};
  action.sa_handler = last_words;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    if (before.sa_handler == SIG_DFL) sigaction(number, &action, nullptr);  // else a sanitizer's
  }
  return true;
}

}  // namespace

PluginKinds& plugin_kinds() {
  static PluginKinds kinds;
  return kinds;
}

void note_plugin(const std::string& name) {
  static std::list<std::string> texts;  // of a handler that reads one at any time
  texts.push_back(texts.empty() ? name : texts.back() + ", " + name);
  loaded_ones = texts.back().c_str();
}

PluginCall::PluginCall(const std::string& plugin, const std::string& what)
    : before_(now_calling), text_(fmt::format("the plug-in {}, {}", plugin, what)) {
  [[maybe_unused]] static const bool once = install_last_words();
  now_calling = text_.c_str();
}

PluginCall::~PluginCall() { now_calling = before_; }

void rethrow_of_plugin(const std::string& plugin, const std::string& what) {
  const auto fail = [&](const std::string& text) {
    if (is_lack_of_memory(text)) throw std::bad_alloc();
    throw Error(ExitCode::kUsage, "plug-in {}, {}: {}", plugin, what, printable(trimmed(text), kMostText));
  };
  try {
    throw;
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUsage) throw;
    fail(error.what());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    fail(text.substr(0, text.find("\nException raised from")));
  } catch (const std::exception& error) {
    fail(error.what());
  } catch (...) {
    fail("threw something that is no std::exception");
  }
  throw Error(ExitCode::kBug, "unreachable");
}

}  // namespace dtrain
