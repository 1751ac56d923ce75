#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>

#include "addresses/fetched_files.h"
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

void remove(const FetchedCopy& copy) { remove_fetched(copy); }
void remove(const CachedImages& cached) { remove_image_cache(cached); }
void remove(const KeptFeatures& kept) { remove_features(kept); }

// Describes the files of one sort, and removes them if the options say so.
template <class Files>
int64_t tell_of(const Files& all, const CacheCommandOptions& options, Event& files) {
  int64_t bytes = 0;
  for (const auto& one : all) {
    if (options.clear) remove(one);
    if (!options.json) std::cout << fmt::format("{:>10}  {}\n", human_bytes(one.bytes), content_of(one));
    files.push_back(cache_json(one));
    bytes += one.bytes;
  }
  return bytes;
}

}  // namespace

ExitCode cache_command(const CacheCommandOptions& options) {
  Event files = Event::array();
  int64_t bytes = tell_of(list_image_caches(), options, files);
  bytes += tell_of(list_features(), options, files);
  bytes += tell_of(list_fetched(), options, files);
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
