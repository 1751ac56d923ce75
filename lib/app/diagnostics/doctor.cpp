#include "diagnostics/doctor.h"

#include <ATen/ATen.h>
#include <ATen/Version.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include "core/descriptor.h"
#include "core/files.h"
#include "core/sockets.h"
#include "core/text.h"
#include "core/version.h"
#include "crypto/crypto.h"
#include "data/dataset.h"
#include "data/example_source.h"
#include "device/accelerator.h"
#include "device/plugins.h"
#include "diagnostics/all_reduce_bench.h"
#include "host/cores.h"
#include "host/host_memory.h"
#include "host/hosts.h"
#include "host/machine.h"
#include "kernels/instructions.h"
#include "store/describe_exception.h"

namespace dtrain {
namespace {

constexpr int64_t kMebibyte = 1 << 20;
constexpr int64_t kLargestProgram = 4096 * kMebibyte;
constexpr int64_t kSharedBytes = 64 * kMebibyte;
constexpr int64_t kLeastMemory = 512 * kMebibyte;
constexpr rlim_t kLeastFiles = 256;

// A finding about something that may differ between hosts.
Finding found(const std::string& check, bool ok, const std::string& text, const std::string& advice = "") {
  return {"", check, ok, text, advice, ""};
}

// The first half of a SHA-256, which is enough to tell files apart.
std::string checksum(const std::string& bytes) {
  return hexadecimal(sha256(bytes).substr(0, kSha256Bytes / 2));
}

Finding program() {
  const std::string hash = checksum(read_file(kOwnProgram, kLargestProgram, ExitCode::kUsage));
  const std::string versions = fmt::format("dtrain {} with LibTorch {}", kVersion, TORCH_VERSION);
  return {"", "program", true, fmt::format("{}, checksum {}", versions, hash), "", versions + " " + hash};
}

Finding libtorch() {
  const at::Tensor ones = at::ones({32, 32});
  const bool right = at::mm(ones, ones).sum().item<float>() == 32 * 32 * 32;
  return found("LibTorch", right,
               fmt::format("computes on the CPU with {}; dtrain's own loops with {}",
                           at::get_cpu_capability(), to_string(instructions())),
               "it computes wrong sums: install it again, or build it for this processor");
}

// Finds "2 GPUs (NVIDIA H100, 80 GiB each)", or why there are none. GPUs that this build cannot use are
// something to fix.
Finding devices() {
  const std::string cpu = "cpu: " + printable(processor_name());
  const GpuSurvey survey = survey_gpus();
  if (survey.gpus.empty()) return found("devices", true, fmt::format("{}; no GPU: {}", cpu, survey.none_why));
  std::vector<std::string> gpus;
  for (const Gpu& gpu : survey.gpus)
    gpus.push_back(
        fmt::format("cuda:{} {} ({})", gpus.size(), printable(gpu.name), human_bytes(gpu.memory_bytes)));
  const auto plugin = find_plugin(PluginDevices::kGpus, std::nullopt);
  const std::string xla = plugin && find_pjrt_module() ? "; XLA by " + printable(plugin->string(), 1000) : "";
  return found(
      "devices", find_cuda_module().has_value(), fmt::format("{}; {}{}", cpu, join(gpus), xla),
      "this dtrain lacks its module for GPUs: build it where the CUDA toolkit is found (docs/gpu.md)");
}

// Finds "8 tpu devices by /usr/lib/libtpu.so", or why there are none, which is something to fix only where a
// device node says that there is one.
Finding tpus() {
  const PluginSurvey survey = survey_plugin(PluginDevices::kTpus, std::nullopt);
  const auto module = find_pjrt_module();
  const char* const also =
      module ? "; the module for plugins is here" : "";  // else that is why there are none
  if (survey.devices == 0)
    return found("TPUs", count_tpu_nodes() == 0, fmt::format("none: {}{}", survey.none_why, also),
                 "see docs/tpu.md");
  return found("TPUs", true,
               fmt::format("{} of {} by {}", counted(survey.devices, "device"), printable(survey.platform),
                           printable(survey.plugin, 1000)));
}

Finding cores() {
  return found("cores", true,
               fmt::format("{} of {} may be used", available_cores(), ::sysconf(_SC_NPROCESSORS_ONLN)));
}

Finding memory() {
  const auto available = number_in("/proc/meminfo", "MemAvailable:");  // kB
  const int64_t bytes = available ? *available * 1024 : kLeastMemory;
  return found("memory", bytes >= kLeastMemory, human_bytes(bytes) + " available",
               "a replica takes some 120 MiB and its model: end other programs");
}

// Allocates memory without a name, as replicas do.
Finding shared_memory() {
  const Descriptor file(::memfd_create("dtrain-doctor", MFD_CLOEXEC));
  const bool ok = file.get() >= 0 && ::posix_fallocate(file.get(), 0, kSharedBytes) == 0;
  return found("shared memory", ok,
               fmt::format("{} {} (memfd; the size of /dev/shm does not matter)", human_bytes(kSharedBytes),
                           ok ? "available" : "not available"),
               "raise the memory limit of the container or control group");
}

Finding open_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return found("open files", limit.rlim_cur >= kLeastFiles, fmt::format("at most {}", limit.rlim_cur),
               fmt::format("ulimit -n {}", 4 * kLeastFiles));
}

Finding interfaces() {
  return found("interfaces", true, fmt::format("{}, host {}", join(own_addresses()), own_host_name()));
}

Finding port(uint16_t number) {
  for (const std::string& address : own_addresses()) {
    if (!is_host(address)) continue;  // "fe80::1%eth0"
    try {
      listen_at(address, number);
    } catch (const Error& error) {
      return found("port", false, error.what(), "end what uses it, or set network.port");
    }
  }
  return found("port", true, fmt::format("{} is free", number));
}

std::string bytes_of(const StoredExamples& examples) {
  std::string bytes;
  for (const at::Tensor& tensor : {examples.inputs, examples.targets}) {
    const at::Tensor flat = tensor.contiguous();
    bytes.append(static_cast<const char*>(flat.data_ptr()), flat.nbytes());
  }
  return bytes;
}

Finding dataset(const std::string& name) {
  DataSpec spec;
  spec.dataset = name;
  Finding finding{"", "dataset " + name, true, "", "", "none"};
  try {
    if (describe_dataset(spec).source.empty()) {
      finding.text = fmt::format("not here; scripts/fetch_dataset {} fetches it", name);
      return finding;
    }
    const Dataset data = load_dataset(spec, 0);
    finding.identity =
        checksum(bytes_of(stored_examples_of(*data.train)) + bytes_of(stored_examples_of(*data.test)));
    finding.text =
        fmt::format("{} + {} examples in {}, checksum {}", with_separators(data.train->size()),
                    with_separators(data.test->size()), printable(data.info.source), finding.identity);
  } catch (const Error& error) {
    finding.ok = false;
    finding.text = error.what();
    finding.advice = "replace the files";
  }
  return finding;
}

void all_reduce_here(const std::string& program, const OnFinding& on_finding) {
  AllReduceBench bench;
  bench.sizes = {kMebibyte};
  bench.iterations = 20;
  const auto result = supervise_all_reduce_bench(bench, program, [&](const AllReduceResult& row) {
    on_finding(
        found("all-reduce by " + row.communication, row.wrong == 0,
              fmt::format("{} between two processes: {:.0f} us", human_bytes(row.bytes), row.median_us),
              "its sums were wrong: report a bug"));
  });
  if (result.code != ExitCode::kDone)
    on_finding(found("all-reduce", false, printable(result.reason, 1000), "see docs/launching.md"));
}

}  // namespace

Event to_event(const Finding& finding) {
  Event event = {{"event", "finding"},          {"host", finding.host},
                 {"check", finding.check},      {"ok", finding.ok},
                 {"text", finding.text},        {"advice", finding.ok ? "" : finding.advice},
                 {"identity", finding.identity}};
  if (finding.numbers.is_object()) event.update(finding.numbers);
  return event;
}

std::optional<Finding> finding_from(const std::string& line) {
  const Event event = Event::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!event.is_object() || text_at(event, "event") != "finding") return std::nullopt;
  const auto ok = event.find("ok");
  if (ok == event.end() || !ok->is_boolean()) return std::nullopt;
  const auto text = [&](const char* name) { return printable(text_at(event, name).value_or(""), 1000); };
  return Finding{text("host"), text("check"),  ok->get<bool>(),
                 text("text"), text("advice"), text("identity")};
}

void examine_this_host(const DoctorOptions& options, const OnFinding& on_finding) {
  const auto look = [&](const char* check, const std::function<Finding()>& body) {
    try {
      on_finding(body());
    } catch (...) {
      on_finding({"", check, false, describe_current_exception().message, "see docs/launching.md", ""});
    }
  };
  look("program", program);
  look("LibTorch", libtorch);
  look("devices", devices);
  look("TPUs", tpus);
  look("cores", cores);
  look("memory", memory);
  look("shared memory", shared_memory);
  look("open files", open_files);
  look("interfaces", interfaces);
  look("port", [&] { return port(options.port); });
  for (const char* name : {"mnist", "fashion_mnist"}) look("dataset", [&] { return dataset(name); });
  all_reduce_here(options.program, on_finding);
}

}  // namespace dtrain
