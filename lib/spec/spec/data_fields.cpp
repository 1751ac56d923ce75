// The fields of `data`.
#include "spec/field_table.h"

namespace dtrain {
namespace {

const Condition kSynthetic{{"data.dataset", "data.fallback"}, {"synthetic"}};
const Condition kDatasetOfFiles{
    {"data.dataset"},
    {"mnist", "fashion_mnist", "cifar10", "cifar100", "idx", "image_folder", "tar", "arrays", "csv"}};
const Condition kPictures{{"data.dataset"}, {"image_folder", "tar"}};
const Condition kSkipping{{"data.on_bad_example"}, {"skip"}};
const Condition kCsv{{"data.dataset"}, {"csv"}};
const Condition kDividing{{"data.dataset"}, {"image_folder", "tar", "arrays", "csv"}};

const Choices kSamplings{"sampling", {"natural", "balanced"}};
const Choices kTargetKinds{"kind", {"auto", "classes", "numbers"}};
const Choices kMissing{"way", {"error", "mean"}};
const Choices kColumnKinds{"kind", {"number", "words", "date", "ignore"}};
const Choices kSeparators{"separator", {"auto", "comma", "semicolon", "tab", "bar"}};
const Choices kDecimals{"decimal sign", {"auto", "point", "comma"}};
const Choices kThousands{"thousands sign", {"auto", "none", "point", "comma", "space", "apostrophe"}};
const Choices kCaches{"cache", {"auto", "disk", "memory", "none"}};
const Choices kBadExamples{"way", {"error", "skip"}};
const Choices kFits{"fit", {"stretch", "crop", "pad"}};

}  // namespace

Fields<JobSpec> data_fields() {
  // clang-format off
  return {
      JOB(data.dataset, .doc = "the examples to train and evaluate on; arrays and csv are [your own "
          "numbers](tables.md); synthetic ones are for benchmarks",
          .choices = &dataset_kinds(), .common = true),
      JOB(data.path, .doc = "the folder with the dataset's files, or of arrays and csv a file; no other is searched "
          "for them; relative to the spec", .otherwise = "searched", .when = kDatasetOfFiles, .file_system = true),
      JOB(data.fallback, .doc = "the dataset to use if no files of the first are found; the run says so",
          .choices = &dataset_kinds(), .word = "none"),
      JOB(data.shuffle, .doc = "train in a new random order every epoch"),
      JOB(data.sampling, .doc = "natural: an epoch has each training example once; balanced: it has as many of each "
          "class, those of rare classes several times ([rare classes](data.md#rare-classes))",
          .choices = &kSamplings),
      JOB(data.drop_remainder, .doc = "leave out the last step of an epoch if it is smaller than a global batch"),
      JOB(data.train_examples, .doc = "use only this many of the training examples, the first ones",
          .unit = "examples", .bounds = between(1, 1e9), .word = "all"),
      JOB(data.test_examples, .doc = "use only this many of the test examples, the first ones", .unit = "examples",
          .bounds = between(1, 1e9), .word = "all"),
      JOB(data.target, .doc = "the column to predict, or a list of columns with numbers", .length = {1, 1000},
          .one_or_more = true, .when = kCsv, .required = true),
      JOB(data.target_kind, .doc = "whether the column to predict names classes; auto: as `train.loss` needs it",
          .choices = &kTargetKinds, .when = kCsv),
      JOB(data.ignore, .doc = "columns that are left out, such as numbers of rows", .length = {0, 1000},
          .one_or_more = true, .when = kCsv),
      JOB(data.columns, .doc = "what columns hold, where their cells do not say it or say it wrongly "
          "([columns](tables.md#what-a-column-holds))", .choices = &kColumnKinds, .length = {0, 16384},
          .when = kCsv),
      JOB(data.missing, .doc = "what to do about a missing value of an input: refuse the table, or fill in the mean "
          "of the training examples (of a column of words: none of its categories)",
          .choices = &kMissing, .when = kCsv),
      JOB(data.missing_values, .doc = "cells that mean a missing value, besides empty ones, NA, N/A, NaN and null; "
          "exactly as the file has them, such as [\"?\", \"-\"]", .length = {0, 1000}, .one_or_more = true,
          .when = kCsv),
      JOB(data.separator, .doc = "what separates the cells; auto: what the first line has most of",
          .choices = &kSeparators, .when = kCsv),
      JOB(data.decimal, .doc = "the decimal sign of numbers; auto: as the cells show it "
          "([decimal commas](tables.md#decimal-commas))", .choices = &kDecimals, .when = kCsv),
      JOB(data.thousands, .doc = "the sign between groups of three digits; auto: as the cells show it",
          .choices = &kThousands, .when = kCsv),
      JOB(data.image.size, .doc = "height and width that pictures are brought to", .unit = "pixels",
          .bounds = between(1, 4096), .length = {2, 2}, .when = kPictures, .required = true),
      JOB(data.image.fit, .doc = "how: stretch changes proportions; crop keeps them and cuts off what is over; pad "
          "keeps them and adds black bars", .choices = &kFits, .when = kPictures),
      JOB(data.image.channels, .doc = "3: red, green and blue; 1: grey", .bounds = between(1, 3),
          .when = kPictures),
      JOB(data.image.scaled_decoding, .doc = "decode a JPEG at a half, a quarter or an eighth of its size, if that is "
          "not below `data.image.size`: large photographs are read faster, with slightly other pixels",
          .when = kPictures),
      JOB(data.image.mean, .doc = "subtracted from pixels, after they are scaled to 0..1: one number for all channels, "
          "or one for each; imagenet: 0.485, 0.456, 0.406; measured: that of each channel of the training pictures, "
          "which is kept with the model", .bounds = between(-1e6, 1e6), .length = {1, 4096}, .one_or_more = true,
          .named = {{"imagenet", {{0.485, 0.456, 0.406}}}, {"measured", {.measured = true}}},
          .otherwise = "`data.mean`"),
      JOB(data.image.standard_deviation, .doc = "divides pixels, after the mean is subtracted; imagenet: 0.229, 0.224, "
          "0.225; measured: as above", .bounds = between(1e-6, 1e6), .length = {1, 4096}, .one_or_more = true,
          .named = {{"imagenet", {{0.229, 0.224, 0.225}}}, {"measured", {.measured = true}}},
          .otherwise = "`data.standard_deviation`"),
      JOB(data.augment, .doc = "what is done to pictures before they are trained on, at random, in this order "
          "([augmentation](data.md#augmentation)); a plain word is the kind", .length = {0, 32}),
      JOB(data.split.test, .doc = "keep this part of the examples for the test, where there is no folder `test/` or "
          "file for it; of pictures the names of the files decide which, so that a new one moves no other",
          .bounds = {0.0, 1.0, true, true}, .word = "none", .when = kDividing),
      JOB(data.split.validation, .doc = "keep this part of the training examples for validation: evaluations during "
          "training are of it, and the test examples are evaluated once, at the end "
          "([validation](training.md#validation))", .bounds = {0.0, 1.0, true, true}, .word = "none"),
      JOB(data.split.seed, .doc = "decides, with the number of examples, which of them are in the test and validation "
          "parts; of pictures, with their names", .bounds = {.minimum = 0}),
      JOB(data.shape, .doc = "channels, height and width of a synthetic image", .bounds = between(1, 4096),
          .length = {3, 3}, .when = kSynthetic),
      JOB(data.classes, .doc = "how many classes there are; auto: as many as the labels in the files name, of mnist "
          "at most 10; 10 of a synthetic dataset", .bounds = between(2, 1e6), .word = "auto"),
      JOB(data.class_names, .doc = "the names of the classes, in order; by default those of the dataset, such as the "
          "names of an image_folder's folders", .length = {0, 10000}),
      JOB(data.mean, .doc = "subtracted from pixels, after they are scaled to 0..1; `data.image.mean` can be another "
          "for each channel", .bounds = between(-1e6, 1e6)),
      JOB(data.standard_deviation, .doc = "divides pixels, after the mean is subtracted",
          .bounds = between(1e-6, 1e6)),
      JOB(data.cache, .doc = "disk: decode and scale the pictures once, into a file that all replicas and later runs "
          "share (`dtrain cache`); memory: once for each run of the program, into memory that the replicas of a "
          "host share; none: whenever a batch needs them; auto: disk, if the file fits there, else none",
          .choices = &kCaches, .when = kPictures),
      JOB(data.cache_gigabytes, .doc = "how much the decoded pictures may take, and the "
          "[features](transfer.md#kept-features) of all runs together", .unit = "GB",
          .bounds = above_zero_to(1e6), .when = kPictures),
      JOB(data.on_bad_example, .doc = "what a picture that cannot be read does: error: it ends the job; skip: it is "
          "left out, for which all pictures are read once, before the job begins "
          "([bad pictures](data.md#bad-pictures))",
          .choices = &kBadExamples, .when = kPictures),
      JOB(data.bad_examples_allowed, .doc = "how many pictures may be left out; more are an error", .unit = "pictures",
          .bounds = between(0, 1e9), .when = kSkipping),
      JOB(data.prefetch, .doc = "how many batches a separate thread prepares ahead of training, which helps if a core "
          "has nothing else to do; 0: none; auto: 2 of pictures without a cache, else none", .unit = "batches",
          .bounds = between(0, 1024), .word = "auto"),
  };
  // clang-format on
}

}  // namespace dtrain
