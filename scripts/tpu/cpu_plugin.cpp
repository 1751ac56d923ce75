// A PJRT plugin whose devices are this machine's processor: XLA's own compiler for processors, which is part
// of TensorFlow's library, behind the functions of PJRT's C API that dtrain calls. scripts/check_tpu builds
// it and lets dtrain train on it, because a TPU is not at hand everywhere.
// XLA_FLAGS=--xla_force_host_platform_device_count=N says how many devices there are.
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "xla/hlo/builder/xla_computation.h"
#include "xla/pjrt/c/pjrt_c_api.h"
#include "xla/pjrt/pjrt_client.h"
#include "xla/pjrt/pjrt_executable.h"
#include "xla/pjrt/plugin/xla_cpu/xla_cpu_pjrt_client.h"
#include "xla/pjrt/proto/compile_options.pb.h"

namespace xla {
// Of xla/pjrt/mlir_to_hlo.h, whose includes TensorFlow's package lacks.
absl::Status ParseMlirModuleStringAndConvertToXlaComputation(absl::string_view text,
                                                             XlaComputation& computation, bool use_tuple_args,
                                                             bool return_tuple);
}  // namespace xla

struct PJRT_Error {
  absl::Status status;
};
struct PJRT_Device {
  xla::PjRtDevice* device;
};
struct PJRT_Client {
  std::unique_ptr<xla::PjRtClient> client;
  std::vector<PJRT_Device> devices;
  std::vector<PJRT_Device*> pointers;
};
struct PJRT_Buffer {
  std::unique_ptr<xla::PjRtBuffer> buffer;
};
struct PJRT_Event {
  xla::Future<> future;
};
struct PJRT_LoadedExecutable {
  std::unique_ptr<xla::PjRtLoadedExecutable> program;
};
struct PJRT_Executable {
  xla::PjRtLoadedExecutable* program;
  std::string serialized;
};

namespace {

PJRT_Error* error_of(const absl::Status& status) { return status.ok() ? nullptr : new PJRT_Error{status}; }

void error_destroy(PJRT_Error_Destroy_Args* args) { delete args->error; }

void error_message(PJRT_Error_Message_Args* args) {
  args->message = args->error->status.message().data();
  args->message_size = args->error->status.message().size();
}

PJRT_Error* error_code(PJRT_Error_GetCode_Args* args) {
  args->code = static_cast<PJRT_Error_Code>(args->error->status.code());
  return nullptr;
}

PJRT_Error* initialize(PJRT_Plugin_Initialize_Args* /*args*/) { return nullptr; }

PJRT_Error* client_create(PJRT_Client_Create_Args* args) {
  auto client = xla::GetXlaPjrtCpuClient({});
  if (!client.ok()) return error_of(client.status());
  args->client = new PJRT_Client{*std::move(client), {}, {}};
  for (xla::PjRtDevice* device : args->client->client->addressable_devices())
    args->client->devices.push_back({device});
  for (PJRT_Device& device : args->client->devices) args->client->pointers.push_back(&device);
  return nullptr;
}

PJRT_Error* client_destroy(PJRT_Client_Destroy_Args* args) {
  delete args->client;
  return nullptr;
}

PJRT_Error* client_platform_name(PJRT_Client_PlatformName_Args* args) {
  const absl::string_view name = args->client->client->platform_name();
  args->platform_name = name.data();
  args->platform_name_size = name.size();
  return nullptr;
}

PJRT_Error* client_platform_version(PJRT_Client_PlatformVersion_Args* args) {
  const absl::string_view version = args->client->client->platform_version();
  args->platform_version = version.data();
  args->platform_version_size = version.size();
  return nullptr;
}

PJRT_Error* client_devices(PJRT_Client_AddressableDevices_Args* args) {
  args->addressable_devices = args->client->pointers.data();
  args->num_addressable_devices = args->client->pointers.size();
  return nullptr;
}

PJRT_Error* client_compile(PJRT_Client_Compile_Args* args) {
  xla::CompileOptionsProto proto;
  if (!proto.ParseFromString(std::string(args->compile_options, args->compile_options_size)))
    return error_of(absl::InvalidArgumentError("the compile options cannot be read"));
  absl::StatusOr<xla::CompileOptions> options = xla::CompileOptions::FromProto(proto);
  if (!options.ok()) return error_of(options.status());
  const absl::string_view text(args->program->code, args->program->code_size);
  xla::XlaComputation computation;
  const absl::Status status = xla::ParseMlirModuleStringAndConvertToXlaComputation(
      text, computation, /*use_tuple_args=*/false, /*return_tuple=*/false);
  if (!status.ok()) return error_of(status);
  auto program = args->client->client->CompileAndLoad(computation, *options);
  if (!program.ok()) return error_of(program.status());
  args->executable = new PJRT_LoadedExecutable{*std::move(program)};
  return nullptr;
}

PJRT_Error* loaded_executable_destroy(PJRT_LoadedExecutable_Destroy_Args* args) {
  delete args->executable;
  return nullptr;
}

PJRT_Error* loaded_executable_devices(PJRT_LoadedExecutable_AddressableDevices_Args* args) {
  // In the order of replicas; all programs here run on the first devices.
  static thread_local std::vector<PJRT_Device> devices;
  static thread_local std::vector<PJRT_Device*> pointers;
  devices.clear();
  pointers.clear();
  for (xla::PjRtDevice* device : args->executable->program->addressable_devices())
    devices.push_back({device});
  for (PJRT_Device& device : devices) pointers.push_back(&device);
  args->addressable_devices = pointers.data();
  args->num_addressable_devices = pointers.size();
  return nullptr;
}

PJRT_Error* loaded_executable_executable(PJRT_LoadedExecutable_GetExecutable_Args* args) {
  args->executable = new PJRT_Executable{args->loaded_executable->program.get(), ""};
  return nullptr;
}

PJRT_Error* executable_destroy(PJRT_Executable_Destroy_Args* args) {
  delete args->executable;
  return nullptr;
}

PJRT_Error* executable_code_size(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args* args) {
  args->size_in_bytes = args->executable->program->SizeOfGeneratedCodeInBytes();
  return nullptr;
}

PJRT_Error* executable_outputs(PJRT_Executable_NumOutputs_Args* args) {
  auto types = args->executable->program->GetOutputElementTypes();
  if (!types.ok()) return error_of(types.status());
  args->num_outputs = types->empty() ? 0 : types->front().size();
  return nullptr;
}

PJRT_Error* loaded_executable_execute(PJRT_LoadedExecutable_Execute_Args* args) {
  std::vector<std::vector<xla::PjRtBuffer*>> arguments(args->num_devices);
  for (size_t device = 0; device < args->num_devices; ++device) {
    for (size_t i = 0; i < args->num_args; ++i)
      arguments[device].push_back(args->argument_lists[device][i]->buffer.get());
  }
  std::optional<std::vector<xla::Future<>>> done;
  if (args->device_complete_events != nullptr) done.emplace();
  auto results = args->executable->program->Execute(arguments, {}, done);
  if (!results.ok()) return error_of(results.status());
  for (size_t device = 0; device < args->num_devices; ++device) {
    for (size_t i = 0; i < (*results)[device].size(); ++i)
      args->output_lists[device][i] = new PJRT_Buffer{std::move((*results)[device][i])};
    if (done) args->device_complete_events[device] = new PJRT_Event{std::move((*done)[device])};
  }
  return nullptr;
}

xla::PrimitiveType type_of(PJRT_Buffer_Type type) {
  switch (type) {
    case PJRT_Buffer_Type_F32:
      return xla::F32;
    case PJRT_Buffer_Type_S32:
      return xla::S32;
    case PJRT_Buffer_Type_U32:
      return xla::U32;
    case PJRT_Buffer_Type_U8:
      return xla::U8;
    default:
      return xla::PRIMITIVE_TYPE_INVALID;
  }
}

PJRT_Error* buffer_from_host(PJRT_Client_BufferFromHostBuffer_Args* args) {
  auto memory = args->device->device->default_memory_space();
  if (!memory.ok()) return error_of(memory.status());
  auto buffer = args->client->client->BufferFromHostBuffer(
      args->data, type_of(args->type), absl::MakeSpan(args->dims, args->num_dims), std::nullopt,
      xla::PjRtClient::HostBufferSemantics::kImmutableOnlyDuringCall, [] {}, *memory,
      /*device_layout=*/nullptr);
  if (!buffer.ok()) return error_of(buffer.status());
  args->buffer = new PJRT_Buffer{*std::move(buffer)};
  args->done_with_host_buffer = new PJRT_Event{xla::Future<>(absl::OkStatus())};
  return nullptr;
}

PJRT_Error* buffer_to_host(PJRT_Buffer_ToHostBuffer_Args* args) {
  xla::PjRtBuffer& buffer = *args->src->buffer;
  auto size = buffer.GetOnDeviceSizeInBytes();
  if (!size.ok()) return error_of(size.status());
  if (args->dst == nullptr) {
    args->dst_size = *size;
    return nullptr;
  }
  args->event = new PJRT_Event{buffer.CopyRawToHost(args->dst, 0, static_cast<int64_t>(args->dst_size))};
  return nullptr;
}

PJRT_Error* buffer_dimensions(PJRT_Buffer_Dimensions_Args* args) {
  const absl::Span<const int64_t> dimensions = args->buffer->buffer->dimensions();
  args->dims = dimensions.data();
  args->num_dims = dimensions.size();
  return nullptr;
}

PJRT_Error* buffer_destroy(PJRT_Buffer_Destroy_Args* args) {
  delete args->buffer;
  return nullptr;
}

PJRT_Error* event_await(PJRT_Event_Await_Args* args) { return error_of(args->event->future.Await()); }

PJRT_Error* event_destroy(PJRT_Event_Destroy_Args* args) {
  delete args->event;
  return nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  static const PJRT_Api api = [] {
    PJRT_Api all{};
    all.struct_size = PJRT_Api_STRUCT_SIZE;
    all.pjrt_api_version = {PJRT_Api_Version_STRUCT_SIZE, nullptr, PJRT_API_MAJOR, PJRT_API_MINOR};
    all.PJRT_Error_Destroy = error_destroy;
    all.PJRT_Error_Message = error_message;
    all.PJRT_Error_GetCode = error_code;
    all.PJRT_Plugin_Initialize = initialize;
    all.PJRT_Event_Destroy = event_destroy;
    all.PJRT_Event_Await = event_await;
    all.PJRT_Client_Create = client_create;
    all.PJRT_Client_Destroy = client_destroy;
    all.PJRT_Client_PlatformName = client_platform_name;
    all.PJRT_Client_PlatformVersion = client_platform_version;
    all.PJRT_Client_AddressableDevices = client_devices;
    all.PJRT_Client_Compile = client_compile;
    all.PJRT_Client_BufferFromHostBuffer = buffer_from_host;
    all.PJRT_LoadedExecutable_Destroy = loaded_executable_destroy;
    all.PJRT_LoadedExecutable_AddressableDevices = loaded_executable_devices;
    all.PJRT_LoadedExecutable_GetExecutable = loaded_executable_executable;
    all.PJRT_LoadedExecutable_Execute = loaded_executable_execute;
    all.PJRT_Executable_Destroy = executable_destroy;
    all.PJRT_Executable_NumOutputs = executable_outputs;
    all.PJRT_Executable_SizeOfGeneratedCodeInBytes = executable_code_size;
    all.PJRT_Buffer_Destroy = buffer_destroy;
    all.PJRT_Buffer_Dimensions = buffer_dimensions;
    all.PJRT_Buffer_ToHostBuffer = buffer_to_host;
    return all;
  }();
  return &api;
}
