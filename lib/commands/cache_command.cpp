#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>

#include "commands/commands.h"
#include "core/text.h"
#include "images/cache_file.h"
#include "images/image_cache.h"
#include "metrics/event.h"

namespace dtrain {
namespace {

Event cache_json(const CachedImages& cached) {
  Event json = {{"file", cached.file.string()},
                {"bytes", cached.bytes},
                {"source", cached.root},
                {"images", cached.images},
                {"shape", cached.shape}};
  if (cached.bad) json["bad"] = *cached.bad;
  if (cached.in_memory) json["in_memory"] = true;
  return json;
}

std::string content_of(const CachedImages& cached) {
  const std::string root = printable(cached.root, 1000);
  if (cached.root.empty() && cached.in_memory) return "of a job that has ended, or runs on another host";
  if (cached.root.empty()) return "unfinished, or damaged";
  const std::string pictures = counted(cached.images, "picture");
  if (cached.bad)
    return fmt::format("list of {} that cannot be read, of {} from {}", with_separators(*cached.bad),
                       pictures, root);
  if (cached.images == 0) return root + ", unpacked";
  return fmt::format("{} of [{}] from {}{}", pictures, fmt::join(cached.shape, ", "), root,
                     cached.in_memory ? ", in the memory of a job that runs" : "");
}

std::string cache_line(const CachedImages& cached) {
  return fmt::format("{:>10}  {}", human_bytes(cached.bytes), content_of(cached));
}

}  // namespace

ExitCode cache_command(const CacheCommandOptions& options) {
  const std::vector<CachedImages> all = list_image_caches();
  int64_t bytes = 0;
  Event files = Event::array();
  for (const CachedImages& cached : all) {
    if (options.clear) remove_image_cache(cached);
    if (!options.json) std::cout << cache_line(cached) << '\n';
    files.push_back(cache_json(cached));
    bytes += cached.bytes;
  }
  const std::string folder = cache_folder().string();
  if (options.json) {
    std::cout << event_text(Event{
                     {"folder", folder}, {"bytes", bytes}, {"cleared", options.clear}, {"files", files}})
              << '\n';
  } else {
    std::cout << fmt::format("{:>10}  {} {}\n", human_bytes(bytes),
                             options.clear ? "removed from" : "in all, in", printable(folder, 1000));
  }
  return ExitCode::kDone;
}

}  // namespace dtrain
