// Jobs on TPUs where there is none: a plugin that computes nothing stands in. What they show is who is
// refused and how, and what takes the place of tpu.
#include "catch.h"
#include "job.h"

#ifdef DTRAIN_HAS_PJRT  // else there is no module to drive the plugin

namespace dtrain {
namespace {

const Arguments kOnTpu = Job::set({"strategy.kind=tpu"});

ProgramOptions with_tpu_module(const std::map<std::string, std::string>& more = {}) {
  ProgramOptions options;
  options.environment = {{"TPU_LIBRARY_PATH", ""}, {"VIRTUAL_ENV", ""}};
  for (const auto& [name, value] : more) options.environment[name] = value;
  return options;
}

const std::string kFakePlugin = DTRAIN_FAKES "/pjrt_plugin.so";

ProgramOptions with_fake_plugin(const std::string& failure = "") {
  return with_tpu_module({{"TPU_LIBRARY_PATH", kFakePlugin}, {"FAKE_PJRT_FAILS", failure}});
}

void require_end(const Finished& finished, int exit_code, const std::string& why) {
  INFO(finished.output << finished.errors);
  CHECK(finished.exit_code == exit_code);
  CHECK_THAT(finished.errors, ContainsSubstring(why));
}

TEST_CASE("a job on TPUs that are not there is refused before anything starts") {
  const Job job;
  const Arguments run = job.run({"--overwrite"}) + kOnTpu;
  require_end(run_program(run, with_tpu_module({{"DTRAIN_PJRT_MODULE", "/no/module.so"}})), 2,
              "tpu cannot be used");
  require_end(run_program(run + Job::set({"strategy.plugin=/no/plugin.so"}), with_tpu_module()), 2,
              "the plugin /no/plugin.so cannot be used: it cannot be loaded");
  require_end(run_program(run + Job::set({"strategy.replicas=3"}), with_fake_plugin()), 2,
              "strategy.replicas is 3, and " + kFakePlugin + " has 2 devices here");
  const Arguments in_passes = Job::set({"batch.global=64", "batch.per_replica=16", "strategy.replicas=2"});
  require_end(run_program(run + in_passes, with_fake_plugin()), 2,
              "the distributed run would make 2 with 2 devices");
  require_end(run_program(run, with_fake_plugin("Client_Create=3")), 2, "asked to fail in Client_Create");
  CHECK(job.events().empty());
}

TEST_CASE("what fails in a plugin ends the job with its exit code and words") {
  const Job job;
  const Arguments run = job.run({"--overwrite"}) + kOnTpu;
  require_end(run_program(run, with_fake_plugin("Compile=3")), 1, "asked to fail in Compile");
  require_end(run_program(run, with_fake_plugin("Compile=8")), 5, "out of memory on a device");
  require_end(run_program(run, with_fake_plugin("BufferFromHostBuffer=8")), 5, "out of memory on a device");
  require_end(run_program(run, with_fake_plugin("Execute=8")), 5, "out of memory on a device");
  CHECK(job.processes().empty());
}

TEST_CASE("with strategy.fallback mirrored takes the place of tpu, and the run says so") {
  const Job job;
  const Finished finished = run_program(
      job.run({"--overwrite"}) + kOnTpu +
          Job::set({"strategy.fallback=true", "strategy.replicas=2", "strategy.plugin=/no/plugin.so"}),
      with_tpu_module());
  INFO(finished.output << finished.errors);
  REQUIRE(finished.exit_code == 0);
  CHECK_THAT(finished.output, ContainsSubstring("NOTE: mirrored takes the place of tpu"));
  const Finished quiet = run_program(
      job.run({"--overwrite", "--quiet"}) + kOnTpu +
          Job::set({"strategy.fallback=true", "strategy.replicas=2", "strategy.plugin=/no/plugin.so"}),
      with_tpu_module());
  CHECK_THAT(quiet.output, ContainsSubstring("NOTE: mirrored takes the place of tpu"));
  const Event start = job.event("run_start", "distributed");
  CHECK(start.at("strategy") == "mirrored");
  CHECK(start.at("replicas") == 2);
  CHECK_THAT(start.at("strategy_fallback").get<std::string>(), ContainsSubstring("/no/plugin.so"));
}

TEST_CASE("a plan says what takes the place of TPUs, or that the job cannot run here") {
  const Job job;
  const Arguments plan = Arguments{"plan", job.spec_file().string()} + kOnTpu;
  const ProgramOptions without = with_tpu_module();
  const Finished fallback = run_program(plan + Job::set({"strategy.fallback=true"}), without);
  CHECK(fallback.exit_code == 0);
  CHECK_THAT(fallback.output, ContainsSubstring("mirrored takes the place of tpu: ") &&
                                  !ContainsSubstring("strategy_fallback"));
  CHECK_THAT(fallback.errors, !ContainsSubstring("cannot run"));
  const Finished json =
      run_program(plan + Job::set({"strategy.fallback=true"}) + Arguments{"--json"}, without);
  CHECK_THAT(json.output, ContainsSubstring("\"strategy_fallback\": \"this host has no TPU"));
  const Finished missing = run_program(plan, without);
  CHECK(missing.exit_code == 0);
  CHECK_THAT(missing.errors, ContainsSubstring("NOTE: this job cannot run on this host: ") &&
                                 ContainsSubstring("tpu cannot be used"));
  // What tpu cannot do is a problem of the spec on every host.
  const Finished refused =
      run_program(plan + Job::set({"strategy.fallback=true", "train.precision=fp16_mixed"}), without);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.errors, ContainsSubstring("tpu has no program for train.precision: fp16_mixed"));
}

TEST_CASE("a plan for TPUs has a process for all devices, and names the plugin") {
  const Job job;
  const Arguments plan = Arguments{"plan", job.spec_file().string()} + kOnTpu;
  const Finished finished = run_program(plan, with_fake_plugin());
  INFO(finished.errors);
  REQUIRE(finished.exit_code == 0);
  CHECK_THAT(finished.output, ContainsSubstring("stablehlo: compiled by pjrt_plugin.so"));
  CHECK_THAT(finished.output, ContainsSubstring("tpu, 2 replicas"));
  const Finished ahead =
      run_program(plan + Job::set({"strategy.replicas=auto"}) + Arguments{"--compile-for", "fake:2x2"},
                  with_fake_plugin());
  INFO(ahead.errors);
  CHECK(ahead.exit_code == 0);
  CHECK_THAT(ahead.output, ContainsSubstring("training step") &&
                               ContainsSubstring("fake:2x2 for 4 devices") &&
                               ContainsSubstring("evaluation"));
  const Finished quick =
      run_program(plan + Job::set({"strategy.replicas=auto", "strategy.quick_compile=true"}) +
                      Arguments{"--compile-for", "fake:2x2"},
                  with_tpu_module({{"TPU_LIBRARY_PATH", kFakePlugin}, {"FAKE_PJRT_QUICK", "1"}}));
  INFO(quick.errors);
  CHECK(quick.exit_code == 0);
  require_end(run_program(plan + Arguments{"--compile-for", "v9:2x2"}, with_fake_plugin()), 2,
              "no topology v9:2x2");
  require_end(run_program({"plan", job.spec_file().string(), "--compile-for", "v5e:2x2"}, with_fake_plugin()),
              2, "for TPUs add --set strategy.kind=tpu, for GPUs --set train.step=xla");
}

TEST_CASE("xla computes the steps of a plugin's devices, and names what is missing") {
  const Job job;
  const Arguments by_xla = Job::set({"train.step=xla"});
  const Arguments named = Job::set({"strategy.plugin=" + kFakePlugin});
  const Arguments plan = Arguments{"plan", job.spec_file().string()} + by_xla;
  const Finished finished = run_program(plan + named, with_tpu_module());
  INFO(finished.output << finished.errors);
  REQUIRE(finished.exit_code == 0);
  CHECK_THAT(finished.output, ContainsSubstring("stablehlo: compiled by pjrt_plugin.so"));
  for (const char* topology : {"h200", "h200:0", "h200:x", "v5e:2x2"})
    require_end(run_program(plan + named + Arguments{"--compile-for", topology}, with_tpu_module()), 2,
                "name a GPU and how many, such as h200:1; known: a100, h100, h200");
  const Arguments run = job.run({"--overwrite"}) + by_xla;
  require_end(run_program(run + Job::set({"strategy.plugin=/no/plugin.so"}), with_tpu_module()), 2,
              "train.step: xla cannot be used: the plugin /no/plugin.so cannot be used");
  const Finished refused = run_program(plan + Job::set({"train.precision=fp16_mixed"}), with_tpu_module());
  require_end(refused, 2, "train.step: xla has no program for train.precision: fp16_mixed; leave it out");
  require_end(run_program(run + named, with_tpu_module({{"FAKE_PJRT_FAILS", "Compile=3"}})), 1,
              "asked to fail in Compile");
  CHECK(job.processes().empty());
}

}  // namespace
}  // namespace dtrain

#endif
