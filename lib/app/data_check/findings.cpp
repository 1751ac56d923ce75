#include "data_check/findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "display/table_layout.h"
#include "pictures/picture_list.h"

namespace dtrain {
namespace {

constexpr size_t kMostLinesShown = 10;  // of a finding
constexpr size_t kMostClassRows = 60;

// The parts that there are, and the classes that are shown in them.
std::vector<size_t> parts_shown(const std::vector<std::vector<int64_t>>& counts) {
  std::vector<size_t> shown;
  for (size_t part = 0; part < counts.size(); ++part) {
    const bool any = std::ranges::any_of(counts[part], [](int64_t count) { return count > 0; });
    if (any) shown.push_back(part);
  }
  return shown;
}

}  // namespace

TableRows class_rows(const DataCheck& check) {
  const auto counts = check.counts();
  const std::vector<size_t> shown = parts_shown(counts);
  TableRows rows = {{check.classes.empty() ? "examples" : "class"}};
  for (const size_t part : shown) rows[0].push_back(name_of(static_cast<DataPart>(part)));
  rows[0].push_back("in all");
  const auto add = [&](const std::string& title, size_t first, size_t last) {
    int64_t all = 0;
    rows.push_back({title});
    for (const size_t part : shown) {
      int64_t here = 0;
      for (size_t label = first; label < last; ++label) here += counts[part][label];
      rows.back().push_back(with_separators(here));
      all += here;
    }
    rows.back().push_back(with_separators(all));
  };
  for (size_t label = 0; label < std::min(kMostClassRows, check.classes.size()); ++label)
    add(printable(check.classes[label], 40), label, label + 1);
  if (check.classes.size() > kMostClassRows)
    add(fmt::format("{} more", check.classes.size() - kMostClassRows), kMostClassRows, check.classes.size());
  add("in all", 0, counts[0].size());
  return rows;
}

std::vector<DataFinding> findings_of(const DataCheck& check) {
  std::vector<DataFinding> findings;
  const auto titles = [&](const std::vector<size_t>& examples) {
    std::vector<std::string> lines;
    for (const size_t example : examples) lines.push_back(check.title_of(example));
    return lines;
  };
  const auto add = [&](const std::string& title, const std::string& meaning, std::vector<std::string> lines) {
    if (!lines.empty()) findings.push_back({title, meaning, std::move(lines)});
  };
  std::vector<std::string> broken;
  for (const BrokenExample& one : check.broken)
    broken.push_back(check.title_of(one.example) + ": " + one.reason);
  add("broken", "cannot be used; training ends with an error, or leaves them out (data.on_bad_example: skip)",
      std::move(broken));
  add("refused", "training ends with an error", check.refused);
  add("doubtful", "training warns of it", check.doubtful);

  std::vector<std::string> leaked, ambiguous, copies, alike;
  for (const SameExamples& group : check.same) {
    std::string line;
    for (const size_t member : group.members) {
      const CheckedExample& one = check.examples[member];
      const bool of_class = check.files.empty() && one.label >= 0;
      line += fmt::format("{}{} ({}{})", line.empty() ? "" : ", ", check.title_of(member), name_of(one.part),
                          of_class ? ", " + check.classes[static_cast<size_t>(one.label)] : "");
      if (line.size() > 2000) {
        line += fmt::format(", ... {} in all", group.members.size());
        break;
      }
    }
    if (check.crosses_parts(group)) leaked.push_back(line);
    if (check.has_several_labels(group)) ambiguous.push_back(line);
    (group.exact ? copies : alike).push_back(line);
  }
  add("leaked", "the same to train on and to measure with: results are better than they should be", leaked);
  add("several classes", "the same under more than one class: only one can be right", ambiguous);
  add("copies",
      check.files.empty() ? "groups of examples with the same inputs" : "groups of files with the same bytes",
      copies);
  add("alike", "groups of pictures that look alike, such as copies of another size", alike);
  for (const auto& [colours, pictures] : check.odd_colours)
    add(colours, "pictures with other pixels than plain colour; they are converted", titles(pictures));
  add("turned", "photographs that are stored on their side or head (EXIF); they are read upright",
      titles(check.turned));
  add("nearly black",
      "pictures of 16 bits with no value over 4,095, as cameras of 12 bits make them; multiply their values "
      "by 16",
      titles(check.nearly_black));
  add("colour profiles",
      "pictures with another colour profile than sRGB, which is ignored; convert them to sRGB if their "
      "colours matter",
      titles(check.other_colours));
  std::vector<std::string> endings, columns;
  for (const auto& [ending, count] : check.left_out) endings.push_back(endings_text({{ending, count}}));
  add("left out", fmt::format("files that are not read; dtrain reads {}", picture_endings()),
      std::move(endings));
  for (const auto& [column, what] : check.columns) columns.push_back(printable(column, 100) + ": " + what);
  add("columns", "columns with something odd", std::move(columns));
  return findings;
}

std::string sizes_text(const DataCheck& check) {
  const auto range = [](const SizeRange& sizes) {
    return sizes.least == sizes.most
               ? std::to_string(sizes.least)
               : fmt::format("{} to {} (median {})", sizes.least, sizes.most, sizes.median);
  };
  if (check.widths.most == 0) return "";
  return fmt::format("widths {}, heights {} pixels", range(check.widths), range(check.heights));
}

std::string check_text(const DataCheck& check) {
  std::string text =
      fmt::format("{}: {}, {} read in {}\n", printable(check.source, 1000), check.dataset,
                  counted(std::ssize(check.examples), check.files.empty() ? "example" : "picture"),
                  human_duration(check.seconds));
  if (const std::string sizes = sizes_text(check); !sizes.empty()) text += sizes + "\n";
  text += "\n";
  text += lay_out(class_rows(check), {.narrowest = 10});
  const std::vector<DataFinding> findings = findings_of(check);
  if (findings.empty()) return text + "\nnothing odd was found\n";
  for (const DataFinding& finding : findings) {
    text += fmt::format("\n{} ({}): {}\n", finding.title, with_separators(std::ssize(finding.lines)),
                        finding.meaning);
    for (size_t line = 0; line < std::min(kMostLinesShown, finding.lines.size()); ++line)
      text += "  " + printable(finding.lines[line], 1000) + "\n";
    if (finding.lines.size() > kMostLinesShown)
      text += fmt::format("  and {} more (--json lists all)\n",
                          with_separators(static_cast<int64_t>(finding.lines.size() - kMostLinesShown)));
  }
  return text;
}

Event check_json(const DataCheck& check) {
  const auto example = [&](size_t index) {
    const CheckedExample& one = check.examples[index];
    Event json = {{check.files.empty() ? "example" : "file", check.title_of(index)},
                  {"part", name_of(one.part)}};
    if (one.label >= 0) json["class"] = check.classes[static_cast<size_t>(one.label)];
    return json;
  };
  const auto list = [&](const std::vector<size_t>& examples) {
    Event json = Event::array();
    for (const size_t one : examples) json.push_back(example(one));
    return json;
  };
  Event json = {{"dataset", check.dataset},
                {"source", check.source},
                {"sound", check.is_sound()},
                {"examples", check.examples.size()}};
  const auto counts = check.counts();
  json["parts"] = Event::object();
  for (const size_t part : parts_shown(counts)) {
    Event& here = json["parts"][name_of(static_cast<DataPart>(part))] = Event::object();
    for (size_t label = 0; label < counts[part].size(); ++label)
      here[check.classes.empty() ? "examples" : check.classes[label]] = counts[part][label];
  }
  json["broken"] = Event::array();
  for (const BrokenExample& one : check.broken) {
    json["broken"].push_back(example(one.example));
    json["broken"].back()["reason"] = one.reason;
  }
  json["same"] = Event::array();
  for (const SameExamples& group : check.same)
    json["same"].push_back({{"exact", group.exact},
                            {"leaked", check.crosses_parts(group)},
                            {"several_classes", check.has_several_labels(group)},
                            {"examples", list(group.members)}});
  if (!check.files.empty()) {
    const auto range = [](const SizeRange& sizes) {
      return Event{{"least", sizes.least}, {"median", sizes.median}, {"most", sizes.most}};
    };
    json["widths"] = range(check.widths);
    json["heights"] = range(check.heights);
    json["turned"] = list(check.turned);
    json["nearly_black"] = list(check.nearly_black);
    json["colour_profiles"] = list(check.other_colours);
    json["left_out"] = check.left_out;
    json["colours"] = Event::object();
    for (const auto& [colours, pictures] : check.odd_colours) json["colours"][colours] = list(pictures);
  }
  if (has_columns(check.dataset)) {
    json["columns"] = Event::array();
    for (const auto& [column, what] : check.columns)
      json["columns"].push_back({{"column", column}, {"finding", what}});
  }
  json["refused"] = check.refused;
  json["doubtful"] = check.doubtful;
  return json;
}

}  // namespace dtrain
