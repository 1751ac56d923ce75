// The problems of a spec are values: a user's mistake is never an exception.
#pragma once

#include <string>

namespace dtrain {

struct Problem {
  std::string file;  // the file's name, or "--set" for an override
  int line = 0;      // 1-based; 0: no position
  int column = 0;    // 1-based
  std::string path;  // "train.optimizer.learning_rate", "model.layers[2].filters"; may be empty
  std::string text;  // what is wrong and, if known, how to fix it

  // file:line:column: path: problem
  std::string to_string() const;
};

}  // namespace dtrain
