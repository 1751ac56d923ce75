#include "job_file/print.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace dtrain {

using nlohmann::ordered_json;

std::string print_spec(const JobSpec& spec, const CommentOn& comment_on) {
  std::string text;
  std::string open;  // the section of the last line
  for (const Field<JobSpec>& field : job_fields()) {
    const ordered_json value = to_json(field, spec);
    if (value.is_null() || !applies(job_fields(), field, spec)) continue;
    const auto comment = comment_on(field);
    if (!comment) continue;
    size_t depth = 0;
    size_t begin = 0;
    for (size_t dot = field.path.find('.'); dot != std::string::npos; dot = field.path.find('.', begin)) {
      const std::string section = field.path.substr(0, dot);
      if (open != section && open.compare(0, section.size() + 1, section + ".") != 0) {
        text += fmt::format("{:{}}{}:\n", "", depth * 2, section.substr(begin));
        open = section;
      }
      begin = dot + 1;
      ++depth;
    }
    const std::string name = fmt::format("{:{}}{}:", "", depth * 2, field.path.substr(begin));
    open = begin == 0 ? "" : field.path.substr(0, begin - 1);
    for (const std::string& line : *comment) text += fmt::format("{:{}}# {}\n", "", depth * 2, line);
    const bool has_entries = value.is_array() && !value.empty() && value.front().is_object();
    if (!has_entries) {
      text += name + " " + yaml_text(value) + "\n";
      continue;
    }
    text += name + "\n";
    for (const ordered_json& entry : value)
      text += fmt::format("{:{}}- {}\n", "", depth * 2 + 2, yaml_text(entry));
  }
  return text;
}

}  // namespace dtrain
