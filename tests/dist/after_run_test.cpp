// What a user can do after a run whose spec says nothing about checkpoints.
#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "checkpoint/retention.h"
#include "crypto/crypto.h"
#include "job.h"
#include "resumable.h"

namespace dtrain {
namespace {

Event parsed(const Finished& finished) { return Event::parse(finished.output); }

TEST_CASE("after any run its folder and the next commands are shown, and these work") {
  const Job job;
  const Finished run = run_program(job.run());
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  const std::string folder = job.run_folder().string();
  CHECK_THAT(run.output, ContainsSubstring("\n\nThe run is in ") && !ContainsSubstring("\n\n\n"));
  CHECK_THAT(run.output, ContainsSubstring("The run is in " + folder + ". Next:") &&
                             ContainsSubstring("dtrain eval " + folder) &&
                             ContainsSubstring("dtrain predict " + folder + " FILE...\n") &&
                             ContainsSubstring("dtrain report " + folder) &&
                             ContainsSubstring("dtrain export --format onnx " + folder));
  CHECK(job.event("run_start", "distributed").at("folder") == folder);
  REQUIRE(list_checkpoints(checkpoints_of(job)).size() == 1);

  const Finished eval = run_program({"eval", folder, "--json"});
  CHECK(eval.exit_code == 0);
  CHECK(parsed(eval).at("accuracy") == job.event("run_end", "distributed").at("accuracy"));
  // One process finds of each example what the replicas of the run found.
  CHECK(parsed(eval).at("intervals").at("accuracy") ==
        job.event("run_end", "distributed").at("intervals").at("accuracy"));
  const Event chance = parsed(run_program({"compare", folder, folder, "--json"})).at("chance").at(0);
  CHECK(chance.at("mcnemar").at("p") == 1);
  CHECK(chance.at("differences").at("accuracy").at("more_than_chance") == false);
  const std::string exported = (job.folder() / "model.onnx").string();
  CHECK(run_program({"export", "--format", "onnx", folder, "--out", exported}).exit_code == 0);
  CHECK(std::filesystem::file_size(exported) > 0);
  CHECK(run_program({"inspect", folder}).exit_code == 0);
  const std::string more =
      "train.epochs=" + std::to_string(job.event("run_end", "distributed").at("epochs").get<int>() + 1);
  const Finished resumed = run_program({"run", "--resume", folder, "--set", more});
  INFO(resumed.output << resumed.errors);
  CHECK(resumed.exit_code == 0);
  CHECK(job.events("run_start", "distributed").back().at("resumed_step") ==
        job.events("checkpoint").front().at("step"));
}

TEST_CASE("the first stop signal saves what was trained, and the run resumes from there") {
  const Job job;
  Program program(job.run(kEndless));
  job.wait_for_step();
  program.send(SIGINT);
  const Finished stopped = program.wait();
  INFO(stopped.output << stopped.errors);
  CHECK(stopped.exit_code == 75);
  CHECK_THAT(stopped.errors, ContainsSubstring("stopped by SIGINT after step "));
  CHECK(last_line(stopped.errors) == "to resume: dtrain run --resume " + job.run_folder().string());
  CHECK(list_checkpoints(checkpoints_of(job)).size() == 1);
}

TEST_CASE("a run whose folder is removed writes what it can again, and says so") {
  const Job job;
  Program program(job.run(kEndless));
  job.wait_for_step();
  // At once: while its files are removed one by one, others may be made in it.
  std::filesystem::rename(job.run_folder(), job.folder() / "removed");
  std::filesystem::remove_all(job.folder() / "removed");
  REQUIRE(eventually(kSoon, [&] { return !job.events("warning").empty(); }));
  program.send(SIGTERM);
  const Finished stopped = program.wait();
  INFO(stopped.output << stopped.errors);
  CHECK(stopped.exit_code == 75);
  CHECK_THAT(stopped.output, ContainsSubstring("WARNING: " + job.run_folder().string() +
                                               ", or some of it, was removed or moved while the job runs"));
  CHECK_FALSE(job.events("run_start", "distributed").empty());  // from before
  CHECK(job.event("run_end", "distributed").at("status") == "stopped");
  CHECK(std::filesystem::exists(job.run_folder() / "spec.yaml"));
  CHECK(list_checkpoints(checkpoints_of(job)).size() == 1);
  CHECK(run_program({"eval", job.run_folder().string()}).exit_code == 0);
}

TEST_CASE("the best checkpoint, or that of an epoch, can be evaluated and is marked") {
  const Job job;
  const Finished run = run_program(job.run(Job::set(
      {"train.epochs=4", "checkpoint.every_epochs=1", "checkpoint.keep=9", "checkpoint.best.metric=loss"})));
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  const std::string folder = job.run_folder().string();
  const std::vector<Event> evaluations = job.events("eval", "distributed");
  REQUIRE(evaluations.size() == 4);
  size_t best = 0;
  for (size_t epoch = 0; epoch < 4; ++epoch) {
    if (evaluations[epoch].at("loss") < evaluations[best].at("loss")) best = epoch;
    const Finished eval = run_program({"eval", folder, "--json", "--epoch", std::to_string(epoch + 1)});
    CHECK(parsed(eval).at("loss").get<double>() ==
          Approx(evaluations[epoch].at("loss").get<double>()).epsilon(1e-6));
  }
  const Finished eval = run_program({"eval", folder, "--json", "--best"});
  CHECK(parsed(eval).at("loss").get<double>() ==
        Approx(evaluations[best].at("loss").get<double>()).epsilon(1e-6));
  const Event shown = parsed(run_program({"inspect", folder, "--json"}));
  for (size_t epoch = 0; epoch < 4; ++epoch)
    CHECK(shown.at("checkpoints")[epoch].at("best") == (epoch == best));
  const std::string one = list_checkpoints(checkpoints_of(job)).front().path.string();
  const Finished refused = run_program({"eval", one, "--best"});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.errors, ContainsSubstring("name the run, " + folder));
  const std::string path_of_best = list_checkpoints(checkpoints_of(job))[best].path.string() + "/";
  CHECK(parsed(run_program({"inspect", path_of_best, "--json"})).at("checkpoints")[0].at("best") == true);
  const Finished none = run_program({"eval", folder, "--epoch", "7"});
  CHECK(none.exit_code == 7);
  CHECK_THAT(none.errors, ContainsSubstring("no checkpoint of epoch 7; there is one of epoch 1, 2, 3, 4"));
}

// Made once.
const Job& finished_run() {
  static const Job job;
  static const bool made = (require_done(run_program(job.run())), true);
  static_cast<void>(made);
  return job;
}

TEST_CASE("a run starts from the weights of another, whatever the strategy") {
  const Arguments strategy = Job::set(
      GENERATE(Arguments{}, Arguments{"strategy.kind=one_device"}, Arguments{"strategy.kind=central_storage"},
               Arguments{"strategy.kind=parameter_server", "strategy.workers=1", "strategy.servers=2"}));
  const Job& first = finished_run();
  const std::string weights = "model.weights=" + first.run_folder().string();
  const Job second;
  // A step of a learning rate that changes nothing shows what the weights were.
  const Finished run = run_program(second.run(
      Job::set({weights, "train.max_steps=1", "train.optimizer.learning_rate=1.0e-30"}) + strategy));
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
  CHECK(second.event("run_end", "distributed").at("loss").get<double>() ==
        Approx(first.event("run_end", "distributed").at("loss").get<double>()).epsilon(1e-6));
  CHECK_THAT(run.output, ContainsSubstring("variables start from " + first.run_folder().string()));
  const Event start = second.event("run_start", "distributed");
  const std::filesystem::path file = start.at("weights").get<std::string>();
  CHECK(file.parent_path() == list_checkpoints(checkpoints_of(first)).back().path);
  CHECK(start.at("weights_sha256") == hexadecimal(sha256_of_file(file)));
}

TEST_CASE("a run does not start from weights that do not fit its model") {
  const std::string weights = "model.weights=" + finished_run().run_folder().string();
  const Finished refused = run_program(Job().run(Job::set({weights, "model.hidden=[3]"})));
  CHECK(refused.exit_code == 7);
  CHECK_THAT(refused.errors, ContainsSubstring("does not fit the model:"));
}

}  // namespace
}  // namespace dtrain
