#include "pictures/archives.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "codecs/image_file.h"
#include "core/checksum.h"
#include "core/data_errors.h"
#include "core/descriptor.h"
#include "core/error.h"
#include "core/files.h"
#include "core/range.h"
#include "core/signals.h"
#include "core/text.h"
#include "pictures/parquet_pictures.h"
#include "pictures/shard_index.h"
#include "pictures/shards.h"
#include "yaml/yaml_tree.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostClassBytes = 256;         // of a .cls file
constexpr size_t kReadAtOnce = size_t{1} << 12;  // of an archive: the pictures between are skipped
constexpr int64_t kSummedAtOnce = int64_t{16} << 20;

// An example of an archive as far as it was read.
struct Sample {
  std::string key;
  std::optional<ImageFile> picture;
  std::optional<std::string> class_word;
  std::vector<std::string> others;  // names of files that are neither
};

[[noreturn]] void refuse_member(const fs::path& path, const std::string& member, const std::string& fault) {
  refuse_file(path, printable(member, 1000) + ": " + fault);
}

void require_bytes(const fs::path& path, const ImageFile& member, int64_t most) {
  if (member.bytes > most) refuse_member(path, member.member, "is over " + human_bytes(most));
}

// The key and the extension of a member's name: "a/0001.seg.png" is ("a/0001", "seg.png").
std::pair<std::string, std::string> split_name(const std::string& name) {
  const size_t slash = name.rfind('/');
  const size_t dot = name.find('.', slash == std::string::npos ? 0 : slash + 1);
  if (dot == std::string::npos) return {name, ""};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

// Of a member: whether it is hidden, or among what macOS adds.
bool is_left_out_member(const fs::path& name) {
  return is_left_out(name.filename().string()) ||
         std::find(name.begin(), name.end(), "__MACOSX") != name.end();
}

// Reads the members of one archive in order.
class TarReader {
 public:
  // `path`: the archive for messages; `plain`: where its `size` bytes can be read, not packed.
  TarReader(const fs::path& path, fs::path plain, int64_t size)
      : path_(path),
        plain_(std::move(plain)),
        size_(size),
        archive_(::archive_read_new(), ::archive_read_free),
        file_(::open(plain_.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (!archive_) throw std::bad_alloc();
    if (file_.get() < 0) fail_on_file(path_, "cannot be read", errno);
    ::archive_read_support_format_tar(archive_.get());
    // With a name libarchive would read 64 KiB at least.
    if (::archive_read_open_fd(archive_.get(), file_.get(), kReadAtOnce) != ARCHIVE_OK) fail();
  }

  // Calls `take` with each regular file that is not left out: its name, and where its bytes are.
  template <typename Take>
  void read_all(const Take& take) {
    int64_t members_end = 0;
    for (archive_entry* entry = nullptr;;) {
      const int result = ::archive_read_next_header(archive_.get(), &entry);
      if (result == ARCHIVE_EOF) break;
      // A name or owner that the locale has no letters for is a warning, and stays as it was written. Other
      // warnings are of damaged headers, which were left out.
      const bool is_unconverted = result == ARCHIVE_WARN && ::archive_errno(archive_.get()) == EILSEQ;
      if (result != ARCHIVE_OK && !is_unconverted) fail();
      const char* const name = ::archive_entry_pathname(entry);
      size_t at = 0;
      if (name == nullptr || !is_clean_text(name, at))
        refuse_file(path_, "a name in it is not UTF-8 text, or has control characters");
      const bool is_plain = ::archive_entry_filetype(entry) == AE_IFREG &&
                            ::archive_entry_hardlink(entry) == nullptr &&
                            ::archive_entry_sparse_count(entry) == 0;
      const int64_t offset = ::archive_filter_bytes(archive_.get(), 0), bytes = ::archive_entry_size(entry);
      members_end = offset + (is_plain ? std::min(bytes, size_) : 0);
      if (::archive_entry_filetype(entry) == AE_IFDIR || is_left_out_member(name)) continue;
      if (!is_plain)
        refuse_member(path_, name, "not a plain file; links, devices and sparse files are not read");
      take(ImageFile{.path = {}, .member = name, .offset = offset, .bytes = bytes});
    }
    require_end(members_end);
  }

  // The content of the member that was just taken.
  std::string content(const ImageFile& member) {
    std::string bytes(static_cast<size_t>(member.bytes), '\0');
    if (::archive_read_data(archive_.get(), bytes.data(), bytes.size()) != member.bytes) fail();
    return bytes;
  }

 private:
  [[noreturn]] void fail() const {
    const char* const text = ::archive_error_string(archive_.get());
    refuse_file(path_, "is no tar archive that can be read: {}", printable(text ? text : "cut off"));
  }

  // A block of zeros ends an archive. libarchive does without, and reads nothing of what follows.
  void require_end(int64_t members_end) const {
    const int64_t end = std::min<int64_t>(::archive_filter_bytes(archive_.get(), 0), size_);
    if (end - kTarBlock < members_end)
      refuse_file(path_,
                  "is cut off, or its writer did not close it: the 1,024 zeros of its end are missing");
    for (int64_t at = end; at < size_; at += kSummedAtOnce) {
      const int64_t count = std::min(kSummedAtOnce, size_ - at);
      if (read_file_part(plain_, at, count, ExitCode::kData).find_first_not_of('\0') != std::string::npos)
        refuse_file(path_,
                    "goes on after its end, as archives do that were put together with cat; put the single "
                    "ones into a folder");
    }
  }

  const fs::path& path_;
  const fs::path plain_;
  const int64_t size_;
  std::unique_ptr<archive, decltype(&::archive_read_free)> archive_;
  const Descriptor file_;
};

// Collects the pictures of archives, each with the word that names its class.
class ArchiveList {
 public:
  ArchiveList(fs::path root, const DataSpec& spec) : root_(std::move(root)), spec_(spec) {}

  // Adds the pictures of an archive, and returns their indices.
  std::vector<int64_t> add(const std::string& file) {
    const fs::path path = root_ / file;
    const size_t before = pictures_.size();
    std::error_code none;
    if (!fs::is_regular_file(path, none)) refuse_file(path, "is not a regular file");
    if (!of_parquet() && !is_packed(path)) {
      read(file, nullptr, static_cast<int64_t>(fs::file_size(path, none)));
    } else {
      const std::shared_ptr<const CheckedFile> unpacked = unpacked_archive(path, spec_, unpacked_bytes_);
      unpacked_bytes_ += unpacked->bytes();
      try {
        read(file, unpacked, unpacked->bytes());
      } catch (const Error&) {
        fs::remove(unpacked->path(), none);  // nobody can use it
        throw;
      }
    }
    return indices_from(before);
  }

  // The same of an archive elsewhere.
  std::vector<int64_t> add(const IndexedShard& shard, const std::shared_ptr<const ArchiveBytes>& bytes) {
    const size_t before = pictures_.size();
    for (const IndexedPicture& one : shard.pictures) {
      pictures_.push_back({{shard.name, one.member, one.offset, one.bytes, bytes}, 0});
      words_.push_back(one.class_word);
    }
    for (const auto& [ending, count] : shard.left_out) left_out_[ending] += count;
    return indices_from(before);
  }

  // What the index of archives tells of the only one that was added, which is not packed.
  IndexedShard indexed(const std::string& file) const {
    const fs::path path = root_ / file;
    IndexedShard shard{file, static_cast<int64_t>(fs::file_size(path)), {}, {}, left_out_};
    Checksum sum;
    for (int64_t at = 0; at < shard.bytes; at += kSummedAtOnce) {
      const int64_t count = std::min(kSummedAtOnce, shard.bytes - at);
      sum.add(read_file_part(path, at, count, ExitCode::kData).data(), static_cast<size_t>(count));
    }
    shard.checksum = sum.text();
    for (size_t i = 0; i < pictures_.size(); ++i) {
      const ImageFile& one = pictures_[i].file;
      const std::string bytes = read_image_bytes(root_, one);
      shard.pictures.push_back(
          {one.member, one.offset, one.bytes, words_[i], checksum_number(bytes.data(), bytes.size())});
    }
    return shard;
  }

  // Makes numbers of the words: those that they are, or their places in the alphabet. `packed`: the classes
  // of a note.
  PictureList labelled(const std::optional<std::vector<std::string>>& packed) {
    PictureList list;
    DataSpec spec = spec_;
    list.is_mixed = packed.has_value();
    const std::optional<std::vector<std::string>>& known = packed ? packed : names_;
    if (known && spec.class_names.empty()) {
      spec.class_names = *known;
      spec.classes = std::max(spec.classes.value_or(0), std::ssize(*known));
    }
    list.root = root_;
    const std::map<std::string, int64_t> labels = number_words(list, spec);
    list.pictures = std::move(pictures_);
    list.left_out = left_out_;
    for (size_t i = 0; i < list.pictures.size(); ++i) list.pictures[i].label = labels.at(words_[i]);
    return list;
  }

 private:
  bool of_parquet() const { return spec_.dataset == kImageParquet; }

  std::vector<int64_t> indices_from(size_t before) const {
    return consecutive(static_cast<int64_t>(before), std::ssize(pictures_));
  }

  // Adds the pictures of an archive of `size` bytes; `unpacked`: where it is, if it is packed.
  void read(const std::string& file, const std::shared_ptr<const CheckedFile>& unpacked, int64_t size) {
    const fs::path path = root_ / file;
    const size_t before = pictures_.size();
    TarReader reader(path, unpacked ? unpacked->path() : path, size);
    Sample sample;
    std::optional<std::vector<std::string>> names;
    reader.read_all([&](ImageFile member) {
      if (of_parquet() && member.member == kShardsNote) {
        names = classes_of_note(path, unpacked->read(member.offset, member.bytes));
        return;
      }
      auto [key, extension] = split_name(member.member);
      if (key != sample.key)
        finish(path, std::exchange(sample, {.key = key, .picture = {}, .class_word = {}, .others = {}}));
      if (member.offset > size - member.bytes)
        refuse_member(path, member.member, "does not fit its archive, which is cut off or damaged");
      if (extension == "cls") {
        require_bytes(path, member, kMostClassBytes);
        sample.class_word =
            trimmed(unpacked ? unpacked->read(member.offset, member.bytes) : reader.content(member));
      }
      // Masks and depth maps ("0001.mask.png") tell about the picture.
      if (extension.find('.') != std::string::npos || !is_picture_name(member.member)) {
        if (extension != "cls") sample.others.push_back(member.member);
        return;
      }
      if (sample.picture)
        refuse_member(path, member.member, "a second picture of the example " + printable(key));
      require_bytes(path, member, kMaxImageFileBytes);
      member.path = file;
      member.archive = unpacked;
      sample.picture = std::move(member);
    });
    finish(path, sample);
    if (before == 0) names_ = names;
    if (names != names_) refuse_file(path, "names other classes than the files before it");
    if (pictures_.size() == before)
      refuse_file(path, "has no pictures with a class (KEY.jpg and KEY.cls, with no dot in KEY)" +
                            (left_out_.empty() ? "" : "; " + left_out_text(left_out_)));
  }

  void finish(const fs::path& path, const Sample& sample) {
    if (!sample.picture) {
      for (const std::string& name : sample.others) count_ending(name, left_out_);
      return;
    }
    if (!sample.class_word || sample.class_word->empty())
      refuse_member(
          path, sample.picture->member,
          "has no class: a file " + printable(sample.key) + ".cls beside it, with a number or a word");
    if (!is_plain_text(*sample.class_word))
      refuse_member(path, sample.key + ".cls", "is neither a number nor a word of UTF-8 text");
    pictures_.push_back({*sample.picture, 0});
    words_.push_back(*sample.class_word);
  }

  std::map<std::string, int64_t> number_words(PictureList& list, const DataSpec& spec) const {
    const std::set<std::string> words(words_.begin(), words_.end());
    std::map<std::string, int64_t> labels;
    int64_t most = -1;
    for (const std::string& word : words) {
      const int64_t number = whole_number(word).value_or(-1);
      if (number < 0) break;
      if (number >= static_cast<int64_t>(kMostPictureClasses))
        refuse_file(list.root, "the class {}, where {} classes can be read", number,
                    with_separators(kMostPictureClasses));
      labels[word] = number;
      most = std::max(most, number);
    }
    if (labels.size() == words.size()) {
      const int64_t classes = std::max(most + 1, spec.classes.value_or(0));
      for (int64_t label = 0; label < classes; ++label)
        list.classes.push_back(std::ssize(spec.class_names) == classes
                                   ? spec.class_names[static_cast<size_t>(label)]
                                   : std::to_string(label));
      return labels;
    }
    labels.clear();
    for (const std::string& word : words) {
      labels[word] = std::ssize(list.classes);
      list.classes.push_back(word);
    }
    return labels;
  }

  fs::path root_;
  const DataSpec& spec_;
  std::optional<std::vector<std::string>> names_;  // of the classes, as far as the files have them
  int64_t unpacked_bytes_ = 0;                     // of packed archives
  std::vector<ListedPicture> pictures_;
  std::vector<std::string> words_;  // the class of each picture
  EndingCounts left_out_;           // of examples without a picture
};

// Whether one of the words between dots, hyphens and underscores of the name is `word`, in any case.
bool has_word(const std::string& name, const std::string& word) {
  for (size_t begin = 0; begin < name.size();) {
    const size_t end = std::min(name.find_first_of(".-_", begin), name.size());
    if (in_lower_case(name.substr(begin, end - begin)) == word) return true;
    begin = end + 1;
  }
  return false;
}

// The folder that an archive lies in says which part it is, or else a word of its name.
bool is_part(const std::string& name, const std::string& word) {
  const std::string folder = fs::path(name).parent_path().string();
  return folder.empty() ? has_word(name, word) : folder == word;
}

// Throws for a name that seems to be that of a part, and is trained on: "valid-0.tar" beside "train-0.tar".
void require_known_parts(const fs::path& root, const std::vector<std::string>& names) {
  const auto seems_a_part = [](const std::string& name) {
    const auto is_any = [&](std::initializer_list<const char*> words) {
      return std::ranges::any_of(words, [&](const char* word) { return is_part(name, word); });
    };
    return is_any({"valid", "dev", "eval"}) && !is_any({"train", "val", "validation", "test"});
  };
  const auto found = std::find_if(names.begin(), names.end(), seems_a_part);
  if (found == names.end() || std::all_of(names.begin(), names.end(), seems_a_part)) return;
  refuse_file(root / *found,
              "seems to be for validation, and would be trained on: name it val-..., test-... or train-...");
}

std::vector<std::string> archives_in(const fs::path& folder, bool of_parquet) {
  std::vector<std::string> names;
  std::error_code code;
  for (const fs::path& path : paths_in(folder, code)) {
    const std::string name = path.filename().string();
    const bool is_archive = of_parquet ? name.ends_with(".parquet") : is_archive_name(name);
    if (!is_left_out(name) && is_archive) names.push_back(name);
  }
  if (code) fail_on_file(folder, "cannot be read", code.value());
  if (names.empty())
    refuse_file(folder, of_parquet ? "has no *.parquet files"
                                   : "has no archives (*.tar, *.tar.gz, *.tgz, *.tar.zst, ...)");
  std::map<std::string, std::string> seen;  // by the name without its packing
  for (const std::string& name : names) {
    const auto [other, is_new] = seen.emplace(unpacked_name(name), name);
    if (!is_new)
      refuse_file(folder, "{} and {} are one archive, packed and not; remove one of them",
                  printable(other->second), printable(name));
  }
  return names;
}

// Those of a folder, or of its folders train, validation and test.
std::vector<std::string> archives_at(const fs::path& place, bool of_parquet) {
  std::error_code none;
  if (!fs::is_directory(place / "train", none)) return archives_in(place, of_parquet);
  std::vector<std::string> names;
  for (const std::string part : {"train", "validation", "test"}) {
    if (!fs::is_directory(place / part, none)) continue;
    for (const std::string& name : archives_in(place / part, of_parquet)) names.push_back(part + "/" + name);
  }
  return names;
}

void append(std::vector<int64_t>& to, const std::vector<int64_t>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// The parts of the list of archives, of which add(i) adds the one of names[i].
template <typename Add>
PictureList divided_by_name(ArchiveList& archives, const fs::path& place, const fs::path& root,
                            const std::vector<std::string>& names, const Add& add, const DataSpec& spec,
                            const std::optional<std::vector<std::string>>& packed) {
  require_known_parts(root, names);
  std::vector<int64_t> train, validation, test;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    const bool is_validation = is_part(name, "val") || is_part(name, "validation");
    const bool is_test = is_part(name, "test");
    if (is_validation)
      refuse_both(root / name, spec.split.folds ? kFoldsField : kValidationField, spec.split.validates());
    if (is_test) refuse_both(root / name, kTestField, spec.split.test.has_value());
    append(is_validation ? validation : is_test ? test : train, add(i));
  }
  if (train.empty())
    refuse_file(place,
                "has no file to train on, which is called train-... or anything but test and validation");
  PictureList all = archives.labelled(packed);
  all.train = std::move(train);
  all.validation = std::move(validation);
  all.test = std::move(test);
  check_picture_classes(all, spec);
  require_mostly_pictures(all);
  return all;
}

PictureList list_streamed(const std::string& address, const DataSpec& spec) {
  const std::shared_ptr<const StreamedShards> streamed = streamed_shards(address);
  const std::vector<IndexedShard>& shards = streamed->index.shards;
  std::vector<std::string> names;
  for (const IndexedShard& shard : shards) names.push_back(shard.name);
  ArchiveList archives(streamed->folder, spec);
  std::optional<std::vector<std::string>> packed;
  if (streamed->index.note) packed = classes_of_note(streamed->folder / kShardsIndex, *streamed->index.note);
  return divided_by_name(
      archives, address, streamed->folder, names,
      [&](size_t i) { return archives.add(shards[i], streamed->bytes[i]); }, spec, packed);
}

}  // namespace

bool is_archive_name(const std::string& name) { return unpacked_name(name).ends_with(".tar"); }

PictureList list_archives(const fs::path& place, const DataSpec& spec) {
  if (spec.stream) return list_streamed(place.string(), spec);
  std::error_code none;
  const bool folder = fs::is_directory(place, none), of_parquet = spec.dataset == kImageParquet;
  const fs::path root = folder ? place : place.parent_path();
  const std::vector<std::string> names =
      folder ? archives_at(place, of_parquet) : std::vector<std::string>{place.filename().string()};
  ArchiveList archives(root, spec);
  return divided_by_name(
      archives, place, root, names, [&](size_t i) { return archives.add(names[i]); }, spec,
      of_parquet ? std::nullopt : classes_of_shards(root));
}

void index_archives(const fs::path& folder) {
  const int stops = stop_signals_received();
  const DataSpec of_tar;
  ShardIndex index;
  if (classes_of_shards(folder))
    index.note = read_file(folder / kShardsNote, kMostNoteBytes, ExitCode::kData);
  for (const std::string& name : archives_at(folder, /*of_parquet=*/false)) {
    if (is_packed(folder / name))
      refuse_file(folder / name,
                  "is packed, and data.stream reads parts of archives; unpack it to plain tar");
    ArchiveList one(folder, of_tar);
    one.add(name);
    index.shards.push_back(one.indexed(name));
    if (stop_signals_received() != stops)
      throw Error(ExitCode::kStopped, "{}: stopped by {}", printable(folder.string(), 1000),
                  signal_name(last_stop_signal()));
  }
  write_shard_index(folder / kShardsIndex, index);
}

}  // namespace dtrain
