#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>

#include "addresses/copies.h"
#include "commands/commands.h"
#include "core/text.h"
#include "features/feature_file.h"
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
  const std::string pictures = counted(cached.images, cached.shape.size() == 1 ? "row" : "picture");
  if (cached.bad)
    return fmt::format("list of {} that cannot be read, of {} from {}", with_separators(*cached.bad),
                       pictures, root);
  if (cached.images == 0) return root + ", unpacked";
  return fmt::format("{} of [{}] from {}{}", pictures, fmt::join(cached.shape, ", "), root,
                     cached.in_memory ? ", in the memory of a job that runs" : "");
}

Event cache_json(const KeptFeatures& kept) {
  return {{"file", kept.file.string()},
          {"bytes", kept.bytes},
          {"source", kept.block.source},
          {"examples", kept.block.examples},
          {"shape", kept.block.shape}};
}

std::string content_of(const KeptFeatures& kept) {
  if (kept.block.source.empty()) return "features, damaged";
  return fmt::format("features of {}, [{}] each, from {}", counted(kept.block.examples, "example"),
                     fmt::join(kept.block.shape, ", "), printable(kept.block.source, 1000));
}

Event cache_json(const FetchedCopy& copy) {
  return {
      {"file", copy.file.string()}, {"bytes", copy.bytes}, {"source", copy.address}, {"in_use", copy.in_use}};
}

std::string content_of(const FetchedCopy& copy) {
  if (copy.address.empty()) return "copy of a file at an address, unfinished";
  return copy.address + (copy.in_use ? ", in use" : "");
}

// Returns whether it was removed; what jobs use stays.
bool remove(const FetchedCopy& copy) { return remove_fetched(copy); }
bool remove(const CachedImages& cached) { return remove_image_cache(cached); }
bool remove(const KeptFeatures& kept) { return remove_features(kept), true; }

struct Total {
  int64_t bytes = 0, stay = 0;  // `stay`: the files that were to be removed, and are in use
  Event files = Event::array();
};

// Describes the files of one sort, and removes them if the options say so.
template <class Files>
void tell_of(const Files& all, const CacheCommandOptions& options, Total& total) {
  for (const auto& one : all) {
    const bool stays = options.clear && !remove(one);
    if (!options.json) std::cout << fmt::format("{:>10}  {}\n", human_bytes(one.bytes), content_of(one));
    total.files.push_back(cache_json(one));
    total.bytes += stays ? 0 : one.bytes;
    total.stay += stays ? 1 : 0;
  }
}

}  // namespace

ExitCode cache_command(const CacheCommandOptions& options) {
  Total all;
  tell_of(list_image_caches(), options, all);
  tell_of(list_features(), options, all);
  tell_of(list_fetched(), options, all);
  const std::string folder = cache_folder().string();
  Event json = {{"folder", folder}, {"bytes", all.bytes}, {"cleared", options.clear}, {"files", all.files}};
  if (options.clear) json["still_in_use"] = all.stay;
  const std::string rest = all.stay > 0 ? "; still in use: " + counted(all.stay, "file") : "";
  std::cout << (options.json ? event_text(json) + "\n"
                             : fmt::format("{:>10}  {} {}{}\n", human_bytes(all.bytes),
                                           options.clear ? "removed from" : "in all, in",
                                           printable(folder, 1000), rest));
  return ExitCode::kDone;
}

}  // namespace dtrain
