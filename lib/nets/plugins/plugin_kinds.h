// The kinds that loaded plug-ins have added, and calling them.
#pragma once

#include <c10/util/Exception.h>

#include <map>
#include <string>
#include <utility>

#include "plugins/plugin.h"
#include "spec/added_kinds.h"

namespace dtrain {

// A kind of a plug-in: what the program calls, and the default values of the fields.
template <class Call>
struct PluginKind {
  std::string plugin;  // its name
  std::string what;    // "layer 'scale'", for messages
  std::map<std::string, OptionValue> usual;
  Call call;

  // The values of these fields of a spec.
  Options options(const KindFields& own, int64_t outputs = 0) const {
    std::map<std::string, OptionValue> values = usual;
    for (const auto& [name, value] : own.get<OptionFields>().values) values[name] = value;
    return Options(std::move(values), outputs);
  }
};

struct PluginLoss {
  LossOf of;
  ComputeLosses compute;
};

struct PluginOptimizer {
  std::vector<std::string> memory;
  UpdateParameters update;
};

struct PluginKinds {
  std::map<std::string, PluginKind<MakeModule>> models, layers;
  std::map<std::string, PluginKind<PluginLoss>> losses;
  std::map<std::string, PluginKind<PluginOptimizer>> optimizers;
  std::map<std::string, PluginKind<MakeStep>> steps;
};

// The kinds of this process, by name. A kind stays where it is in memory.
PluginKinds& plugin_kinds();

// Notes a loaded plug-in: the last words of a process that crashes outside of calls name all of them.
void note_plugin(const std::string& name);

// What a thread is calling. If the process crashes meanwhile, its last words name it.
class PluginCall {
 public:
  PluginCall(const std::string& plugin, const std::string& what);
  ~PluginCall();
  PluginCall(PluginCall&&) = delete;  // nor copied

 private:
  const char* before_;
  std::string text_;
};

// The error that stands for the exception that is being handled: Error(kUsage) with the plug-in's name.
// Errors of the program and a lack of memory stay what they are.
[[noreturn]] void rethrow_of_plugin(const std::string& plugin, const std::string& what);

// Calls something of a plug-in.
template <class Call>
auto in_plugin(const std::string& plugin, const std::string& what, const Call& call) {
  const PluginCall named(plugin, what);
  try {
    return call();
  } catch (...) {
    rethrow_of_plugin(plugin, what);
  }
}

template <class Kind, class Call>
auto in_plugin(const PluginKind<Kind>& kind, const Call& call) {
  return in_plugin(kind.plugin, kind.what, call);
}

}  // namespace dtrain
