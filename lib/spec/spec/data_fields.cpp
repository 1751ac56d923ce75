// The fields of `data`.
#include "spec/field_table.h"

namespace dtrain {
namespace {

const Condition kSynthetic{{"data.dataset", "data.fallback"}, {"synthetic"}};
const Condition kDatasetOfFiles{{"data.dataset"},
                                {"mnist", "fashion_mnist", "cifar10", "cifar100", "idx", "image_folder",
                                 "tar", "image_parquet", "arrays", "csv", "parquet"}};
const Condition kTar{{"data.dataset"}, {"tar"}};
const Condition kPictures{{"data.dataset"}, kPictureDatasets};
const Condition kCaching{{"data.dataset"},
                         {"idx", "image_folder", "tar", "image_parquet", "arrays", "csv", "parquet"}};
const Condition kSkipping{{"data.on_bad_example"}, {"skip"}};
const Condition kCsv{{"data.dataset"}, {"csv"}};
const Condition kGrouping{{"data.dataset"}, {"image_folder", "tar", "csv", "parquet"}};
const Condition kColumns{{"data.dataset"}, {"csv", "parquet"}};
const Condition kTargets{{"data.dataset"}, {"csv", "parquet", "image_parquet"}};
const Condition kDividing{{"data.dataset"},
                          {"image_folder", "tar", "image_parquet", "arrays", "csv", "parquet"}};

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
      JOB(data.dataset, .doc = "the examples to train and evaluate on; arrays, csv and parquet are [your "
          "own numbers](tables.md); synthetic ones are for benchmarks", .choices = &dataset_kinds(), .common = true),
      JOB(data.path, .doc = "the folder with the dataset's files, or for arrays, csv and parquet a file; dtrain then "
          "searches no other folder; relative to the spec. For idx, tar, image_parquet, arrays, csv and parquet also "
          "an [address](data.md#addresses): https://host/{000..099}.tar, s3://bucket/key, s3://bucket/prefix/",
          .otherwise = "searched", .when = kDatasetOfFiles, .file_system = true, .may_be_address = true),
      JOB(data.stream, .doc = "fetch each picture from the archives at the address when a batch needs it, without "
          "copies on the disk ([streaming](data.md#streaming))", .when = kTar),
      JOB(data.fallback, .doc = "the dataset to use if the files of `dataset` are not found; the run prints a note",
          .choices = &dataset_kinds(), .word = "none"),
      JOB(data.shuffle, .doc = "train in a new random order every epoch"),
      JOB(data.sampling, .doc = "natural: an epoch has each training example once; balanced: it has equally many of "
          "each class, and repeats those of rare classes ([rare classes](data.md#rare-classes))",
          .choices = &kSamplings),
      JOB(data.drop_remainder, .doc = "leave out the last step of an epoch if it is smaller than a global batch"),
      JOB(data.train_examples, .doc = "use only the first so many training examples",
          .unit = "examples", .bounds = between(1, 1e9), .word = "all"),
      JOB(data.test_examples, .doc = "use only the first so many test examples", .unit = "examples",
          .bounds = between(1, 1e9), .word = "all"),
      JOB(data.target, .doc = "the column to predict, or a list of columns with numbers; for image_parquet the column "
          "of the classes, by default [the one that can be told](data.md#parquet)", .length = {1, 1000},
          .one_or_more = true, .otherwise = "required, except for image_parquet", .when = kTargets),
      JOB(data.target_kind, .doc = "whether the column to predict holds classes or numbers; auto: what `train.loss` "
          "needs", .choices = &kTargetKinds, .when = kColumns),
      JOB(data.ignore, .doc = "columns that are not used, such as row numbers", .length = {0, 1000},
          .one_or_more = true, .when = kTargets),
      JOB(data.id, .doc = "the column that names the rows: `dtrain predict` repeats it, and it is not trained on",
          .word = "none", .when = kColumns),
      JOB(data.columns, .doc = "the types of columns whose cells do not show it or show a wrong one "
          "([columns](tables.md#what-a-column-holds))", .choices = &kColumnKinds, .length = {0, 16384},
          .when = kColumns),
      JOB(data.missing, .doc = "how to handle a missing value of an input: refuse the table, or use the mean of the "
          "training examples (in a column of words: none of its categories)", .choices = &kMissing, .when = kColumns),
      JOB(data.missing_values, .doc = "cells that mean a missing value, besides empty ones, NA, N/A, NaN and null; "
          "as in the file, such as [\"?\", \"-\"]; -999 is also -999.0", .length = {0, 1000}, .one_or_more = true,
          .when = kColumns),
      JOB(data.separator, .doc = "the separator of cells; auto: the most frequent one in the first line",
          .choices = &kSeparators, .when = kCsv),
      JOB(data.decimal, .doc = "the decimal sign of numbers; auto: detected from the cells ([decimal "
          "commas](tables.md#decimal-commas))", .choices = &kDecimals, .when = kCsv),
      JOB(data.thousands, .doc = "the sign between groups of three digits; auto: detected from the cells",
          .choices = &kThousands, .when = kCsv),
      JOB(data.image.size, .doc = "the height and width to which pictures are scaled", .unit = "pixels",
          .bounds = between(1, 4096), .length = {2, 2}, .when = kPictures, .required = true),
      JOB(data.image.fit, .doc = "how to scale: stretch changes proportions; crop keeps them and cuts off the excess; "
          "pad keeps them and adds black bars", .choices = &kFits, .when = kPictures),
      JOB(data.image.channels, .doc = "3: red, green and blue; 1: grey", .bounds = between(1, 3), .when = kPictures),
      JOB(data.image.scaled_decoding, .doc = "decode a JPEG at a half, a quarter or an eighth of its size, if the "
          "result is not smaller than `data.image.size`: faster for large photographs, with slightly different pixels",
          .when = kPictures),
      JOB(data.image.mean, .doc = "subtracted from pixels, after they are scaled to 0..1: one number for all "
          "channels, or one for each; imagenet: 0.485, 0.456, 0.406; measured: the mean of each channel of the "
          "training pictures, saved with the model",
          .bounds = between(-1e6, 1e6), .length = {1, 4096}, .one_or_more = true,
          .named = {{"imagenet", {{0.485, 0.456, 0.406}}}, {"measured", {.measured = true}}},
          .otherwise = "`data.mean`"),
      JOB(data.image.standard_deviation, .doc = "divides pixels, after the mean is subtracted; imagenet: 0.229, 0.224, "
          "0.225; measured: as above", .bounds = between(1e-6, 1e6), .length = {1, 4096}, .one_or_more = true,
          .named = {{"imagenet", {{0.229, 0.224, 0.225}}}, {"measured", {.measured = true}}},
          .otherwise = "`data.standard_deviation`"),
      JOB(data.augment, .doc = "random operations on training pictures, in this order "
          "([augmentation](data.md#augmentation)); a plain word is the kind", .length = {0, 32}),
      JOB(data.split.test, .doc = "keep this part of the examples for the test, if there is no folder `test/` or test "
          "file; for pictures, the file names decide, so that adding a picture does not move others",
          .bounds = {0.0, 1.0, true, true}, .word = "none", .when = kDividing),
      JOB(data.split.validation, .doc = "keep this part of the training examples for validation: evaluations during "
          "training use it, and the test examples are evaluated once, at the end "
          "([validation](training.md#validation))", .bounds = {0.0, 1.0, true, true}, .word = "none"),
      JOB(data.split.folds, .doc = "divide the training examples into so many folds, and keep one of them for "
          "validation ([cross-validation](tune.md#cross-validation))", .bounds = between(2, 1000), .word = "none"),
      JOB(data.split.fold, .doc = "which of the folds is kept", .bounds = between(1, 1000)),
      JOB(data.split.seed, .doc = "decides, together with the number of examples, which of them are in the test and "
          "validation parts; for pictures, together with their names", .bounds = {.minimum = 0}),
      JOB(data.split.stratify, .doc = "whether each class has the same share of all parts, within one example "
          "([parts](data.md#parts))"),
      JOB(data.split.group, .doc = "keep the examples of a group, such as a patient, in one part: the column of a "
          "table that names the group and is not trained on; for pictures a pattern in the file's name, such as "
          "`^([^_]+)_`: what its parentheses match, or else all that it matches", .word = "none", .when = kGrouping),
      JOB(data.split.time, .doc = "the column of dates or numbers by which the last rows become the test, and the last "
          "ones of the others the validation part", .word = "none", .when = kColumns),
      JOB(data.shape, .doc = "channels, height and width of a synthetic image", .bounds = between(1, 4096),
          .length = {3, 3}, .when = kSynthetic),
      JOB(data.classes, .doc = "the number of classes; auto: from the labels in the files, for mnist at most 10; 10 "
          "for a synthetic dataset", .bounds = between(2, 1e6), .word = "auto"),
      JOB(data.class_names, .doc = "the names of the classes, in order; by default those of the dataset, such as the "
          "names of an image_folder's folders", .length = {0, 10000}),
      JOB(data.mean, .doc = "subtracted from pixels, after they are scaled to 0..1; with `data.image.mean` you can "
          "set one for each channel", .bounds = between(-1e6, 1e6)),
      JOB(data.standard_deviation, .doc = "divides pixels, after the mean is subtracted", .bounds = between(1e-6, 1e6)),
      JOB(data.cache, .doc = "disk: decode and scale the pictures once, into a file that all replicas and later runs "
          "share (`dtrain cache`); memory: once for each run of the program, into memory that the replicas of a "
          "host share; none: whenever a batch needs them; auto: disk, if the file fits there, else none",
          .choices = &kCaches, .when = kPictures),
      JOB(data.cache_gigabytes, .doc = "the most that the decoded pictures may take, also the [features]"
          "(transfer.md#kept-features) of all runs together, and the copies of all files at [addresses]"
          "(data.md#addresses)", .unit = "GB", .bounds = above_zero_to(1e6), .when = kCaching),
      JOB(data.on_bad_example, .doc = "how to handle a picture that dtrain cannot read: error: end the job; skip: "
          "leave it out, after reading all pictures once before the job begins ([bad pictures](data.md#bad-pictures))",
          .choices = &kBadExamples, .when = kPictures),
      JOB(data.bad_examples_allowed, .doc = "the most pictures that may be left out; more are an error",
          .unit = "pictures", .bounds = between(0, 1e9), .when = kSkipping),
      JOB(data.prefetch, .doc = "the number of batches that a separate thread prepares in advance, which helps if a "
          "core is idle; 0: none; auto: 2 for pictures without a cache, else none", .unit = "batches",
          .bounds = between(0, 1024), .word = "auto"),
  };
  // clang-format on
}

}  // namespace dtrain
