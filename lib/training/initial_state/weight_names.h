// How the names of the variables in a file of weights become those of a job's model.
#pragma once

#include <map>
#include <set>
#include <string>

#include "models/variables.h"
#include "plan/job_plan.h"

namespace dtrain {

class WeightNames {
 public:
  explicit WeightNames(const JobPlan& job);

  // "layer1.0.bn1" of "layer1.0.bn1.weight".
  static std::string layer_of(const std::string& variable);

  // Whether one of the model's variables is of its head (Architecture::head).
  bool is_of_head(const std::string& variable) const;
  // Whether `variable` belongs to the network's own top, by torchvision's name, and the model is without it.
  bool is_of_left_out_top(const std::string& variable) const;
  // Gives variables with torchvision's names the model's, and leaves out its counts of batches, which nothing
  // needs. Does nothing and returns false if they have other names.
  bool translate(const Model& model, Variables& variables) const;

 private:
  std::map<std::string, std::string> own_names_;  // by torchvision's name of a layer
  std::set<std::string> head_;                    // the model's names of layers
  std::set<std::string> left_out_;                // torchvision's names
};

}  // namespace dtrain
