// Stands in for a plugin of PJRT: devices whose memory is the host's, and programs that give back their first
// arguments as results. FAKE_PJRT_DEVICES is how many there are (2), FAKE_PJRT_VERSION the minor version of
// the API that it speaks, FAKE_PJRT_TABLE how many bytes of its table it has. FAKE_PJRT_FAILS=FUNCTION=CODE
// lets a function fail. FAKE_PJRT_MEMORY is what a device has of it, if it tells. Programs are compiled ahead
// with little effort if FAKE_PJRT_QUICK is 1, and else without. FAKE_PJRT_CLIENT, FAKE_PJRT_COMPILE and
// FAKE_PJRT_TOPOLOGY are what it has to be told, FAKE_PJRT_PLATFORM is what it calls its devices.
// fake_pjrt_alive() counts what the caller has not given back.
#include <pjrt_c_api.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

struct PJRT_Error {
  std::string message;
  PJRT_Error_Code code;
};
struct PJRT_Device {
  int number = 0;
};
struct PJRT_Client {
  std::vector<PJRT_Device> devices;
  std::vector<PJRT_Device*> pointers;
};
struct PJRT_Event {
  PJRT_Error* error = nullptr;
};
struct PJRT_Buffer {
  std::vector<char> bytes;
  std::vector<int64_t> shape;
  PJRT_Device* device = nullptr;
  bool donated = false;
};
struct PJRT_Executable {
  size_t results = 0;
};
struct PJRT_LoadedExecutable {
  size_t results = 0;
  std::vector<bool> donates;
  std::vector<PJRT_Device*> devices;
};
struct PJRT_TopologyDescription {
  std::string name;
};
struct PJRT_SerializedExecutable {};

namespace {

int alive = 0;

template <class Object>
Object* made(Object object) {
  ++alive;
  return new Object(std::move(object));
}
template <class Object>
void destroyed(Object* object) {
  --alive;
  delete object;
}

std::string variable(const char* name, const std::string& otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

PJRT_Error* error(PJRT_Error_Code code, const std::string& message) {
  return made(PJRT_Error{message, code});
}

// "preallocate=0 visible_devices=1,3 topology=1x1x2"
std::string text_of(const PJRT_NamedValue* options, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    const PJRT_NamedValue& option = options[i];
    std::string value;
    if (option.type == PJRT_NamedValue_kString) value.assign(option.string_value, option.value_size);
    if (option.type == PJRT_NamedValue_kBool) value = option.bool_value ? "1" : "0";
    if (option.type == PJRT_NamedValue_kFloat) value = std::to_string(option.float_value);
    for (size_t k = 0; option.type == PJRT_NamedValue_kInt64List && k < option.value_size; ++k)
      value += (k == 0 ? "" : ",") + std::to_string(option.int64_array_value[k]);
    text += std::string(option.name, option.name_size) + "=" + value + " ";
  }
  return text;
}

// Null if `told` has what the environment's variable `name` expects in it.
PJRT_Error* unless_told(const char* name, const std::string& told) {
  if (told.find(variable(name, "")) != std::string::npos) return nullptr;
  return error(PJRT_Error_Code_INVALID_ARGUMENT, std::string(name) + ": told " + told);
}

// The error that FAKE_PJRT_FAILS asks of `function`, or null.
PJRT_Error* asked_of(const std::string& function) {
  const std::string asked = variable("FAKE_PJRT_FAILS", "");
  const size_t equals = asked.find('=');
  if (asked.substr(0, equals) != function) return nullptr;
  return error(static_cast<PJRT_Error_Code>(std::stoi(asked.substr(equals + 1))),
               "asked to fail in " + function);
}

// The text between the parentheses that follow `begin`.
std::string in_parentheses(const std::string& text, size_t begin) {
  const size_t open = text.find('(', begin);
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return text.substr(open + 1, i - open - 1);
  }
  return "";
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t i = text.find(part); i != std::string::npos; i = text.find(part, i + 1)) ++found;
  return found;
}

// Reads of the text only how many results @main has and which arguments it takes over.
PJRT_LoadedExecutable read_program(const std::string& text) {
  PJRT_LoadedExecutable program;
  const size_t main = text.find("@main");
  const std::string arguments = in_parentheses(text, main);
  for (size_t i = arguments.find('%'); i != std::string::npos;) {
    const size_t next = arguments.find('%', i + 1);
    program.donates.push_back(arguments.substr(i, next - i).find("tf.aliasing_output") != std::string::npos);
    i = next;
  }
  program.results = count(in_parentheses(text, text.find("->", main)), "tensor<");
  return program;
}

// The replicas of a CompileOptionsProto: field 4 of field 3, after the ten bytes of a device of -1.
int64_t replicas_of(const std::string& options) {
  const size_t place = 2 + 11;
  return options.size() > place + 1 && options[place] == (4 << 3) ? options[place + 1] : -1;
}

// Whether they ask for little effort: field 24 of field 3, which is the last.
bool is_quick(const std::string& options) {
  const std::string level = {static_cast<char>(0xC0), 0x01, 9};
  return options.size() > level.size() && options.substr(options.size() - level.size()) == level;
}

size_t size_of(PJRT_Buffer_Type type) { return type == PJRT_Buffer_Type_U8 ? 1 : 4; }

PJRT_Error* compile(PJRT_Client_Compile_Args* args) {
  if (PJRT_Error* const failure = asked_of("Compile")) return failure;
  const std::string options(args->compile_options, args->compile_options_size);
  if (PJRT_Error* const other = unless_told("FAKE_PJRT_COMPILE", options)) return other;
  if (std::string(args->program->format, args->program->format_size) != "mlir")
    return error(PJRT_Error_Code_INVALID_ARGUMENT, "only mlir is known");
  PJRT_LoadedExecutable program = read_program({args->program->code, args->program->code_size});
  const int64_t replicas = replicas_of({args->compile_options, args->compile_options_size});
  if (replicas < 1 || replicas > static_cast<int64_t>(args->client->pointers.size()))
    return error(PJRT_Error_Code_INVALID_ARGUMENT, "there are not so many devices");
  const auto& all = args->client->pointers;
  program.devices.assign(all.begin(), all.begin() + replicas);
  std::reverse(program.devices.begin(), program.devices.end());  // a plugin may choose the order
  args->executable = made(std::move(program));
  return nullptr;
}

PJRT_Error* execute(PJRT_LoadedExecutable_Execute_Args* args) {
  if (PJRT_Error* const failure = asked_of("Execute")) return failure;
  const PJRT_LoadedExecutable& program = *args->executable;
  for (size_t device = 0; device < args->num_devices; ++device) {
    for (size_t i = 0; i < args->num_args; ++i) {
      PJRT_Buffer& argument = *args->argument_lists[device][i];
      if (argument.donated) return error(PJRT_Error_Code_INVALID_ARGUMENT, "an argument was donated before");
      if (argument.device != program.devices[device])
        return error(PJRT_Error_Code_INVALID_ARGUMENT, "an argument is on another device");
    }
    for (size_t i = 0; i < program.results; ++i)
      args->output_lists[device][i] = made(PJRT_Buffer(*args->argument_lists[device][i]));
    for (size_t i = 0; i < args->num_args; ++i) args->argument_lists[device][i]->donated = program.donates[i];
    args->device_complete_events[device] = made(PJRT_Event{asked_of("Await")});
  }
  return nullptr;
}

PJRT_Error* to_host(PJRT_Buffer_ToHostBuffer_Args* args) {
  if (args->src->donated) return error(PJRT_Error_Code_INVALID_ARGUMENT, "the buffer was donated");
  if (args->dst_size != args->src->bytes.size())
    return error(PJRT_Error_Code_INVALID_ARGUMENT, "the destination has another size");
  std::memcpy(args->dst, args->src->bytes.data(), args->dst_size);
  args->event = made(PJRT_Event{});
  return nullptr;
}

PJRT_Error* from_host(PJRT_Client_BufferFromHostBuffer_Args* args) {
  if (PJRT_Error* const failure = asked_of("BufferFromHostBuffer")) return failure;
  size_t bytes = size_of(args->type);
  for (size_t i = 0; i < args->num_dims; ++i) bytes *= static_cast<size_t>(args->dims[i]);
  const char* const data = static_cast<const char*>(args->data);
  args->buffer =
      made(PJRT_Buffer{{data, data + bytes}, {args->dims, args->dims + args->num_dims}, args->device});
  args->done_with_host_buffer = made(PJRT_Event{});
  return nullptr;
}

PJRT_Error* create_client(PJRT_Client_Create_Args* args) {
  if (PJRT_Error* const failure = asked_of("Client_Create")) return failure;
  const std::string options = text_of(args->create_options, args->num_options);
  if (PJRT_Error* const other = unless_told("FAKE_PJRT_CLIENT", options)) return other;
  args->client = made(PJRT_Client{});
  args->client->devices.resize(std::stoul(variable("FAKE_PJRT_DEVICES", "2")));
  for (PJRT_Device& device : args->client->devices) args->client->pointers.push_back(&device);
  return nullptr;
}

template <class Args, auto member>
PJRT_Error* destroy(Args* args) {
  destroyed(args->*member);
  return nullptr;
}

PJRT_Api make_table() {
  PJRT_Api api{};
  api.struct_size = std::stoul(variable("FAKE_PJRT_TABLE", std::to_string(PJRT_Api_STRUCT_SIZE)));
  api.pjrt_api_version.major_version = PJRT_API_MAJOR;
  api.pjrt_api_version.minor_version =
      std::stoi(variable("FAKE_PJRT_VERSION", std::to_string(PJRT_API_MINOR)));
  api.PJRT_Error_Destroy = [](PJRT_Error_Destroy_Args* args) { destroyed(args->error); };
  api.PJRT_Error_Message = [](PJRT_Error_Message_Args* args) {
    args->message = args->error->message.data();
    args->message_size = args->error->message.size();
  };
  api.PJRT_Error_GetCode = [](PJRT_Error_GetCode_Args* args) -> PJRT_Error* {
    args->code = args->error->code;
    return nullptr;
  };
  api.PJRT_Plugin_Initialize = [](PJRT_Plugin_Initialize_Args*) { return asked_of("Plugin_Initialize"); };
  api.PJRT_Event_Await = [](PJRT_Event_Await_Args* args) {
    return std::exchange(args->event->error, nullptr);
  };
  api.PJRT_Event_Destroy = destroy<PJRT_Event_Destroy_Args, &PJRT_Event_Destroy_Args::event>;
  api.PJRT_Client_Create = create_client;
  api.PJRT_Client_Destroy = destroy<PJRT_Client_Destroy_Args, &PJRT_Client_Destroy_Args::client>;
  api.PJRT_Client_PlatformName = [](PJRT_Client_PlatformName_Args* args) -> PJRT_Error* {
    const char* const name = std::getenv("FAKE_PJRT_PLATFORM");
    args->platform_name = name == nullptr ? "fake" : name;
    args->platform_name_size = std::strlen(args->platform_name);
    return nullptr;
  };
  api.PJRT_Client_AddressableDevices = [](PJRT_Client_AddressableDevices_Args* args) -> PJRT_Error* {
    args->addressable_devices = args->client->pointers.data();
    args->num_addressable_devices = args->client->pointers.size();
    return nullptr;
  };
  api.PJRT_Device_MemoryStats = [](PJRT_Device_MemoryStats_Args* args) -> PJRT_Error* {
    const std::string memory = variable("FAKE_PJRT_MEMORY", "");
    if (memory.empty()) return error(PJRT_Error_Code_UNIMPLEMENTED, "not counted");
    args->bytes_in_use = 1000;
    args->bytes_limit = std::stoll(memory);
    args->bytes_limit_is_set = true;
    return nullptr;
  };
  api.PJRT_Client_Compile = compile;
  api.PJRT_Client_BufferFromHostBuffer = from_host;
  api.PJRT_LoadedExecutable_Destroy =
      destroy<PJRT_LoadedExecutable_Destroy_Args, &PJRT_LoadedExecutable_Destroy_Args::executable>;
  api.PJRT_LoadedExecutable_AddressableDevices =
      [](PJRT_LoadedExecutable_AddressableDevices_Args* args) -> PJRT_Error* {
    args->addressable_devices = args->executable->devices.data();
    args->num_addressable_devices = args->executable->devices.size();
    return nullptr;
  };
  api.PJRT_LoadedExecutable_GetExecutable =
      [](PJRT_LoadedExecutable_GetExecutable_Args* args) -> PJRT_Error* {
    args->executable = made(PJRT_Executable{args->loaded_executable->results});
    return nullptr;
  };
  api.PJRT_LoadedExecutable_Execute = execute;
  api.PJRT_Executable_Destroy =
      destroy<PJRT_Executable_Destroy_Args, &PJRT_Executable_Destroy_Args::executable>;
  api.PJRT_Executable_NumOutputs = [](PJRT_Executable_NumOutputs_Args* args) -> PJRT_Error* {
    args->num_outputs = args->executable->results;
    return nullptr;
  };
  api.PJRT_Executable_SizeOfGeneratedCodeInBytes =
      [](PJRT_Executable_SizeOfGeneratedCodeInBytes_Args* args) -> PJRT_Error* {
    args->size_in_bytes = 1000 * static_cast<int64_t>(args->executable->results);
    return nullptr;
  };
  api.PJRT_Executable_Serialize = [](PJRT_Executable_Serialize_Args* args) -> PJRT_Error* {
    args->serialized_bytes = "serialised";
    args->serialized_bytes_size = 10;
    args->serialized_executable = made(PJRT_SerializedExecutable{});
    args->serialized_executable_deleter = [](PJRT_SerializedExecutable* bytes) { destroyed(bytes); };
    return nullptr;
  };
  api.PJRT_Buffer_Destroy = destroy<PJRT_Buffer_Destroy_Args, &PJRT_Buffer_Destroy_Args::buffer>;
  api.PJRT_Buffer_Dimensions = [](PJRT_Buffer_Dimensions_Args* args) -> PJRT_Error* {
    args->dims = args->buffer->shape.data();
    args->num_dims = args->buffer->shape.size();
    return nullptr;
  };
  api.PJRT_Buffer_ToHostBuffer = to_host;
  api.PJRT_TopologyDescription_Create = [](PJRT_TopologyDescription_Create_Args* args) -> PJRT_Error* {
    const std::string name(args->topology_name, args->topology_name_size);
    const std::string options = text_of(args->create_options, args->num_options);
    if (PJRT_Error* const other = unless_told("FAKE_PJRT_TOPOLOGY", options)) return other;
    if (name != "fake:2x2" && options.empty()) return error(PJRT_Error_Code_NOT_FOUND, "no topology " + name);
    args->topology = made(PJRT_TopologyDescription{name});
    return nullptr;
  };
  api.PJRT_TopologyDescription_Destroy =
      destroy<PJRT_TopologyDescription_Destroy_Args, &PJRT_TopologyDescription_Destroy_Args::topology>;
  api.PJRT_Compile = [](PJRT_Compile_Args* args) -> PJRT_Error* {
    if (PJRT_Error* const failure = asked_of("Compile")) return failure;
    const bool quick = is_quick({args->compile_options, args->compile_options_size});
    if (quick != (variable("FAKE_PJRT_QUICK", "0") == "1"))
      return error(PJRT_Error_Code_INVALID_ARGUMENT, quick ? "asked for little effort" : "asked for effort");
    args->executable =
        made(PJRT_Executable{read_program({args->program->code, args->program->code_size}).results});
    return nullptr;
  };
  return api;
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  static PJRT_Api api;
  api = make_table();
  return &api;
}
__attribute__((visibility("default"))) int fake_pjrt_alive() { return alive; }
}
