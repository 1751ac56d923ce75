#include "display/sweep.h"

#include "catch.h"
#include "runs/sample_sweep.h"

namespace dtrain {
namespace {

// clang-format off
const char* const kTable = R"(# sweep of mnist_mirrored: weak scaling (the batch of each replica stays), strategy mirrored
# dataset mnist, 235,146 parameters, float32, communication auto, 1 thread a replica on 2 cores
# medians of 3 runs in turn, each of 300 steps after the first 10
# speedup, efficiency: against the fewest replicas with the same batch
# the last five: where a mean step of rank 0 spends its time
# replicas x batch          examples/s             step  speedup  effic.   data  forward,  communi-  update    waiting
# = global batch    median      lowest  highest  median                    wait  backward    cation          for peers
#                                                    ms        x       %     ms        ms        ms      ms         ms
  1 x 64 = 64       64,000      60,000   65,000   1.000     1.00   100.0  0.125     0.500     0.250   0.062      0.000
  2 x 64 = 128      96,000      90,000  100,000   1.250     1.50    75.0  0.125     0.625     0.250   0.062      0.000
  4 x 64 = 256      failed
# 4 x 64 = 256: failed, exit code 4: rank 3 failed first: killed by SIGKILL, "out of memory"
# 2 of 3 points measured, 1 failed; sweep.csv, sweep.json and sweep.svg are in runs/mnist_mirrored-sweep
)";
const char* const kCsv = R"(replicas,per_replica_batch,global_batch,runs,examples_per_second,examples_per_second_lowest,examples_per_second_highest,step_ms,speedup,scaling_efficiency,data_wait_ms,compute_ms,communicate_ms,update_ms,wait_for_peers_ms,exit_code,error
1,64,64,3,64000,60000,65000,1,1,1,0.125,0.5,0.25,0.0625,0,0,
2,64,128,3,96000,90000,100000,1.25,1.5,0.75,0.125,0.625,0.25,0.0625,0,0,
4,64,256,0,,,,,,,,,,,,4,"rank 3 failed first: killed by SIGKILL, ""out of memory"""
)";
// clang-format on

TEST_CASE("the table of a sweep") { CHECK(sweep_table(sample_sweep()) == kTable); }

TEST_CASE("on a narrow terminal the columns of a sweep follow below each other") {
  const std::string table = sweep_table(sample_sweep(), 60);
  CHECK_THAT(table, ContainsSubstring("# = global batch    median      lowest  highest  median\n") &&
                        ContainsSubstring("  2 x 64 = 128      96,000      90,000  100,000   1.250\n") &&
                        ContainsSubstring("  2 x 64 = 128         1.50    75.0  0.125     0.625\n") &&
                        ContainsSubstring("  2 x 64 = 128         0.250   0.062      0.000\n"));
}

TEST_CASE("the values of a sweep, separated by commas") { CHECK(sweep_csv(sample_sweep()) == kCsv); }

TEST_CASE("a table names a fallback dataset and what was not measured") {
  Sweep sweep = sample_sweep();
  sweep.strong = true;
  sweep.dataset = "fashion_mnist";
  sweep.dataset_requested = "mnist";
  sweep.parameters = 0;
  sweep.points = {sweep_point(1, 64, {}), failed_point(3, 64, ExitCode::kUsage, "batch.global: two\nlines")};
  const std::string table = sweep_table(sweep);
  CHECK_THAT(table, ContainsSubstring("strong scaling (the global batch stays)"));
  CHECK_THAT(table,
             ContainsSubstring("fashion_mnist (NOTE: a fallback; mnist was not found), communication"));
  CHECK_THAT(table, ContainsSubstring("\n  1 x 64 = 64       not measured\n"));
  CHECK_THAT(table, ContainsSubstring("\n# 3 x - = 64: failed, exit code 2: batch.global: two\\x0alines\n"));
  CHECK_THAT(table, ContainsSubstring("# 0 of 2 points measured, 1 failed;"));
  CHECK_THAT(sweep_csv(sweep), ContainsSubstring("3,,64,0,,,,,,,,,,,,2,\"batch.global: two\nlines\"\n"));
}

}  // namespace
}  // namespace dtrain
