// data pack: a job's pictures in archives.
#include <fmt/format.h>

#include <iostream>

#include "commands/commands.h"
#include "commands/shared.h"
#include "core/addresses.h"
#include "core/signals.h"
#include "core/text.h"
#include "data/picture_dataset.h"
#include "metrics/event.h"
#include "pictures/archives.h"
#include "pictures/shard_index.h"
#include "pictures/shards.h"

namespace dtrain {
namespace {

constexpr int64_t kMostShardBytes = 1'000'000'000'000;

Event packed_json(const std::string& out, const PictureList& list, const std::vector<WrittenPart>& parts) {
  Event json = {{"out", out}, {"classes", list.classes}, {"parts", Event::object()}};
  for (const WrittenPart& part : parts)
    json["parts"][part.name] = {{"pictures", part.pictures}, {"shards", part.shards}, {"bytes", part.bytes}};
  return json;
}

std::string packed_text(const std::string& out, const PictureList& list,
                        const std::vector<WrittenPart>& parts) {
  std::string text =
      fmt::format("{}: {}\n", printable(out, 1000), counted(std::ssize(list.classes), "class"));
  for (const WrittenPart& part : parts)
    text += fmt::format("  {:10} {} in {}, {}\n", part.name, counted(part.pictures, "picture"),
                        counted(part.shards, "archive"), human_bytes(part.bytes));
  return text + "To train on them: data.dataset: tar, data.path: " + printable(out, 1000) +
         ", without data.split\n";
}

// Of archives that are there.
ExitCode write_index(const DataSpec& data, bool json) {
  const std::filesystem::path folder = data.path.value_or("");
  if (data.dataset != "tar" || is_address(folder.string()) || !std::filesystem::is_directory(folder))
    throw Error(ExitCode::kUsage,
                "--index is for data.dataset: tar whose data.path is a folder on this host");
  catch_stop_signals();
  index_archives(folder);
  const std::string file = (folder / kShardsIndex).string();
  std::cout << (json ? event_text({{"index", file}}) + "\n"
                     : printable(file, 1000) + ": for data.stream, beside copies of the archives\n");
  return ExitCode::kDone;
}

}  // namespace

ExitCode data_pack_command(const DataOptions& options) {
  const int64_t shard_bytes = parse_size("--shard-size", options.shard_size, kMostShardBytes, "1000GB");
  const LoadedSpec loaded = load_spec(options.spec.spec, options.spec.overrides);
  report_notes(loaded.notes);
  if (!loaded.ok()) return report_problems(loaded.problems);
  if (options.index) return write_index(loaded.spec.data, options.json);
  const DatasetInfo info = find_dataset(loaded.spec.data);
  if (!is_picture_dataset(info.name))
    throw Error(ExitCode::kUsage, "data.dataset: {} has no pictures in files, which are what data pack packs",
                info.name);
  const PictureList list = list_pictures(info, loaded.spec.data);  // as long as it may take, a signal ends it
  catch_stop_signals();
  const std::vector<WrittenPart> parts = [&] {
    CountingLine line("packing pictures");
    return write_shards(list,
                        {.out = *options.out, .shard_bytes = shard_bytes, .overwrite = options.overwrite},
                        line.progress());
  }();
  std::cout << (options.json ? event_text(packed_json(*options.out, list, parts)) + "\n"
                             : packed_text(*options.out, list, parts));
  return ExitCode::kDone;
}

}  // namespace dtrain
