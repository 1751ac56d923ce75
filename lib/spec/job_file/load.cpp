#include "job_file/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "core/addresses.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "job_file/rules.h"
#include "job_file/values.h"
#include "spec/fields.h"
#include "spec/optimizer_kinds.h"
#include "traits/objectives.h"
#include "yaml/yaml_tree.h"

namespace dtrain {
namespace {

constexpr size_t kMaxProblems = 100;

LoadPlugin& plugin_loader() {
  static LoadPlugin loader;
  return loader;
}

// Those of the command line.
std::vector<std::string>& plugins_of_all() {
  static std::vector<std::string> paths;
  return paths;
}

const char* const kSpaceAfterColon = "; YAML needs a space after the colon";
const char* const kSmallestSpec = "the spec is empty; the smallest one is: batch: {per_replica: 64}";

// Those of plug-ins, which come first: others may be of fields that plug-ins have.
std::pair<Overrides, Overrides> split_overrides(const Overrides& overrides) {
  std::pair<Overrides, Overrides> parts;
  for (const std::string& set : overrides.set)
    (set.starts_with("plugin") ? parts.first : parts.second).set.push_back(set);
  for (const std::string& path : overrides.unset)
    (path.starts_with("plugin") ? parts.first : parts.second).unset.push_back(path);
  return parts;
}

// Reads a tree into a LoadedSpec.
class SpecReader {
 public:
  SpecReader(LoadedSpec& loaded, std::string file, StartOfPaths starts)
      : loaded_(loaded), file_(std::move(file)), starts_(std::move(starts)) {}

  void read(YamlNode& root, const Overrides& overrides) {
    loaded_.positions[""] = {file_, root.line, root.column};
    if (!root.complaint.empty()) return report(root, "", root.complaint);
    if (root.kind == YamlNode::Kind::kNull) return report(root, "", kSmallestSpec);
    if (root.kind != YamlNode::Kind::kMap)
      return report(
          root, "",
          fmt::format("expected sections such as 'batch: {{per_replica: 64}}', got {}", shown(root)));
    const auto [of_plugins, others] = split_overrides(overrides);
    override_fields(root, of_plugins);
    if (!load_plugins(root)) return;
    override_fields(root, others);
    read_section(root, "");
    check_plugin_versions();
    if (!flooded()) check_rules(loaded_);
  }

  void report(const YamlNode& node, const std::string& path, const std::string& text) {
    const Position position = position_of(node);
    loaded_.problems.push_back({position.file, position.line, position.column, path, text});
  }

 private:
  void override_fields(YamlNode& root, const Overrides& overrides) {
    const auto wrong = apply_overrides(root, overrides);
    loaded_.problems.insert(loaded_.problems.end(), wrong.begin(), wrong.end());
  }

  // Before other fields are read: plug-ins have some of their own. Reports what is wrong with a plug-in and
  // returns false, since the fields of its kinds would all be unknown.
  bool load_plugins(const YamlNode& root) {
    const size_t before = loaded_.problems.size();
    const YamlNode* written = nullptr;
    for (const YamlEntry& entry : root.entries) {
      const std::string& name = entry.key.text;
      if (name != "plugins" && name != "plugin_versions") continue;
      read_field(*find_field(job_fields(), name), loaded_.spec, entry, name);
      if (name == "plugins") written = &entry.value;
    }
    if (loaded_.problems.size() > before) return false;
    std::vector<std::pair<std::string, std::string>> added;  // those of the command line, and their files
    for (const std::string& path : plugins_of_all())
      added.emplace_back(load_plugin(path, "", root, ""), path);
    if (loaded_.problems.size() > before) return false;
    std::vector<std::string>& plugins = loaded_.spec.plugins;
    const std::vector<std::string>& noted = loaded_.spec.plugin_versions;
    const auto name_of = [](const std::string& plugin) { return plugin.substr(0, plugin.find(' ')); };
    for (size_t i = 0; i < plugins.size(); ++i) {
      const std::string version = i < noted.size() ? noted[i] : "";
      std::error_code none;
      // One that is elsewhere now; check_plugin_versions() sees another version.
      for (const auto& [plugin, path] : added)
        if (plugin == version ||
            (name_of(plugin) == name_of(version) && !std::filesystem::exists(plugins[i], none)))
          plugins[i] = path;
      loaded_plugins_.push_back(
          load_plugin(plugins[i], version, written->items[i], fmt::format("plugins[{}]", i)));
    }
    for (const auto& [plugin, path] : added) {
      if (std::ranges::find(loaded_plugins_, plugin) != loaded_plugins_.end()) continue;
      loaded_plugins_.push_back(plugin);
      plugins.push_back(path);
    }
    return loaded_.problems.size() == before;
  }

  // Returns its name and version. One that is loaded already under another path is not loaded again.
  std::string load_plugin(const std::string& path, const std::string& noted, const YamlNode& node,
                          const std::string& field) {
    try {
      if (!plugin_loader()) throw Error(ExitCode::kUsage, "plug-ins cannot be loaded here");
      return plugin_loader()(path, noted);
    } catch (const Error& error) {
      if (error.code() != ExitCode::kUsage) throw;
      report(node, field, error.what());
      return "";
    }
  }

  // Those that a run has noted have to be the same. There may be more now, of the command line.
  void check_plugin_versions() {
    std::vector<std::string>& noted = loaded_.spec.plugin_versions;
    const bool same = noted.size() <= loaded_plugins_.size() &&
                      std::equal(noted.begin(), noted.end(), loaded_plugins_.begin());
    if (!same)
      loaded_.refuse("plugin_versions", "the plug-ins are {}, and this is of a run with {}; give it those",
                     loaded_plugins_.empty() ? "none" : join(loaded_plugins_), join(noted));
    noted = loaded_plugins_;
  }

  // There are already more problems than are shown, so no more time is spent on suggestions.
  bool flooded() const { return loaded_.problems.size() > kMaxProblems; }

  Position position_of(const YamlNode& node) const {
    if (node.line == 0) return {kOverrideName, 0, 0};
    return {file_, node.line, node.column};
  }

  // Reads a key that must be a name; reports a problem and returns false if it is not.
  bool read_key(const YamlNode& key, const std::string& section, std::map<std::string, int>& lines) {
    std::string problem = key.complaint;
    if (problem.empty() && key.kind != YamlNode::Kind::kScalar)
      problem = "a key must be a name, not " + shown(key);
    if (problem.empty() && key.text == "<<")
      problem = "merge keys (<<) are not supported; write the fields out";
    if (!problem.empty()) {
      report(key, section, problem);
      return false;
    }
    const auto [first, is_new] = lines.emplace(key.text, key.line);
    if (!is_new)
      report(key, path_in(section, printable(key.text, 60)),
             fmt::format("is written twice, first on line {}", first->second));
    return is_new;
  }

  // Calls `read` with each entry of the map at `section`, and its path. Reports keys that are no names or are
  // written twice, and a number that a comma has made two entries of: `{rate: 0,5}`.
  template <class Read>
  void each_entry(const YamlNode& map, const std::string& section, const Read& read) {
    std::map<std::string, int> lines;
    for (size_t i = 0; i < map.entries.size(); ++i) {
      const YamlEntry& entry = map.entries[i];
      if (!read_key(entry.key, section, lines)) continue;
      const std::string path = path_in(section, entry.key.text);
      const std::string split = i + 1 < map.entries.size() ? split_at_comma(entry, map.entries[i + 1]) : "";
      if (split.empty()) {
        read(entry, path);
      } else {
        report(entry.value, path, split);
        ++i;
      }
    }
  }

  // Reads the kind on which it depends which fields the others are, wherever in `map` it is written. Its
  // problems are reported when its turn comes.
  template <class Spec>
  void read_kind(const Field<Spec>* kind, const YamlNode& map, const std::string& name, Spec& spec) const {
    const auto written =
        std::ranges::find_if(map.entries, [&](const YamlEntry& entry) { return entry.key.text == name; });
    if (kind == nullptr || written == map.entries.end()) return;
    const auto silent = [](const YamlNode&, const std::string&, const std::string&) {};
    ValueReader(*kind, written->value, kind->path, silent)
        .read(*std::get<MemberOf<Spec, std::string>>(kind->member).at(spec));
  }

  void read_section(const YamlNode& map, const std::string& section) {
    read_kind(find_field(job_fields(), path_in(section, "kind")), map, "kind", loaded_.spec);
    each_entry(map, section, [&](const YamlEntry& entry, const std::string& path) {
      const bool dotted = entry.key.text.find('.') != std::string::npos;
      if (contains({"plugins", "plugin_versions"}, path)) return;  // load_plugins() has read them
      if (const auto* field = find_field(job_fields(), path); field && !dotted) {
        read_field(*field, loaded_.spec, entry, path);
      } else if (!dotted && !names_in_section(path).empty()) {
        read_subsection(entry, path);
      } else {
        report_unknown(entry.key, section);
      }
    });
  }

  void read_subsection(const YamlEntry& entry, const std::string& path) {
    loaded_.positions[path] = position_of(entry.key);
    if (!entry.value.complaint.empty()) return report(entry.value, path, entry.value.complaint);
    if (entry.value.kind == YamlNode::Kind::kMap) return read_section(entry.value, path);
    const bool no_space = entry.value.plain && entry.value.text.find(':') != std::string::npos;
    const std::vector<std::string> names = names_in_section(path);
    std::string advice = no_space ? kSpaceAfterColon : "";
    // Whether the value of the section's first field is what a user may give in its place.
    const bool names_a_choice = contains({"kind", "dataset", "per_replica"}, names.front());
    if (advice.empty() && entry.value.kind == YamlNode::Kind::kScalar && names_a_choice)
      advice = fmt::format("; write {{{}: {}}}", names.front(), printable(entry.value.text, 60));
    report(entry.value, path,
           fmt::format("expected a section with {}, got {}{}", join(names), shown(entry.value), advice));
  }

  void report_unknown(const YamlNode& key, const std::string& section) {
    const std::string name = printable(key.text, 60);
    const std::string path = path_in(section, name);
    if (flooded()) return report(key, path, "unknown field");
    const bool dotted = name.find('.') != std::string::npos && find_field(job_fields(), path);
    report(key, path,
           "unknown field" + (dotted ? "; write each part of the path on a line of its own, indented"
                              : name.find(':') != std::string::npos ? kSpaceAfterColon
                              : name.find('=') != std::string::npos
                                  ? "; YAML has a colon and a space in place of ="
                                  : suggest_field(path)));
  }

  template <class Spec>
  void read_field(const Field<Spec>& field, Spec& spec, const YamlEntry& entry, const std::string& path) {
    loaded_.positions[path] = position_of(entry.key);
    for (size_t i = 0; i < entry.value.items.size(); ++i)
      loaded_.positions[fmt::format("{}[{}]", path, i)] = position_of(entry.value.items[i]);
    std::visit(
        [&](const auto& member) {
          using T = typename std::decay_t<decltype(member)>::Type;
          T unused = {};  // what is written of a field that the spec's kind does not have is checked, too
          T* const found = member.at(spec);
          T& value = found ? *found : unused;
          if constexpr (requires(const ValueReader& reader, T& to) { reader.read(to); }) {
            ValueReader(field, entry.value, path, report_).read(value);
          } else {
            read_entries(field, entry.value, value);
          }
          if constexpr (std::is_same_v<T, std::optional<std::string>>) {
            if (field.file_system && value) *value = resolve(*value, entry.value);
          } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
            for (std::string& path : value) {
              if (field.file_system) path = resolve(path, entry.value);
            }
          }
        },
        field.member);
  }

  // Relative paths in the file start at the spec's folder; on the command line, at the working folder.
  std::string resolve(const std::string& path, const YamlNode& node) const {
    if (is_address(path)) return path;
    if (node.line == 0) return std::filesystem::absolute(starts_.in_overrides / path).lexically_normal();
    return starts_.in_file.empty() ? path : (starts_.in_file / path).lexically_normal().string();
  }

  template <class Entry>
  void read_entries(const FieldInfo& field, const YamlNode& list, std::vector<Entry>& entries) {
    const EntryList<Entry>& of = entry_list<Entry>();
    const std::string expected = fmt::format("a list of {} such as [{}]", of.many, of.example);
    if (!ValueReader(field, list, field.path, report_).is_list(expected)) return;
    entries.resize(list.items.size());
    for (size_t i = 0; i < entries.size(); ++i)
      read_entry(list.items[i], entries[i], fmt::format("{}[{}]", field.path, i));
  }

  template <class Entry>
  void read_entry(const YamlNode& map, Entry& spec, const std::string& base) {
    const EntryList<Entry>& of = entry_list<Entry>();
    const std::string expected = fmt::format("{} such as {}", of.one, of.example);
    if (!is_of_kind(map, YamlNode::Kind::kMap, expected, base, report_)) return;
    read_kind(find_field(of.fields, of.selector), map, of.selector, spec);
    std::vector<const YamlNode*> unknown;
    each_entry(map, base, [&](const YamlEntry& entry, const std::string& path) {
      if (const auto* field = find_field(of.fields, entry.key.text)) {
        read_field(*field, spec, entry, path);
      } else {
        unknown.push_back(&entry.key);
      }
    });
    const auto names = of.fields_of_kind(of.kind_of(spec));  // if there is no kind, only "kind"
    for (const YamlNode* key : unknown) {
      const std::string name = printable(key->text, 60);
      const std::string meant = flooded() ? "" : did_you_mean(name, names);
      const bool is_kind = contains(of.kinds.built, name);
      report(*key, path_in(base, name),
             fmt::format("unknown field of {}{}", of.one,
                         is_kind         ? fmt::format("; write {{{}: {}, ...}}", of.selector, name)
                         : meant.empty() ? "; known here: " + join(names)
                                         : meant));
    }
  }

  LoadedSpec& loaded_;
  std::vector<std::string> loaded_plugins_;  // their names and versions
  const ReportProblem report_ = [this](const YamlNode& node, const std::string& path,
                                       const std::string& text) { report(node, path, text); };
  const std::string file_;
  const StartOfPaths starts_;
};

// Sorts the problems by position, with those of overrides last, and drops those beyond the limit.
void arrange(std::vector<Problem>& problems) {
  const auto place = [](const Problem& problem) {
    return std::make_tuple(problem.line == 0, problem.line, problem.column);
  };
  std::ranges::stable_sort(problems, [&](const Problem& a, const Problem& b) { return place(a) < place(b); });
  if (problems.size() <= kMaxProblems) return;
  const size_t more = problems.size() - kMaxProblems;
  problems.resize(kMaxProblems);
  problems.push_back({problems.back().file, 0, 0, "", fmt::format("and {} more problems", more)});
}

// Reads `root` with `overrides` into a new LoadedSpec.
using ReadTree = std::function<LoadedSpec(YamlNode root, const Overrides& overrides)>;

std::set<std::string> paths_of(const std::vector<Problem>& problems) {
  std::set<std::string> paths;
  for (const Problem& problem : problems) paths.insert(problem.path);
  return paths;
}

constexpr double kAnotherSize = 4;  // a rate that is so many times another one

// A note for each optimizer whose kind an override has changed while its learning rate stays the file's, if
// one of the two kinds has no usual rate, and this rate is far from one that the new kind could have.
void add_notes_on_rates(const JobSpec& of_file, const LoadedSpec& now, std::vector<std::string>& notes) {
  const auto compare = [&](const std::string& section, const OptimizerSpec& before,
                           const OptimizerSpec& after) {
    const OptimizerKind &old = optimizer_kind(before.kind), &kind = optimizer_kind(after.kind);
    const auto rate = now.positions.find(section + ".learning_rate");
    if (old.name == kind.name || !(old.own_rate || kind.own_rate) || rate == now.positions.end() ||
        rate->second.line == 0)
      return;
    const double usual = kind.own_rate.value_or(OptimizerSpec().learning_rate);
    if (after.learning_rate < kAnotherSize * usual && usual < kAnotherSize * after.learning_rate) return;
    notes.push_back(
        fmt::format("{0}.learning_rate of {1} is still {2:g}, which was for {3}; rates for {4} are of "
                    "another size: set it too, such as --set {0}.learning_rate={5:g}",
                    section, rate->second.file, after.learning_rate, old.name, kind.name, usual));
  };
  if (!schedules_have_rates(now.spec))
    compare("train.optimizer", of_file.train.optimizer, now.spec.train.optimizer);
  const auto &before = of_file.train.optimizers, &after = now.spec.train.optimizers;
  for (size_t i = 0; i < std::min(before.size(), after.size()); ++i)
    compare(fmt::format("train.optimizers[{}]", i), before[i].optimizer, after[i].optimizer);
}

// Removes from `root` the fields that contradict a kind which an override has changed or removed, such as
// sgd's momentum under --set train.optimizer.kind=adam. Returns a line for each, and the notes on rates.
// Whatever is a problem of the file alone, or only with further overrides, stays one.
std::vector<std::string> drop_fields_of_other_kinds(YamlNode& root, const Overrides& overrides,
                                                    const ReadTree& read) {
  Overrides kinds(overrides_of_kinds(overrides.set), overrides_of_kinds(overrides.unset));
  std::vector<std::string> notes;
  if (kinds.set.empty() && kinds.unset.empty()) return notes;
  const Overrides of_plugins = split_overrides(overrides).first;
  kinds.set.insert(kinds.set.end(), of_plugins.set.begin(), of_plugins.set.end());
  kinds.unset.insert(kinds.unset.end(), of_plugins.unset.begin(), of_plugins.unset.end());
  const LoadedSpec alone = read(root, of_plugins);
  const std::set<std::string> of_file = paths_of(alone.problems);
  for (bool again = true; again;) {  // what is dropped may itself decide about other fields
    again = false;
    const LoadedSpec loaded = read(root, overrides);
    const std::set<std::string> of_kinds = paths_of(read(root, kinds).problems);
    for (const Problem& problem : loaded.problems) {
      const auto written = loaded.positions.find(problem.path);
      if (of_file.contains(problem.path) || !of_kinds.contains(problem.path) ||
          written == loaded.positions.end() || written->second.line == 0 ||
          !names_in_section(problem.path).empty())
        continue;
      if (!remove_field(root, problem.path).empty()) continue;
      notes.push_back(fmt::format("{} of {} dropped: {}", problem.path, problem.file, problem.text));
      again = true;
    }
    if (!again) add_notes_on_rates(alone.spec, loaded, notes);
  }
  return notes;
}

// The loss says what the one target column of a table is.
void resolve_target_kind(JobSpec& spec) {
  if (!has_columns(spec.data.dataset) || spec.data.target_kind != "auto") return;
  const Targets targets = objective_info(spec.train.loss.kind).targets;
  const bool classes =
      targets == Targets::kClass || (targets == Targets::kEither && spec.data.target.size() == 1);
  spec.data.target_kind = classes ? "classes" : "numbers";
}

LoadedSpec parse(const std::string& text, const std::string& name, const StartOfPaths& starts,
                 const Overrides& overrides) {
  const ReadTree read = [&](YamlNode root, const Overrides& with) {
    LoadedSpec loaded;
    SpecReader(loaded, name, starts).read(root, with);
    return loaded;
  };
  LoadedSpec loaded;
  try {
    YamlNode root = parse_yaml(text);
    if (root.line == 0) root.line = root.column = 1;  // the file has no document at all
    write_words_out(root, "");
    const std::vector<std::string> notes = drop_fields_of_other_kinds(root, overrides, read);
    loaded = read(std::move(root), overrides);
    loaded.notes = notes;
  } catch (const YamlError& error) {
    loaded.positions[""] = {name, 0, 0};
    loaded.problems.push_back({name, error.line, error.column, "", error.what()});
  }
  arrange(loaded.problems);
  // A list of one device looks like the word for any number of replicas, so `replicas` has its length.
  StrategySpec& strategy = loaded.spec.strategy;
  if (loaded.ok() && loaded.positions.contains("strategy.devices[0]"))
    strategy.replicas = static_cast<int64_t>(strategy.devices.size());
  resolve_target_kind(loaded.spec);
  return loaded;
}

}  // namespace

void set_plugin_loader(LoadPlugin load) { plugin_loader() = std::move(load); }

void add_plugin_to_specs(const std::string& path) { plugins_of_all().push_back(path); }

Problem LoadedSpec::problem_at(const std::string& path, const std::string& text) const {
  std::string written = path;
  while (!written.empty() && !positions.contains(written)) {
    const size_t end = written.find_last_of(".[");
    written.resize(end == std::string::npos ? 0 : end);
  }
  const auto at = positions.find(written);
  const Position position = at == positions.end() ? Position{} : at->second;
  return {position.file, position.line, position.column, path, text};
}

LoadedSpec load_spec(const std::filesystem::path& path, const Overrides& overrides,
                     const StartOfPaths& starts) {
  const std::string name = path == "-" ? "<stdin>" : path.string();
  std::string text;
  try {
    text = read_input(path, name, kMaxYamlBytes, ExitCode::kUsage);
  } catch (const Error& error) {
    if (error.code() == ExitCode::kDisk) throw;  // not a problem of the spec
    LoadedSpec loaded;
    const std::string prefix = name + ": ";
    const std::string what = error.what();
    loaded.problems.push_back(
        {name, 0, 0, "", what.compare(0, prefix.size(), prefix) == 0 ? what.substr(prefix.size()) : what});
    return loaded;
  }
  // The folder of a pipe, or of /dev/stdin and /dev/fd/3, means nothing to its reader.
  const bool in_folder = path != "-" && std::filesystem::is_regular_file(path) &&
                         std::filesystem::absolute(path).native().rfind("/dev/", 0) != 0;
  const std::filesystem::path folder = !starts.in_file.empty() ? starts.in_file
                                       : in_folder             ? std::filesystem::absolute(path).parent_path()
                                                               : std::filesystem::current_path();
  LoadedSpec loaded = parse(text, name, {folder, starts.in_overrides}, overrides);
  const auto file = loaded.positions.find("model.file");  // one of an override is not the run's
  if (in_folder && file != loaded.positions.end() && file->second.file == name)
    loaded.spec.model.kept_file = folder / kProgramFile;
  return loaded;
}

LoadedSpec parse_spec(const std::string& text, const std::string& name, const Overrides& overrides) {
  return parse(text, name, {}, overrides);
}

}  // namespace dtrain
