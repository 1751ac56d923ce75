// A plugin's table of functions, and its errors as exceptions.
#pragma once

#include <dlfcn.h>
#include <pjrt_c_api.h>

#include <memory>
#include <string>

#include "core/error.h"

namespace dtrain::pjrt {

// The argument structs begin with their size, which tells the plugin how many fields the caller knows.
template <class Args>
Args arguments(size_t size) {
  Args args{};
  args.struct_size = size;
  return args;
}
#define DTRAIN_PJRT_ARGUMENTS(name) ::dtrain::pjrt::arguments<name>(name##_STRUCT_SIZE)

class Plugin {
 public:
  explicit Plugin(const std::string& path) : path_(path) {
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) refuse(std::string("it cannot be loaded: ") + ::dlerror());
    const auto get = reinterpret_cast<const PJRT_Api* (*)()>(::dlsym(library, "GetPjrtApi"));
    if (get == nullptr) refuse("it is no plugin of PJRT: it lacks the function GetPjrtApi");
    api_ = get();
    if (api_ == nullptr) refuse("it has no table of functions");
    const PJRT_Api_Version& version = api_->pjrt_api_version;
    if (version.major_version != PJRT_API_MAJOR || version.minor_version < kOldestMinor)
      refuse("it speaks version " + text_of(version) + " of PJRT's C API, and this dtrain " +
             std::to_string(PJRT_API_MAJOR) + "." + std::to_string(kOldestMinor) +
             " and later; install a plugin of it");
    auto args = DTRAIN_PJRT_ARGUMENTS(PJRT_Plugin_Initialize_Args);
    call(&PJRT_Api::PJRT_Plugin_Initialize, args, ExitCode::kUsage);
  }
  Plugin(Plugin&&) = delete;  // nor copied

  const std::string& path() const { return path_; }

  // Calls a function of the table. Throws Error: kMemory when the plugin is out of memory, else `code`.
  template <class Function, class Args>
  void call(Function PJRT_Api::*function, Args& args, ExitCode code = ExitCode::kBug) const {
    if (PJRT_Error* const error = entry(function)(&args)) raise(error, code);
  }

  // The same for releasing objects, where errors cannot be reported.
  template <class Function, class Args>
  void give_back(Function PJRT_Api::*function, Args& args) const noexcept {
    if (PJRT_Error* const error = (api_->*function)(&args)) destroy(error);
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ExitCode::kUsage, "the plugin " + path_ + " cannot be used: " + why);
  }

 private:
  // Every function that we call has been in the table since this version or longer.
  static constexpr int kOldestMinor = 40;

  static std::string text_of(const PJRT_Api_Version& version) {
    return std::to_string(version.major_version) + "." + std::to_string(version.minor_version);
  }

  template <class Function>
  Function entry(Function PJRT_Api::*function) const {
    const auto* const place = reinterpret_cast<const char*>(&(api_->*function));
    const auto end = static_cast<size_t>(place - reinterpret_cast<const char*>(api_)) + sizeof(Function);
    if (end > api_->struct_size || api_->*function == nullptr)
      refuse("it lacks a function of PJRT's C API that dtrain needs; install another version of it");
    return api_->*function;
  }

  void destroy(PJRT_Error* error) const {
    auto args = DTRAIN_PJRT_ARGUMENTS(PJRT_Error_Destroy_Args);
    args.error = error;
    api_->PJRT_Error_Destroy(&args);
  }

  [[noreturn]] void raise(PJRT_Error* error, ExitCode code) const {
    auto message = DTRAIN_PJRT_ARGUMENTS(PJRT_Error_Message_Args);
    message.error = error;
    api_->PJRT_Error_Message(&message);
    const std::string text(message.message, message.message_size);
    auto kind = DTRAIN_PJRT_ARGUMENTS(PJRT_Error_GetCode_Args);
    kind.error = error;
    if (PJRT_Error* const second = api_->PJRT_Error_GetCode(&kind)) destroy(second);
    destroy(error);
    if (kind.code == PJRT_Error_Code_RESOURCE_EXHAUSTED)
      throw Error(ExitCode::kMemory, "out of memory on a device: " + text);
    throw Error(code, "the plugin " + path_ + " reports: " + text);
  }

  std::string path_;
  const PJRT_Api* api_ = nullptr;  // as long as the process: plugins have threads and are never unloaded
};

// Gives an object of a plugin back.
template <auto kObject, auto kDestroy, size_t kSize>
struct GiveBack {
  const Plugin* plugin = nullptr;

  template <class Object>
  void operator()(Object* object) const noexcept {
    auto args = args_of(kObject);
    args.*kObject = object;
    plugin->give_back(kDestroy, args);
  }

 private:
  template <class Args, class Object>
  static Args args_of(Object* Args::*) {
    return arguments<Args>(kSize);
  }
};

// A std::unique_ptr of such an object: DTRAIN_PJRT_OWNED(Buffer, buffer).
#define DTRAIN_PJRT_OWNED(name, object)                                                      \
  std::unique_ptr<PJRT_##name, ::dtrain::pjrt::GiveBack<&PJRT_##name##_Destroy_Args::object, \
                                                        &PJRT_Api::PJRT_##name##_Destroy,    \
                                                        PJRT_##name##_Destroy_Args_STRUCT_SIZE>>

}  // namespace dtrain::pjrt
