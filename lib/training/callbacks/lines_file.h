// A file to which a callback adds text as the run goes on.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "callbacks/callbacks.h"
#include "core/descriptor.h"

namespace dtrain {

class LinesFile {
 public:
  // The file `name` in the run's folder. Text already in it stays until empty(). `what` names it in errors.
  // All throw Error(kUsage, kDisk).
  LinesFile(const CallbackContext& context, const std::string& name, std::string what);

  void empty() { cut_to(0); }
  void write(const std::string& text);
  // For checkpoints: the size; 0: nothing was written yet.
  off_t bytes() const { return bytes_; }
  // Goes back to that size. An empty file is a new one, in another folder, and stays as it is. A shorter one
  // has lost its end, as when the power failed: it goes on after its last whole line, with a warning. Returns
  // that line; empty if nothing was lost.
  std::string go_back_to(off_t bytes);

 private:
  void cut_to(off_t bytes);
  [[noreturn]] void refuse(const char* verb) const;

  const RunPlan& run_;
  EventSink& events_;
  std::filesystem::path path_;
  std::string what_;
  Descriptor file_;
  off_t bytes_ = 0;
};

}  // namespace dtrain
