#include "commands/compile_ahead.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "core/error.h"
#include "core/patterns.h"
#include "core/text.h"
#include "device/plugins.h"
#include "metrics/event.h"
#include "plan/planned_step.h"

namespace dtrain {
namespace {

constexpr int64_t kMostDevices = 1024;

// The product of the numbers after the colon, "2x2"; nullopt if they are none.
std::optional<int64_t> devices_in(const std::string& topology) {
  static const Pattern numbers("[^:]*:([1-9][0-9]{0,3})((x[1-9][0-9]{0,3})*)");
  const auto found = numbers.match(topology);
  if (!found) return std::nullopt;
  int64_t devices = 1;
  for (const std::string& size : split((*found)[1].text + (*found)[2].text, 'x'))
    devices = std::min<int64_t>(devices * std::stoll(size), kMostDevices + 1);
  return devices <= kMostDevices ? std::optional(devices) : std::nullopt;
}

// XLA's plugin would look for GPUs of this host if the name said nothing to it.
void require_gpus(const std::string& topology) {
  const std::vector<std::string> known = {"a100", "h100", "h200"};  // as pjrt/gpus.h
  const std::string name = topology.substr(0, topology.find(':'));
  const bool one_number = topology.find('x') == std::string::npos;
  if (std::ranges::find(known, name) == known.end() || !devices_in(topology) || !one_number)
    throw Error(ExitCode::kUsage,
                "--compile-for {}: with train.step xla name a GPU and how many, such as h200:1; known: {}",
                printable(topology), join(known));
}

// Keeps libtpu from asking a server that only hosts with TPUs have and from writing logs; set variables stay.
void tell_libtpu() {
  constexpr int kKeep = 0;
  ::setenv("TPU_SKIP_MDS_QUERY", "1", kKeep);
  ::setenv("TPU_WORKER_HOSTNAMES", "localhost", kKeep);
  ::setenv("TPU_WORKER_ID", "0", kKeep);
  ::setenv("TPU_LOG_DIR", "disabled", kKeep);
  ::setenv("ALLOW_MULTIPLE_LIBTPU_LOAD", "1", kKeep);  // nothing is locked: no device is used
}

}  // namespace

void expect_topology(JobSpec& spec, const std::string& topology) {
  StrategySpec& strategy = spec.strategy;
  if (!spec.uses_plugin())
    throw Error(ExitCode::kUsage,
                "--compile-for compiles the programs of strategy.kind tpu and of train.step xla, and this "
                "job has neither; for TPUs add --set strategy.kind=tpu, for GPUs --set train.step=xla");
  strategy.fallback = false;
  if (spec.uses_xla()) {
    require_gpus(topology);
    strategy.devices = {"cuda"};
  }
  if (!strategy.replicas) strategy.replicas = devices_in(topology);
}

void compile_ahead(const JobPlan& job, const std::string& topology, bool json) {
  const bool on_gpus = job.spec.uses_xla();
  const auto plugin =
      find_plugin(on_gpus ? PluginDevices::kGpus : PluginDevices::kTpus, job.spec.strategy.plugin);
  if (!plugin)
    throw Error(ExitCode::kUsage,
                "--compile-for: {} was not found; install it (pip install {}), or say where it is with "
                "strategy.plugin{}",
                on_gpus ? "XLA's plugin for GPUs" : "libtpu", on_gpus ? "'jax[cuda13]'" : "libtpu",
                on_gpus ? "" : " or TPU_LIBRARY_PATH");
  if (!on_gpus) tell_libtpu();
  const RunPlan& run = job.distributed_run();
  const auto compile = [&](const std::string& name, const DeviceProgram& program) {
    const AheadProgram made = program_module().compile_ahead(*plugin, topology, program.text,
                                                             {run.replicas, job.spec.strategy.quick_compile});
    if (json) {
      std::cout << event_text(Event{{"program", name},
                                    {"topology", topology},
                                    {"devices", run.replicas},
                                    {"seconds", made.seconds},
                                    {"code_bytes", made.code_bytes},
                                    {"executable_bytes", made.serialised.size()},
                                    {"text_bytes", program.text.size()}})
                << std::endl;
    } else {
      std::cout << fmt::format("{:<28} {} for {}: {:.2f} s, {} of code, {} to load\n", name, topology,
                               counted(run.replicas, "device"), made.seconds,
                               made.code_bytes < 0 ? "-" : human_bytes(made.code_bytes),
                               human_bytes(static_cast<int64_t>(made.serialised.size())))
                << std::flush;
    }
  };
  for (const PhasePlan& phase : run.phases) {
    const std::string name = phase.name.empty() ? "" : fmt::format(" ({})", phase_title(run.phases, phase));
    ProgramForm form = executed_form(job, run, phase);
    compile("training step" + name, lower_training_step(job.model, job.spec.train, form));
    if (!has_whole_calls(form)) continue;
    form.whole_calls = true;
    compile(fmt::format("{} training steps{}", form.steps, name),
            lower_training_step(job.model, job.spec.train, form));
  }
  ProgramForm form = executed_form(job, run, run.phases.back());
  form.rows = job.spec.evaluate.batch_per_replica;
  compile("evaluation", lower_forward(job.model, form));
}

}  // namespace dtrain
