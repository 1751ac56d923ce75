// The files that pages are written to.
#pragma once

#include <filesystem>
#include <string>

namespace dtrain {

// Throws Error(kUsage) if there is a file that is no page of dtrain, which `overwrite` allows to replace.
// `by` is the command that asks.
void require_own_page(const std::filesystem::path& file, bool overwrite, const std::string& by);

}  // namespace dtrain
