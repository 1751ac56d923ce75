// Jobs on GPUs where there is none: stand-ins for NVIDIA's driver and for dtrain's module, whose device
// memory is the host's. What they show is who gets which device, what is refused and how, and that the path
// through a device comes to the weights of the CPU.
#include "catch.h"
#include "job.h"

namespace dtrain {
namespace {

ProgramOptions with_gpus(int count, const std::string& module = "cuda.so") {
  ProgramOptions options;
  const std::string fakes = DTRAIN_FAKES;
  options.environment = {{"LD_LIBRARY_PATH", fakes}, {"FAKE_GPUS", std::to_string(count)}};
  if (!module.empty()) options.environment["DTRAIN_CUDA_MODULE"] = fakes + "/" + module;
  return options;
}

Arguments on_devices(const Job& job, const std::string& devices, const Arguments& more = {}) {
  return job.run({"--overwrite", "--set", "strategy.devices=" + devices}) + more;
}

void require_refused(const Finished& finished, const std::string& why) {
  INFO(finished.output << finished.errors);
  CHECK(finished.exit_code == 2);
  CHECK_THAT(finished.errors, ContainsSubstring(why));
}

Event devices_of(const Job& job) { return job.event("run_start", "distributed").at("devices"); }

TEST_CASE("a GPU that is not there is refused before anything starts") {
  const Job job;
  require_refused(run_program(on_devices(job, "cuda"), with_gpus(0)),
                  "strategy.devices: cuda:0 cannot be used: NVIDIA's driver finds no GPU");
  require_refused(run_program(on_devices(job, "[\"cuda:0\", \"cuda:3\"]"), with_gpus(2)),
                  "there is no cuda:3; this host has 2 GPUs");
  require_refused(run_program(on_devices(job, "cuda"), with_gpus(2, "no_such_module.so")),
                  "no_such_module.so: cannot open shared object file");
  require_refused(run_program(on_devices(job, "cuda"), with_gpus(2, "other_version.so")),
                  "is of version 0.0.1 1.0.0, the program of");
  ProgramOptions hidden = with_gpus(0);
  hidden.environment["CUDA_VISIBLE_DEVICES"] = "";
  require_refused(run_program(on_devices(job, "cuda"), hidden), "finds no GPU among CUDA_VISIBLE_DEVICES=");
  ProgramOptions faulty = with_gpus(2);
  faulty.environment["FAKE_DRIVER_ERROR"] = "803";
  require_refused(run_program(on_devices(job, "cuda"), faulty), "NVIDIA's driver reports error 803");
}

TEST_CASE("what goes wrong on a GPU ends the job with the replica's name") {
  const Job job;
  ProgramOptions broken = with_gpus(2);
  broken.environment["FAKE_GPU_BROKEN"] = "1";
  const Finished finished = run_program(on_devices(job, "cuda", {"--set", "strategy.replicas=1"}), broken);
  require_refused(finished, "cuda:0: GPU 0 has fallen off the bus");
  CHECK_THAT(finished.errors, ContainsSubstring("rank 0"));
}

TEST_CASE("a job on a GPU comes to the weights of the CPU, recorded or not") {
  const Job job;
  const auto final_loss = [&](const Arguments& more, const ProgramOptions& options) {
    const Arguments one = job.run({"--overwrite", "--set", "strategy.replicas=1"});
    const Finished finished = run_program(one + more, options);
    INFO(finished.output << finished.errors);
    REQUIRE(finished.exit_code == 0);
    return job.event("run_end", "distributed").at("loss").get<double>();
  };
  const double cpu = final_loss({"--set", "strategy.devices=cpu"}, {});
  const ProgramOptions gpu = with_gpus(1);
  CHECK(final_loss({"--set", "strategy.devices=cuda"}, gpu) == Approx(cpu).epsilon(1e-5));
  CHECK(devices_of(job) == Event::array({"cuda:0"}));
  CHECK(job.event("run_end", "distributed").at("device_utilisation") == 0.5);
  CHECK(job.event("run_end", "distributed").at("device_memory_total_bytes") == 1 << 30);
  CHECK(final_loss({"--set", "strategy.devices=cuda", "--set", "cuda.data=uploaded"}, gpu) ==
        Approx(cpu).epsilon(1e-5));
  CHECK(final_loss({"--set", "strategy.devices=cuda", "--set", "cuda.graphs=false"}, gpu) ==
        Approx(cpu).epsilon(1e-5));
  const Arguments in_float64 = {"--set", "model.dtype=float64"};
  CHECK(final_loss(in_float64 + Arguments{"--set", "strategy.devices=cuda"}, gpu) ==
        Approx(final_loss(in_float64 + Arguments{"--set", "strategy.devices=cpu"}, {})).epsilon(1e-12));
}

TEST_CASE("the profile of a job on a GPU has what the GPU did") {
  const Job job;
  const Finished finished = run_program(
      on_devices(job, "cuda", Job::set({"strategy.replicas=1", "callbacks.profile.start_step=14"})),
      with_gpus(1));
  INFO(finished.output << finished.errors);
  REQUIRE(finished.exit_code == 0);
  const Event trace = Event::parse(content_of(job.run_folder() / "profile.json"));
  std::vector<std::string> kernels;
  for (const Event& event : trace.at("traceEvents")) {
    if (event.value("cat", "") == "kernel") kernels.push_back(event.at("name"));
  }
  CHECK(kernels.size() == 3);
  const std::string summary = "kernels: 0.6 in ";  // three in five steps
  CHECK_THAT(finished.output, ContainsSubstring(summary) && ContainsSubstring("no kernel in 30.0 %"));
  CHECK_THAT(content_of(job.run_folder() / "kernels.txt"),
             ContainsSubstring(summary) && ContainsSubstring("60.0 %  void fake::product<float>()\n"));
  const Finished again = run_program(on_devices(job, "cpu", {"--set", "strategy.replicas=1"}), with_gpus(1));
  REQUIRE(again.exit_code == 0);
  CHECK_FALSE(std::filesystem::exists(job.run_folder() / "kernels.txt"));
}

TEST_CASE("a replica alone records its steps, whatever it would talk by") {
  const Job job;
  for (const char* const kind : {"nccl", "gloo"}) {
    const Finished finished = run_program(
        on_devices(job, "cuda",
                   Job::set({"strategy.replicas=1", std::string("strategy.communication=") + kind})),
        with_gpus(1));
    INFO(finished.output << finished.errors);
    REQUIRE(finished.exit_code == 0);  // the stand-in has no NCCL to make a group with
    CHECK(job.event("run_start", "distributed").at("execution") == "recorded");
  }
}

TEST_CASE("a GPU that auto leaves idle is named, with the way to use it") {
  const Job job;
  const Arguments two = {"plan", job.spec_file().string(), "--set", "strategy.replicas=2"};
  const std::string line = "this host has 1 GPU, and strategy.devices: auto uses GPUs only if each of the 2 ";
  CHECK_THAT(run_program(two, with_gpus(1)).errors, ContainsSubstring(line));
  CHECK_THAT(run_program(two, with_gpus(2)).errors, !ContainsSubstring("strategy.devices: auto"));
  CHECK_THAT(run_program(two + Arguments{"--set", "strategy.devices=cpu"}, with_gpus(1)).errors,
             !ContainsSubstring("strategy.devices: auto"));
}

TEST_CASE("replicas that share a GPU join by gloo, with a warning") {
  const Job job;
  const Finished finished =
      run_program(on_devices(job, "cuda", {"--set", "strategy.replicas=2"}), with_gpus(1));
  INFO(finished.output << finished.errors);
  REQUIRE(finished.exit_code == 0);
  CHECK(devices_of(job) == Event::array({"cuda:0", "cuda:0"}));
  CHECK_THAT(finished.output, ContainsSubstring("WARNING: replicas share a GPU"));
  require_refused(
      run_program(
          on_devices(job, "cuda", {"--set", "strategy.replicas=2", "--set", "strategy.communication=nccl"}),
          with_gpus(1)),
      "nccl joins replicas that have a GPU each, and these are on cuda:0, cuda:0");
}

TEST_CASE("the doctor lists the GPUs, and says what keeps them from being used") {
  const Finished good = run_program({"doctor", "--json", "--port", free_port()}, with_gpus(2));
  CHECK_THAT(good.output, ContainsSubstring("cuda:0 Fake GPU 0 (8.0 GiB), cuda:1 Fake GPU 1 (8.0 GiB)"));
  const Finished lacking = run_program({"doctor", "--port", free_port()}, with_gpus(1, ""));
  CHECK_THAT(lacking.output, ContainsSubstring("cuda:0 Fake GPU 0"));
}

}  // namespace
}  // namespace dtrain
