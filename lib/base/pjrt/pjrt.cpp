// A client of PJRT's C API (https://openxla.org/xla/pjrt): a library of its own, because it is built where
// the API's header is, and used where a job asks for a plugin. lib/base/device/plugins.cpp loads it. It uses
// nothing of dtrain but headers.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <numeric>

#include "core/protobuf.h"
#include "pjrt/gpus.h"
#include "pjrt/plugin.h"

namespace dtrain::pjrt {
namespace {

PJRT_Buffer_Type type_of(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return PJRT_Buffer_Type_F32;
    case at::kInt:
      return PJRT_Buffer_Type_S32;
    case at::kUInt32:
      return PJRT_Buffer_Type_U32;
    case at::kByte:
      return PJRT_Buffer_Type_U8;
    default:
      throw Error(ExitCode::kBug, "a tensor of this type cannot be sent to a device");
  }
}

// One of XLA's own flags, {name: {string_field}}. What the user says of it in XLA_FLAGS holds.
std::string xla_flag(const std::string& name, const std::string& value) {
  using protobuf::bytes;
  const char* const flags = std::getenv("XLA_FLAGS");
  if (flags != nullptr && std::string(flags).find(name) != std::string::npos) return "";
  return bytes(7, bytes(1, name) + bytes(2, bytes(1, value)));
}

// How a plugin is to compile a program: XLA's CompileOptionsProto, field by field
// (https://github.com/openxla/xla, xla/pjrt/proto/compile_options.proto):
// {executable_build_options: {device_ordinal: -1, num_replicas, num_partitions: 1}}; if quick, also
// optimization_level: EFFORT_O0, which plugins that do not know it ignore.
std::string compile_options(const CompileOptions& how, bool on_gpus) {
  using protobuf::integer;
  const std::string build = integer(1, -1) + integer(4, how.replicas) + integer(5, 1);
  const std::string options = protobuf::bytes(3, how.quick ? build + integer(24, 9) : build);
  // Without measuring (xla_gpu_exclude_nondeterministic_ops), XLA has no kernels for most products.
  const bool keeps_kernels = on_gpus && !how.kernels_in.empty();
  return keeps_kernels ? options + xla_flag("xla_gpu_per_fusion_autotune_cache_dir", how.kernels_in)
                       : options;
}

// A program's text as plugins take it; refers to the text.
PJRT_Program program_of(const std::string& text) {
  static constexpr char kFormat[] = "mlir";
  auto program = DTRAIN_PJRT_ARGUMENTS(PJRT_Program);
  program.code = const_cast<char*>(text.data());
  program.code_size = text.size();
  program.format = kFormat;
  program.format_size = sizeof kFormat - 1;
  return program;
}

int64_t code_bytes_of(const Plugin& plugin, PJRT_Executable* executable) {
  auto args = DTRAIN_PJRT_ARGUMENTS(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args);
  args.executable = executable;
  try {
    plugin.call(&PJRT_Api::PJRT_Executable_SizeOfGeneratedCodeInBytes, args);
  } catch (const Error&) {
    return -1;  // some plugins do not count
  }
  return args.size_in_bytes;
}

// Waits for an event and gives it back.
void await(const Plugin& plugin, PJRT_Event* event) {
  const DTRAIN_PJRT_OWNED(Event, event) owned(event, {&plugin});
  auto args = DTRAIN_PJRT_ARGUMENTS(PJRT_Event_Await_Args);
  args.event = event;
  plugin.call(&PJRT_Api::PJRT_Event_Await, args);
}

// A plugin and its client, kept by all that they made.
struct Client {
  Client(const std::string& path, const std::optional<GpuChoice>& gpus) : plugin(path) {
    const NamedOptions options = gpus ? client_options(*gpus) : NamedOptions();
    auto args = DTRAIN_PJRT_ARGUMENTS(PJRT_Client_Create_Args);
    args.create_options = options.data();
    args.num_options = options.size();
    plugin.call(&PJRT_Api::PJRT_Client_Create, args, ExitCode::kUsage);
    client = {args.client, {&plugin}};
  }

  Plugin plugin;
  DTRAIN_PJRT_OWNED(Client, client) client;
};
using ClientPtr = std::shared_ptr<const Client>;

class Buffer : public DeviceTensor {
 public:
  Buffer(ClientPtr client, PJRT_Buffer* buffer)
      : client_(std::move(client)), buffer_(buffer, {&client_->plugin}) {}

  void read(void* data, int64_t size) const override {
    // The device may keep it in another order.
    auto shape = DTRAIN_PJRT_ARGUMENTS(PJRT_Buffer_Dimensions_Args);
    shape.buffer = get();
    client_->plugin.call(&PJRT_Api::PJRT_Buffer_Dimensions, shape);
    std::vector<int64_t> order(shape.num_dims);
    std::iota(order.rbegin(), order.rend(), 0);
    auto layout = DTRAIN_PJRT_ARGUMENTS(PJRT_Buffer_MemoryLayout);
    layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
    layout.tiled = DTRAIN_PJRT_ARGUMENTS(PJRT_Buffer_MemoryLayout_Tiled);
    layout.tiled.minor_to_major = order.data();
    layout.tiled.minor_to_major_size = order.size();
    auto args = DTRAIN_PJRT_ARGUMENTS(PJRT_Buffer_ToHostBuffer_Args);
    args.src = get();
    args.host_layout = &layout;
    args.dst = data;
    args.dst_size = static_cast<size_t>(size);
    client_->plugin.call(&PJRT_Api::PJRT_Buffer_ToHostBuffer, args);
    await(client_->plugin, args.event);
  }

  PJRT_Buffer* get() const { return buffer_.get(); }

 private:
  ClientPtr client_;
  DTRAIN_PJRT_OWNED(Buffer, buffer) buffer_;
};

// One program on all its devices.
class Execution : public DeviceWork {
 public:
  Execution(ClientPtr client, std::vector<PJRT_Event*> events)
      : client_(std::move(client)), events_(std::move(events)) {}
  ~Execution() override {
    try {
      wait();
    } catch (const Error&) {  // who wanted to know has waited
    }
  }
  Execution(Execution&&) = delete;  // nor copied

  // All devices, also when one has failed: the others may still be using their arguments.
  void wait() override {
    std::exception_ptr first;
    for (PJRT_Event* const event : std::exchange(events_, {})) {
      try {
        await(client_->plugin, event);
      } catch (const Error&) {
        if (!first) first = std::current_exception();
      }
    }
    if (first) std::rethrow_exception(first);
  }

 private:
  ClientPtr client_;
  std::vector<PJRT_Event*> events_;  // those that nobody has waited for
};

class Program : public LoadedProgram {
 public:
  Program(ClientPtr client, PJRT_LoadedExecutable* executable, int64_t replicas)
      : client_(std::move(client)),
        executable_(executable, {&client_->plugin}),
        replicas_(static_cast<size_t>(replicas)) {
    auto args = DTRAIN_PJRT_ARGUMENTS(PJRT_LoadedExecutable_GetExecutable_Args);
    args.loaded_executable = executable;
    client_->plugin.call(&PJRT_Api::PJRT_LoadedExecutable_GetExecutable, args);
    const DTRAIN_PJRT_OWNED(Executable, executable) on_no_device(args.executable, {&client_->plugin});
    auto outputs = DTRAIN_PJRT_ARGUMENTS(PJRT_Executable_NumOutputs_Args);
    outputs.executable = args.executable;
    client_->plugin.call(&PJRT_Api::PJRT_Executable_NumOutputs, outputs);
    results_ = outputs.num_outputs;
    code_bytes_ = code_bytes_of(client_->plugin, args.executable);
  }

  ProgramRun run(const std::vector<DeviceTensorList>& arguments) override {
    if (arguments.size() != replicas_)
      throw Error(ExitCode::kBug, "a program needs arguments for each device");
    std::vector<std::vector<PJRT_Buffer*>> in(replicas_);
    std::vector<std::vector<PJRT_Buffer*>> out(replicas_, std::vector<PJRT_Buffer*>(results_));
    std::vector<PJRT_Buffer* const*> in_lists;
    std::vector<PJRT_Buffer**> out_lists;
    for (size_t device = 0; device < replicas_; ++device) {
      for (const DeviceTensorPtr& each : arguments[device])
        in[device].push_back(static_cast<const Buffer&>(*each).get());
      in_lists.push_back(in[device].data());
      out_lists.push_back(out[device].data());
    }
    auto options = DTRAIN_PJRT_ARGUMENTS(PJRT_ExecuteOptions);
    std::vector<PJRT_Event*> done(replicas_);
    auto args = DTRAIN_PJRT_ARGUMENTS(PJRT_LoadedExecutable_Execute_Args);
    args.executable = executable_.get();
    args.options = &options;
    args.argument_lists = in_lists.data();
    args.num_devices = replicas_;
    args.num_args = in.front().size();
    args.output_lists = out_lists.data();
    args.device_complete_events = done.data();
    client_->plugin.call(&PJRT_Api::PJRT_LoadedExecutable_Execute, args);
    ProgramRun run{std::vector<DeviceTensorList>(replicas_),
                   std::make_unique<Execution>(client_, std::move(done))};
    for (size_t device = 0; device < replicas_; ++device) {
      for (PJRT_Buffer* const each : out[device])
        run.results[device].push_back(std::make_shared<Buffer>(client_, each));
    }
    return run;
  }

  int64_t code_bytes() const override { return code_bytes_; }

 private:
  ClientPtr client_;
  DTRAIN_PJRT_OWNED(LoadedExecutable, executable) executable_;
  size_t replicas_;
  size_t results_ = 0;
  int64_t code_bytes_ = -1;
};

int64_t free_memory_of(const Plugin& plugin, PJRT_Device* device) {
  auto args = DTRAIN_PJRT_ARGUMENTS(PJRT_Device_MemoryStats_Args);
  args.device = device;
  try {
    plugin.call(&PJRT_Api::PJRT_Device_MemoryStats, args);
  } catch (const Error&) {
    return 0;  // some plugins do not count
  }
  return args.bytes_limit_is_set ? std::max<int64_t>(0, args.bytes_limit - args.bytes_in_use) : 0;
}

class Runner : public ProgramRunner {
 public:
  Runner(const std::string& path, const std::optional<GpuChoice>& gpus)
      : client_(std::make_shared<Client>(path, gpus)) {
    auto name = DTRAIN_PJRT_ARGUMENTS(PJRT_Client_PlatformName_Args);
    name.client = client_->client.get();
    client_->plugin.call(&PJRT_Api::PJRT_Client_PlatformName, name, ExitCode::kUsage);
    platform_.assign(name.platform_name, name.platform_name_size);
    auto args = DTRAIN_PJRT_ARGUMENTS(PJRT_Client_AddressableDevices_Args);
    args.client = client_->client.get();
    client_->plugin.call(&PJRT_Api::PJRT_Client_AddressableDevices, args, ExitCode::kUsage);
    devices_.assign(args.addressable_devices, args.addressable_devices + args.num_addressable_devices);
    if (devices_.empty()) client_->plugin.refuse("it finds no devices on this host");
  }

  const std::string& platform() const override { return platform_; }
  int64_t devices() const override { return static_cast<int64_t>(devices_.size()); }
  int64_t free_memory() const override { return free_memory_of(client_->plugin, devices_.front()); }

  std::unique_ptr<LoadedProgram> compile(const std::string& text, const CompileOptions& how) override {
    const PJRT_Program program = program_of(text);
    const std::string options = compile_options(how, platform_ == kGpuPlatform);
    auto args = DTRAIN_PJRT_ARGUMENTS(PJRT_Client_Compile_Args);
    args.client = client_->client.get();
    args.program = &program;
    args.compile_options = options.data();
    args.compile_options_size = options.size();
    client_->plugin.call(&PJRT_Api::PJRT_Client_Compile, args);
    auto loaded = std::make_unique<Program>(client_, args.executable, how.replicas);
    order_devices(args.executable, how.replicas);
    return loaded;
  }

  DeviceTensorPtr send(const HostTensor& tensor, int64_t device) override {
    auto args = DTRAIN_PJRT_ARGUMENTS(PJRT_Client_BufferFromHostBuffer_Args);
    args.client = client_->client.get();
    args.data = tensor.data;
    args.type = type_of(tensor.type);
    args.dims = tensor.shape.data();
    args.num_dims = tensor.shape.size();
    args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
    args.device = devices_.at(static_cast<size_t>(device));
    client_->plugin.call(&PJRT_Api::PJRT_Client_BufferFromHostBuffer, args);
    auto buffer = std::make_shared<Buffer>(client_, args.buffer);
    await(client_->plugin, args.done_with_host_buffer);
    return buffer;
  }

 private:
  // A plugin may give replicas another order than its devices have: arguments follow that of replicas.
  void order_devices(PJRT_LoadedExecutable* executable, int64_t replicas) {
    auto args = DTRAIN_PJRT_ARGUMENTS(PJRT_LoadedExecutable_AddressableDevices_Args);
    args.executable = executable;
    client_->plugin.call(&PJRT_Api::PJRT_LoadedExecutable_AddressableDevices, args);
    if (args.num_addressable_devices != static_cast<size_t>(replicas))
      client_->plugin.refuse("it compiles for " + std::to_string(args.num_addressable_devices) +
                             " devices a program of " + std::to_string(replicas));
    std::copy_n(args.addressable_devices, args.num_addressable_devices, devices_.begin());
  }

  ClientPtr client_;
  std::string platform_;
  std::vector<PJRT_Device*> devices_;
};

// A plugin that compiles for a topology without devices.
class Topology {
 public:
  Topology(const Plugin& plugin, const std::string& name)
      : plugin_(plugin), options_(topology_options(name)) {
    auto args = DTRAIN_PJRT_ARGUMENTS(PJRT_TopologyDescription_Create_Args);
    args.topology_name = name.data();
    args.topology_name_size = name.size();
    args.create_options = options_.data();
    args.num_options = options_.size();
    plugin_.call(&PJRT_Api::PJRT_TopologyDescription_Create, args, ExitCode::kUsage);
    topology_ = {args.topology, {&plugin}};
  }

  AheadProgram compile(const std::string& text, const CompileOptions& how) const {
    const auto start = std::chrono::steady_clock::now();
    const PJRT_Program program = program_of(text);
    const std::string options = compile_options(how, options_.size() > 0);
    auto args = DTRAIN_PJRT_ARGUMENTS(PJRT_Compile_Args);
    args.topology = topology_.get();
    args.program = &program;
    args.compile_options = options.data();
    args.compile_options_size = options.size();
    plugin_.call(&PJRT_Api::PJRT_Compile, args, ExitCode::kUsage);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    const DTRAIN_PJRT_OWNED(Executable, executable) owned(args.executable, {&plugin_});
    return {taken.count(), code_bytes_of(plugin_, args.executable), serialised(args.executable)};
  }

 private:
  std::string serialised(PJRT_Executable* executable) const {
    auto args = DTRAIN_PJRT_ARGUMENTS(PJRT_Executable_Serialize_Args);
    args.executable = executable;
    plugin_.call(&PJRT_Api::PJRT_Executable_Serialize, args, ExitCode::kUsage);
    std::string bytes(args.serialized_bytes, args.serialized_bytes_size);
    args.serialized_executable_deleter(args.serialized_executable);
    return bytes;
  }

  const Plugin& plugin_;
  NamedOptions options_;  // none, unless it is one of GPUs
  DTRAIN_PJRT_OWNED(TopologyDescription, topology) topology_;
};

class Module : public ProgramModule {
 public:
  std::shared_ptr<ProgramRunner> open(const std::string& path,
                                      const std::optional<GpuChoice>& gpus) override {
    return std::make_shared<Runner>(path, gpus);
  }

  AheadProgram compile_ahead(const std::string& path, const std::string& topology, const std::string& text,
                             const CompileOptions& options) override {
    const Plugin plugin(path);
    return Topology(plugin, topology).compile(text, options);
  }
};

}  // namespace
}  // namespace dtrain::pjrt

// What lib/base/device/plugins.cpp looks for by name.
extern "C" {
__attribute__((visibility("default"))) extern const char dtrain_pjrt_version[];
const char dtrain_pjrt_version[] = DTRAIN_PJRT_VERSION;

__attribute__((visibility("default"))) dtrain::ProgramModule* dtrain_program_module() {
  static dtrain::pjrt::Module module;
  return &module;
}
}
