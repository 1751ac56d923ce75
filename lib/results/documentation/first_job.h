// The example jobs, the job that `dtrain init` writes, what it asks about it, and the spec with what its
// fields mean.
#pragma once

#include <istream>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "job_file/load.h"

namespace dtrain {

// One of the example jobs of configs/, which are inside the program.
struct ShippedConfig {
  std::string name;  // "mnist_mirrored"
  std::string text;
};

// By name. CMake makes this function from the files (cmake/Configs.cmake).
const std::vector<ShippedConfig>& shipped_configs();

// The first sentence of the comment that a config begins with.
std::string summary_of(const ShippedConfig& config);

// A question about the first job, and the option of `dtrain init` that answers it.
struct FirstQuestion {
  std::string option;  // "--epochs"
  std::string path;    // of the field
};
const std::vector<FirstQuestion>& first_questions();

struct FirstJob {
  std::map<std::string, std::string> answers = {};  // by path
  std::vector<std::string> set = {};                // "path=value", besides
  // The same of data that was looked at, where neither of the above says otherwise; empty: no data was.
  std::vector<std::string> found = {};
};

// Whether answers or `set` decide the field: itself, the section it is in, or the kind of that section.
bool is_decided(const FirstJob& job, const std::string& path);

// The first job with these answers, or their problems. What some kinds need besides has a default.
LoadedSpec read_first_job(const FirstJob& job);

// Asks the questions, each with its default in brackets, until the answer is valid; an empty one is the
// default, and so is everything after the end of `in`. Returns the answers by path.
std::map<std::string, std::string> ask_for_job(std::istream& in, std::ostream& out);

struct StarterNotes {
  std::string title = {};                          // what the job is for; may be empty
  std::map<std::string, std::string> fields = {};  // why a field has its value, by path
};

// `spec` as commented YAML: the fields that a first job is about, and those at `also`. Each has its note
// above it, or its meaning, choices and bounds from the table of fields.
std::string starter_spec(const JobSpec& spec, const std::vector<std::string>& also = {},
                         const StarterNotes& notes = {});

// The first project of a plug-in: its files' names and texts. `name`: small letters, digits and '_'.
std::vector<std::pair<std::string, std::string>> plugin_project(const std::string& name);

}  // namespace dtrain
