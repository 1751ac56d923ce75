// The rules between fields.
#pragma once

#include "job_file/load.h"

namespace dtrain {

// Adds the problems of fields that contradict each other. A rule complains about what was written, never
// about a default. It ignores fields that already have a problem.
void check_rules(LoadedSpec& loaded);

// Adds what is against replicas on several hosts. `known`: how they are known, "TF_CONFIG lists 3".
void check_spans_hosts(LoadedSpec& loaded, const std::string& known);

// Adds a problem if so many hosts cannot share the replicas evenly.
void check_even_share(LoadedSpec& loaded, int64_t replicas, int64_t hosts);

}  // namespace dtrain
