#include "traits/kind_fields.h"

#include <nlohmann/json.hpp>

#include "catch.h"
#include "job_file/load.h"
#include "spec/field_table.h"
#include "spec/optimizer_kinds.h"

namespace dtrain {
namespace {

OptimizerSpec parsed(const std::string& optimizer, const std::vector<std::string>& overrides = {}) {
  const LoadedSpec loaded =
      parse_spec("batch: {per_replica: 64}\ntrain: {optimizer: {" + optimizer + "}}\n", "spec", overrides);
  for (const Problem& problem : loaded.problems) FAIL_CHECK(problem.to_string());
  return loaded.spec.train.optimizer;
}

TEST_CASE("a kind's fields have its defaults until they are set, and no other kind's are there") {
  OptimizerSpec spec{.kind = "rmsprop"};
  CHECK(std::as_const(spec).own.get<RmspropFields>().decay == 0.99);
  CHECK_NOTHROW(std::as_const(spec).own.get<AdamFields>());  // nothing is set
  spec.own.get<RmspropFields>().decay = 0.5;
  const OptimizerSpec copy = spec;
  spec.own.get<RmspropFields>().decay = 0.25;
  CHECK(copy.own.get<RmspropFields>().decay == 0.5);
  CHECK_THROWS_AS(copy.own.get<AdamFields>(), Error);
  CHECK_THROWS_AS(spec.own.get<AdamFields>(), Error);
}

TEST_CASE("a kind's fields may be written before the kind, in the file and in overrides") {
  CHECK(parsed("momentum: 0.5, kind: sgd").own.get<SgdFields>().momentum == 0.5);
  CHECK(parsed("momentum: 0.5, epsilon: 0.25, kind: rmsprop").own.get<RmspropFields>().epsilon == 0.25);
  const std::string kind = "train.optimizer.kind=rmsprop", momentum = "train.optimizer.momentum=0.75";
  CHECK(parsed("", {kind, momentum}).own.get<RmspropFields>().momentum == 0.75);
  CHECK(parsed("", {momentum, kind}).own.get<RmspropFields>().momentum == 0.75);
  // What the old kind has goes with it; what both have stays.
  const OptimizerSpec other = parsed("nesterov: true, momentum: 0.5, kind: sgd", {kind});
  CHECK(other.own.get<RmspropFields>().momentum == 0.5);
}

TEST_CASE("a value of another kind's field is checked, too") {
  const LoadedSpec loaded =
      parse_spec("batch: {per_replica: 64}\ntrain: {optimizer: {kind: adam, momentum: 2}}\n", "spec");
  REQUIRE(loaded.problems.size() == 2);
  CHECK_THAT(loaded.problems[0].text, ContainsSubstring("applies only when"));
  CHECK_THAT(loaded.problems[1].text, ContainsSubstring("at least 0, below 1"));
}

struct RoundFields {
  double radius = 1;
};

struct SquareFields {
  double side = 2;
  double radius = 3;
};

struct Figure {
  std::string name;
  Fields<KindFields> fields;
};

TEST_CASE("the names of all kinds' fields are in each kind's order, unless they are given in another") {
  const std::vector<Figure> kinds = {{"round", {KIND_FIELD(RoundFields, radius, .doc = "of all")}},
                                     {"line", {KIND_FIELD(SquareFields, side, .doc = "its length")}}};
  CHECK(field_names(kinds) == std::vector<std::string>{"radius", "side"});
  CHECK(field_names(kinds, {"side", "radius"}) == std::vector<std::string>{"side", "radius"});
}

TEST_CASE("a field of several kinds is one, of which what differs is said of each kind") {
  std::vector<Figure> kinds = {
      {"round", {KIND_FIELD(RoundFields, radius, .doc = "of all", .bounds = between(0, 9))}},
      {"square",
       {KIND_FIELD(SquareFields, side, .doc = "its length"),
        KIND_FIELD(SquareFields, radius, .doc = "of the corners", .bounds = between(0, 9))}},
  };
  const auto place = [](auto& spec) -> auto& { return spec.train.optimizer; };
  const Fields<JobSpec> fields = fields_of_kinds<JobSpec>(kinds, "train.optimizer", place);
  REQUIRE(fields.size() == 2);
  CHECK(fields[0].path == "train.optimizer.side");  // the order of each kind is kept
  CHECK(fields[0].when.values == std::vector<std::string>{"square"});
  CHECK(fields[1].doc == "round: of all; square: of the corners");
  CHECK(fields[1].otherwise == "round: 1; square: 3");
  CHECK(condition_text(fields[1].when) == "train.optimizer.kind is round or square");

  JobSpec spec;
  const auto radius = std::get<MemberOf<JobSpec, double>>(fields[1].member);
  CHECK(radius.at(spec) == nullptr);  // adam has none
  spec.train.optimizer.kind = "square";
  CHECK(to_json(fields[1], spec) == 3);
  *radius.at(spec) = 5;
  CHECK(spec.train.optimizer.own.get<SquareFields>().radius == 5);

  kinds[0].fields[0].bounds = between(0, 8);
  CHECK_THROWS_AS(fields_of_kinds<JobSpec>(kinds, "train.optimizer", place), Error);
}

}  // namespace
}  // namespace dtrain
