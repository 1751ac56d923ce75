// Loads the libraries of plug-ins.
#pragma once

#include <string>

namespace dtrain {

// Loads the plug-in in this file, once, and adds its kinds to those that a spec may have. Returns its name
// and version: "gated 1.0". A plug-in of name and version `noted` that was loaded from another file
// will do as well. Throws Error(kUsage) if it cannot be loaded, is of another version of the
// interface or of LibTorch, or fails to add its kinds.
std::string load_plugin(const std::string& path, const std::string& noted = "");

}  // namespace dtrain
