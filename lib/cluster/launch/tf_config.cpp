#include "launch/place.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "core/environment.h"
#include "core/error.h"
#include "core/text.h"
#include "host/hosts.h"

namespace dtrain {
namespace {

using nlohmann::json;

constexpr size_t kMostTasks = 1024;

[[noreturn]] void fail(const std::string& what) {
  throw Error(
      ExitCode::kUsage,
      "TF_CONFIG: " + what +
          R"(; it is like {"cluster": {"worker": ["a:2222", "b:2222"]}, "task": {"type": "worker", "index": 0}})");
}

const json& member(const json& object, const char* name, const char* where) {
  const auto found = object.find(name);
  if (found == object.end()) fail(fmt::format("{} has no \"{}\"", where, name));
  return *found;
}

struct HostAndPort {
  std::string host;
  uint16_t port = 0;
};

HostAndPort parse_address(const json& entry) {
  const std::string text = entry.is_string() ? entry.get<std::string>() : entry.dump(-1, ' ', true);
  const size_t colon = text.rfind(':');
  HostAndPort result;
  if (entry.is_string() && colon != std::string::npos) {
    result.host = text.substr(0, colon);
    if (result.host.size() > 2 && result.host.front() == '[' && result.host.back() == ']')
      result.host = result.host.substr(1, result.host.size() - 2);
    const int64_t port = whole_number(text.substr(colon + 1)).value_or(0);
    result.port = static_cast<uint16_t>(port);
    if (port > 0 && port <= UINT16_MAX && is_host(result.host)) return result;
  }
  fail(fmt::format("'{}' is not of the form host:port", printable(text, 80)));
}

void append_tasks(const json& cluster, const char* type, HostPlace& config) {
  const auto found = cluster.find(type);
  if (found == cluster.end()) return;
  if (!found->is_array() || found->size() > kMostTasks)
    fail(fmt::format("cluster.{} is not a list of at most {} addresses", type, kMostTasks));
  for (const json& entry : *found) {
    const HostAndPort address = parse_address(entry);
    if (config.hosts.empty()) config.port = address.port;
    config.hosts.push_back(address.host);
  }
}

void refuse_other_tasks(const json& cluster) {
  for (const auto& [type, tasks] : cluster.items()) {
    if (type == "chief" || type == "worker" || type == "ps") continue;
    if (type == "evaluator")
      fail(
          "an evaluator is not needed: the job evaluates by itself after its epochs (evaluate.every_epochs)");
    fail(fmt::format("unknown type of task '{}' (known: chief, worker, ps)", printable(type, 40)));
  }
}

}  // namespace

std::optional<HostPlace> tf_config_from_environment() {
  const auto text = environment_text("TF_CONFIG");
  if (!text || text->empty()) return std::nullopt;
  const json document = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) fail("it is not a JSON object");
  const json& cluster = member(document, "cluster", "it");
  const json& task = member(document, "task", "it");
  if (!cluster.is_object() || !task.is_object()) fail("cluster and task are not JSON objects");
  const json& type = member(task, "type", "task");
  const json& index = member(task, "index", "task");
  if (type == "evaluator") refuse_other_tasks({{type.get<std::string>(), nullptr}});
  if (type != "chief" && type != "worker" && type != "ps") fail("task.type is none of chief, worker and ps");
  refuse_other_tasks(cluster);

  HostPlace config;
  size_t first = 0, of_type = 0;  // first index, and number, of tasks of this task's type
  for (const char* each : {"chief", "worker", "ps"}) {
    const size_t begin = config.hosts.size();
    append_tasks(cluster, each, config);
    const size_t count = config.hosts.size() - begin;
    if (type == each) first = begin, of_type = count;
    if (each == std::string("chief") && count > 1) fail("cluster.chief lists more than one");
    if (each == std::string("ps")) config.servers = static_cast<int64_t>(count);
  }
  if (config.servers > 0 && config.servers == std::ssize(config.hosts))
    fail("the cluster has neither a chief nor a worker");
  // Older TensorFlow jobs write the index as text.
  const std::string written = index.is_string() ? index.get<std::string>() : index.dump(-1, ' ', true);
  const int64_t number = whole_number(written).value_or(-1);
  if (number < 0 || number >= static_cast<int64_t>(of_type))
    fail(fmt::format("task.index is {}, but cluster.{} has {} entries", printable(written, 40),
                     type.get<std::string>(), of_type));
  config.index = static_cast<int>(first) + static_cast<int>(number);
  return config;
}

}  // namespace dtrain
