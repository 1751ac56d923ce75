#include <fmt/format.h>

#include <iostream>

#include "commands/commands.h"
#include "core/own_process.h"
#include "core/signals.h"
#include "core/text.h"
#include "device/plugins.h"
#include "diagnostics/doctor.h"
#include "host/hosts.h"

namespace dtrain {
namespace {

void require_hosts(const std::vector<std::string>& hosts) {
  for (const std::string& host : hosts) {
    if (!is_host(host))
      throw Error(ExitCode::kUsage, "--hosts: '{}' is no host's name or address", printable(host, 80));
  }
  if (hosts.size() == 1)
    throw Error(ExitCode::kUsage, "--hosts: name at least two hosts, the one that leads first");
}

void print(const Finding& finding) {
  const std::string where = finding.host.empty() ? "" : finding.host + ": ";
  std::cout << fmt::format("{:<6} {:<32} {}\n", finding.ok ? "OK" : "TO DO", where + finding.check,
                           printable(finding.text, 4000));
  if (!finding.ok) std::cout << fmt::format("{:<6} {:<32} -> {}\n", "", "", printable(finding.advice, 4000));
  std::cout << std::flush;
}

}  // namespace

ExitCode doctor_command(const DoctorCommandOptions& options) {
  DoctorOptions examined = options.examined;
  require_hosts(examined.hosts);
  catch_stop_signals();
  if (examined.program.empty() || examined.hosts.empty()) examined.program = own_program().string();
  int64_t wrong = 0;
  const auto on_finding = [&](const Finding& finding) {
    if (!finding.ok) ++wrong;
    if (options.json) {
      std::cout << event_text(to_event(finding)) << std::endl;
    } else {
      print(finding);
    }
  };
  examined.hosts.empty() ? examine_this_host(examined, on_finding) : examine_hosts(examined, on_finding);
  if (!options.json)
    std::cout << (wrong == 0 ? "all is well\n" : fmt::format("{} to do\n", wrong)) << std::flush;
  return wrong == 0 ? ExitCode::kDone : ExitCode::kUsage;
}

ExitCode plugin_devices_command(const DoctorCommandOptions& options) {
  try {
    std::cout << answer_of_plugin(options.plugin_for_gpus ? PluginDevices::kGpus : PluginDevices::kTpus,
                                  options.plugin)
              << std::endl;
    return ExitCode::kDone;
  } catch (const Error& error) {
    std::cout << event_text(Event{{"problem", error.what()}}) << std::endl;
    return error.code();
  }
}

ExitCode doctor_host_command(const DoctorCommandOptions& options) {
  const auto& [hosts, ssh_configuration, program, port] = options.examined;
  require_hosts(hosts);
  if (options.index < 0 || options.index >= std::ssize(hosts))
    throw Error(ExitCode::kUsage, "--index: there are fewer hosts");
  const auto say = [](const std::string& line) { std::cerr << printable(line, 4000) << std::endl; };
  MeetingOptions meeting{"", say};
  std::getline(std::cin, meeting.token);
  if (meeting.token.empty()) throw Error(ExitCode::kUsage, "this is started by dtrain doctor, not by hand");
  Identity identity;
  identity.rank = static_cast<int>(options.index);
  identity.world_size = static_cast<int>(hosts.size());
  identity.master_address = hosts.front();
  identity.master_port = port;
  const auto measured = take_part_in_examination(identity, meeting);
  if (measured) std::cout << event_text(*measured) << std::endl;
  return ExitCode::kDone;
}

}  // namespace dtrain
