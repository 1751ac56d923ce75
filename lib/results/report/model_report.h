// The part of a report about a trained model: its layers, the classes that it confuses, its worst mistakes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "judge/example_results.h"

namespace dtrain {

struct LayerRow {
  std::string name;
  std::string kind;
  std::string output;  // "[32, 26, 26]"
  int64_t parameters = 0;
};

// An example whose class was not predicted.
struct Mistake {
  std::string title;       // of the example: its file, or its row of one
  std::string png;         // the image: a whole file; empty: it is none
  std::string truth;       // the title of its class
  std::string prediction;  // likewise
  double probability = 0;  // of the prediction
  double of_truth = 0;     // the probability of its class
};

struct ModelReport {
  std::vector<LayerRow> layers;
  std::string examined;                         // what was predicted, by which checkpoint; empty: nothing
  std::vector<std::string> classes;             // their titles, or those of the outputs
  std::vector<std::vector<int64_t>> confusion;  // [class][prediction]
  std::vector<Mistake> mistakes;                // the worst first
  std::vector<std::string> problems;            // what the page lacks although somebody asked for it, and why
  std::optional<ExampleResults> results;        // of the evaluation that the run ended with
};

// Elements of a page; empty if there is nothing to show.
std::string layers_section(const ModelReport& model);
std::string mistakes_section(const ModelReport& model);
std::string examples_section(const ModelReport& model);

}  // namespace dtrain
