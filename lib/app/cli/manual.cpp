#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "cli/options.h"
#include "core/error.h"
#include "core/signals.h"
#include "core/terminal.h"
#include "core/text.h"
#include "core/version.h"

namespace dtrain {
namespace {

// Text as roff takes it literally: no escapes, no requests at the beginning of a line, copyable hyphens.
std::string roff(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    const bool begins_line = escaped.empty() || escaped.back() == '\n';
    if (begins_line && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else if (c == '"')
      escaped += "\\(dq";
    else
      escaped += c;
  }
  return escaped;
}

std::string heading(const std::string& words) { return ".SH " + words + "\n"; }

// One paragraph for each line: descriptions and footers break their lines on purpose.
std::string paragraphs(const std::string& text) {
  std::string page;
  for (const std::string& line : split_lines(text)) page += line.empty() ? ".PP\n" : roff(line) + "\n.br\n";
  return page;
}

// "a,b" as "a, b".
std::string with_blanks(std::string names) {
  for (size_t comma = names.find(','); comma != std::string::npos; comma = names.find(',', comma + 2))
    names.replace(comma, 1, ", ");
  return names;
}

// An option as man lists it: ".BI "--replicas " N", its description, and its values ("INT in [1 - 8]").
std::string listed(const CLI::Option& option) {
  const std::string names = with_blanks(option.get_name(false, true));
  const std::string type = option.get_items_expected_max() > 0 ? option.get_type_name() : "";
  const size_t colon = std::min(type.find(':'), type.size());  // "N:INT in [1 - 8]", "FORMAT:{onnx,...}"
  std::string entry = ".TP\n";
  if (colon == 0)
    entry += ".B " + roff(names) + "\n";
  else
    entry += ".BI \"" + roff(names) + "\" \" " + roff(type.substr(0, colon)) + "\"\n";
  entry += roff(option.get_description()) + "\n";
  if (colon == type.size()) return entry;
  return entry + ".br\n" + roff(with_blanks(type.substr(colon + 1))) + "\n";
}

std::string options_of(CLI::App& app) {
  std::string page;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) page += listed(*option);
  }
  return page;
}

std::string usage(CLI::App& app, const std::string& name) {
  std::string line = ".B " + roff(name) + "\n[\\fIOPTIONS\\fR]";
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    std::string word = option->get_name(true, false);
    if (option->get_items_expected_max() > 1) word += "...";
    line += option->get_required() ? " \\fI" + roff(word) + "\\fR" : " [\\fI" + roff(word) + "\\fR]";
  }
  return line + (app.get_subcommands(is_visible).empty() ? "\n" : " \\fICOMMAND\\fR ...\n");
}

// The page `name` of the command that is typed as `typed`.
std::string page_of(CLI::App& app, const std::string& name, const std::string& typed,
                    const std::string& related) {
  std::string upper = name;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  std::string page = fmt::format(".TH {} 1 \"\" \"dtrain {}\" \"dtrain\"\n", roff(upper), kVersion);
  std::string description = app.get_description();
  if (description.find(name + ": ") == 0) description.erase(0, name.size() + 2);  // man has its name already
  const std::string summary = description.substr(0, description.find('\n'));
  page += heading("NAME") + roff(name) + " \\- " + roff(summary) + "\n";
  page += heading("SYNOPSIS") + usage(app, typed);
  if (summary.size() < description.size())
    page += heading("DESCRIPTION") + paragraphs(description.substr(summary.size() + 1));
  page += heading("OPTIONS") + options_of(app);
  const std::vector<CLI::App*> commands = app.get_subcommands(is_visible);
  if (!commands.empty()) page += heading("COMMANDS");
  for (CLI::App* command : commands) {
    page += ".TP\n.B " + roff(command->get_name()) + "\n" + roff(command->get_description()) + "\n";
    // Commands of commands have no page of their own.
    if (app.get_parent() != nullptr) page += ".RS\n" + options_of(*command) + ".RE\n";
  }
  if (!app.get_footer().empty()) page += heading("NOTES") + paragraphs(app.get_footer());
  return page + heading("SEE ALSO") + related + ".\n";
}

// Whether there is a man that has shown the page.
bool is_shown_by_man(const std::string& page) {
  leave_write_errors_to_writers();  // a reader may leave the pager at once
  FILE* const man = ::popen("man -l - 2>/dev/null", "w");
  if (man == nullptr) return false;
  std::fwrite(page.data(), 1, page.size(), man);
  return ::pclose(man) == 0;
}

}  // namespace

std::map<std::string, std::string> manual_pages(CLI::App& app) {
  std::vector<std::string> names;
  std::map<std::string, std::string> pages;
  for (CLI::App* command : app.get_subcommands(is_visible)) {
    const std::string name = "dtrain-" + command->get_name();
    names.push_back(".BR " + roff(name) + " (1)");
    pages[name + ".1"] = page_of(*command, name, "dtrain " + command->get_name(), ".BR dtrain (1)");
  }
  pages["dtrain.1"] = page_of(app, "dtrain", "dtrain", join(names, ",\n"));
  return pages;
}

void show_manual_page(CLI::App& app, const std::string& command) {
  const auto pages = manual_pages(app);
  const auto page = pages.find(command.empty() ? "dtrain.1" : "dtrain-" + command + ".1");
  if (page == pages.end())
    throw Error(ExitCode::kUsage, "there is no command '{}'; dtrain --help lists them", printable(command));
  if (!is_terminal(STDOUT_FILENO))
    std::cout << page->second;
  else if (!is_shown_by_man(page->second))
    std::cout << (command.empty() ? app : *app.get_subcommand(command)).help();
}

}  // namespace dtrain
