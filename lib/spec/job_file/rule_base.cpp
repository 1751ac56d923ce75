#include "job_file/rule_base.h"

#include <algorithm>

#include "spec/fields.h"

namespace dtrain {

RuleBase::RuleBase(LoadedSpec& loaded) : loaded_(loaded), spec_(loaded.spec) {
  for (const Problem& problem : loaded.problems) faulty_.push_back(problem.path);
}

bool RuleBase::has_problem(const std::string& path) const {
  const auto within = [](const std::string& inner, const std::string& outer) {
    return !outer.empty() && inner.compare(0, outer.size(), outer) == 0 &&
           (inner.size() == outer.size() || inner[outer.size()] == '.' || inner[outer.size()] == '[');
  };
  return std::any_of(faulty_.begin(), faulty_.end(), [&](const std::string& faulty) {
    return within(path, faulty) || (faulty.find('[') != std::string::npos && within(faulty, path));
  });
}

bool RuleBase::any_faulty_in(const std::string& section) const {
  return std::any_of(faulty_.begin(), faulty_.end(),
                     [&](const std::string& path) { return path.rfind(section + ".", 0) == 0; });
}

void RuleBase::check_own(const std::string& section, Contradictions contradictions, const KindFields& own) {
  if (contradictions == nullptr) return;
  for (const Contradiction& found : contradictions(own)) {
    const std::string path = found.field.empty() ? section : path_in(section, found.field);
    if (usable(path) && !has_problem(path_in(section, found.other))) add(path, found.text);
  }
}

}  // namespace dtrain
