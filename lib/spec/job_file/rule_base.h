// What the rules between fields are written with.
#pragma once

#include <string>
#include <vector>

#include "job_file/load.h"

namespace dtrain {

// Checks a spec whose fields were read one by one, and adds problems to those that reading found.
class RuleBase {
 protected:
  explicit RuleBase(LoadedSpec& loaded);

  // Whether `path` itself, a section around it, or an entry of its list could not be read.
  bool has_problem(const std::string& path) const;
  // Whether anything within the section could not be read, known fields or not.
  bool any_faulty_in(const std::string& section) const;
  bool is_written(const std::string& path) const { return loaded_.positions.contains(path); }
  // Whether it is written and could be read.
  bool usable(const std::string& path) const { return is_written(path) && !has_problem(path); }
  void add(const std::string& path, const std::string& text) {
    loaded_.problems.push_back(loaded_.problem_at(path, text));
  }
  // Reports the contradictions within what a kind, if it has any, has of its own in `section`.
  void check_own(const std::string& section, Contradictions contradictions, const KindFields& own);

  LoadedSpec& loaded_;
  const JobSpec& spec_;

 private:
  std::vector<std::string> faulty_;  // paths that had a problem before any rule was checked
};

}  // namespace dtrain
