// Arrays in NumPy's formats and in safetensors files.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <zip.h>

#include <cmath>
#include <cstring>

#include "arrays/array_file.h"
#include "arrays/idx.h"
#include "catch.h"
#include "core/error.h"
#include "files.h"
#include "safetensors/safetensors.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// A .npy file as numpy.save() writes it: the header is padded to a multiple of 64 bytes.
std::string npy(const std::string& type, const std::string& shape, const std::string& data,
                const std::string& order = "False") {
  std::string header = "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  header += std::string(63 - (10 + header.size()) % 64, ' ') + "\n";
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size() % 256) +
         static_cast<char>(header.size() / 256) + header + data;
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string array_refusal(const TemporaryFolder& folder, const std::string& content) {
  const fs::path path = folder.write("bad.npy", content);
  try {
    map_npy(path);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    CHECK_THAT(error.what(), Catch::Matchers::StartsWith(path.string() + ": "));
    return error.what();
  }
  return "accepted";
}

TEST_CASE("a .npy file of pixels is read as pictures, whatever it is called") {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& content) {
    return read_images_of_any_file(folder.write("pictures", content));
  };
  const at::Tensor expected = at::tensor({1, 2, 255, 4, 5, 6}, at::kByte);
  const std::string pixels = "\x01\x02\xFF\x04\x05\x06";
  CHECK(at::equal(read(npy("|u1", "(1, 3, 2, 1)", pixels)), expected.view({1, 3, 2, 1})));
  CHECK(at::equal(read(npy("|u1", "(3, 1, 2)", pixels)), expected.view({3, 1, 1, 2})));
  for (const auto& [content, fault] : std::vector<std::pair<std::string, std::string>>{
           {npy("|u1", "(3, 2)", pixels), "has the shape [3, 2]; pictures are uint8 [n, height, width]"},
           {npy("|u1", "(0, 1, 2, 2)", ""), "has the shape [0, 1, 2, 2]"},
           {npy("<f4", "(1, 1, 1)", bytes_of<float>({1})), "[1, 1, 1] and numbers that are not uint8"},
           {npy("|u1", "(3, 1, 3)", pixels), "its header promises"}}) {
    try {
      read(content);
      FAIL("accepted: " << fault);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kData);
      CHECK_THAT(error.what(), ContainsSubstring(fault));
    }
  }
}

TEST_CASE("arrays have the values and shapes that NumPy saved") {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& content) { return map_npy(folder.write("a.npy", content)); };
  const at::Tensor matrix = read(npy("<f4", "(2, 3)", bytes_of<float>({1, 2, 3, 4, 5, 6.5})));
  CHECK(at::equal(matrix, at::tensor({1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.5F}).view({2, 3})));
  CHECK(
      at::equal(read(npy("<f8", "(2,)", bytes_of<double>({0.1, -2}))), at::tensor({0.1, -2.0}, at::kDouble)));
  CHECK(at::equal(read(npy("<i8", "(2,)", bytes_of<int64_t>({7, -1}))), at::tensor({7, -1}, at::kLong)));
  CHECK(at::equal(read(npy("<i4", "(2,)", bytes_of<int32_t>({7, -1}))), at::tensor({7, -1}, at::kLong)));
  CHECK(
      at::equal(read(npy("<u2", "(2,)", bytes_of<uint16_t>({7, 65535}))), at::tensor({7, 65535}, at::kLong)));
  CHECK(at::equal(read(npy("|b1", "(2,)", std::string("\1\0", 2))), at::tensor({1, 0}, at::kLong)));
  const at::Tensor pixels = read(npy("|u1", "(1, 2, 2)", "\x01\x02\xFF\x04"));
  CHECK(pixels.scalar_type() == at::kByte);
  CHECK(pixels.sizes() == std::vector<int64_t>{1, 2, 2});
  CHECK(pixels.view({-1})[2].item<int64_t>() == 255);
  CHECK(at::equal(read(npy("<f2", "(1,)", std::string("\x00\x3E", 2))), at::tensor({1.5F})));
  CHECK(read(npy("<f4", "()", bytes_of<float>({3}))).item<float>() == 3);
  CHECK(read(npy("<f4", "(0, 5)", "")).size(1) == 5);
}

TEST_CASE("what is no array of numbers is refused before memory is taken") {
  const TemporaryFolder folder;
  const std::string four = bytes_of<float>({1, 2, 3, 4});
  CHECK_THAT(array_refusal(folder, npy("|O", "(2,)", "....")), ContainsSubstring("Python objects"));
  CHECK_THAT(array_refusal(folder, npy(">f4", "(4,)", four)), ContainsSubstring("big-endian"));
  CHECK_THAT(array_refusal(folder, npy("<U8", "(1,)", four)), ContainsSubstring("type '<U8'"));
  CHECK_THAT(array_refusal(folder, npy("<f4", "(2, 2)", four, "True")), ContainsSubstring("Fortran's order"));
  CHECK_THAT(array_refusal(folder, npy("<f4", "(5,)", four)), ContainsSubstring("incomplete or damaged"));
  CHECK_THAT(array_refusal(folder, npy("<f4", "(3,)", four)), ContainsSubstring("incomplete or damaged"));
  CHECK_THAT(array_refusal(folder, npy("<f4", "(99999999999999999999,)", four)),
             ContainsSubstring("bad.npy: "));
  CHECK_THAT(array_refusal(folder, npy("<f4", "(4000000000, 4000000000, 4000000000)", four)),
             ContainsSubstring("more numbers than fit"));
  CHECK_THAT(array_refusal(folder, npy("<f4", "(1, 1, 1, 1, 1, 1, 1, 1, 4)", four)),
             ContainsSubstring("more dimensions"));
  CHECK_THAT(array_refusal(folder, ""), ContainsSubstring("is not a .npy file"));
  CHECK_THAT(array_refusal(folder, "a,b\n1,2\n3,4\n5,6\n"), ContainsSubstring("is not a .npy file"));
  CHECK_THAT(array_refusal(folder, npy("<f4", "(4,)", four).substr(0, 40)), ContainsSubstring("is cut off"));
  CHECK_THAT(array_refusal(folder, std::string("\x93NUMPY\x09\x00\x10\x00", 10) + four + four),
             ContainsSubstring("version 9"));
  std::string records = npy("<f4", "(4,)", four);
  records.replace(records.find("'<f4'"), 5, "[('a'");
  CHECK_THAT(array_refusal(folder, records), ContainsSubstring("of records, perhaps"));
}

// Every prefix of a file, and every one of its bytes changed: an array or an error, nothing else.
TEST_CASE("damaged arrays are refused or read, and never crash") {
  const TemporaryFolder folder;
  const std::string good = npy("<f4", "(4,)", bytes_of<float>({1, 2, 3, 4}));
  for (size_t length = 0; length < good.size(); ++length)
    CHECK(array_refusal(folder, good.substr(0, length)) != "accepted");
  for (size_t at = 0; at < good.size(); ++at) {
    std::string changed = good;
    changed[at] = static_cast<char>(changed[at] ^ 0x15);
    array_refusal(folder, changed);
  }
}

void write_npz(const fs::path& path, const std::map<std::string, std::string>& members, bool packed) {
  int fault = 0;
  zip_t* const zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &fault);
  REQUIRE(zip != nullptr);
  for (const auto& [name, content] : members) {
    const zip_int64_t index =
        zip_file_add(zip, name.c_str(), zip_source_buffer(zip, content.data(), content.size(), 0), 0);
    zip_set_file_compression(zip, static_cast<zip_uint64_t>(index), packed ? ZIP_CM_DEFLATE : ZIP_CM_STORE,
                             0);
  }
  REQUIRE(zip_close(zip) == 0);
}

const std::vector<std::string> kNames = {"x_train", "y_train", "x_test", "y_test"};

TEST_CASE("the members of an .npz file are read, packed or not, and others left alone") {
  const TemporaryFolder folder;
  const bool packed = GENERATE(false, true);
  std::vector<float> many(10000);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i % 97);
  write_npz(folder / "all.npz",
            {{"x_train.npy", npy("<f4", "(100, 100)", bytes_of(many))},
             {"y_train.npy", npy("<i8", "(2,)", bytes_of<int64_t>({1, 2}))},
             {"notes.npy", npy("|O", "(1,)", "gASV")}},
            packed);
  const auto arrays = read_arrays(folder / "all.npz", kNames);
  CHECK(arrays.size() == 2);
  CHECK(at::equal(arrays.at("x_train").view({-1}), at::tensor(many)));
  CHECK(arrays.at("y_train")[1].item<int64_t>() == 2);
}

std::string npz_refusal(const TemporaryFolder& folder, const std::string& member, bool packed = true) {
  write_npz(folder / "bad.npz", {{"x_train.npy", member}}, packed);
  try {
    read_arrays(folder / "bad.npz", kNames);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    return error.what();
  }
  return "accepted";
}

TEST_CASE("members of an .npz file that promise what they do not have are refused") {
  const TemporaryFolder folder;
  // A bomb: a header for 4 TB, in a few bytes; and zeros that unpack to more than the header says.
  CHECK_THAT(npz_refusal(folder, npy("<f4", "(1000000000000,)", "")),
             ContainsSubstring("its header promises"));
  CHECK_THAT(npz_refusal(folder, npy("<f4", "(4,)", std::string(50 << 20, '\0'))),
             ContainsSubstring("its header promises 16 bytes"));
  CHECK_THAT(npz_refusal(folder, npy("|O", "(1,)", "gASV")),
             ContainsSubstring("x_train.npy: holds Python objects"));
  CHECK_THAT(npz_refusal(folder, "no array at all"), ContainsSubstring("is not a .npy file"));
  write_file(folder / "text.npz", "this is no archive");
  CHECK_THROWS_AS(read_arrays(folder / "text.npz", kNames), Error);
  // A changed byte of the data is found by the archive's checksum.
  const std::string data(1000, 'A');
  write_npz(folder / "flip.npz", {{"x_train.npy", npy("|u1", "(1000,)", data)}}, false);
  std::string bytes = content_of(folder / "flip.npz");
  bytes[bytes.find(data) + 500] = 'B';
  write_file(folder / "flip.npz", bytes);
  CHECK_THROWS_WITH(read_arrays(folder / "flip.npz", kNames), ContainsSubstring("is damaged"));
}

TEST_CASE("tensors of a safetensors file and files of a folder are found by their names") {
  const TemporaryFolder folder;
  const at::Tensor x = at::arange(6, at::kFloat).view({3, 2}), y = at::tensor({0, 1, 1}, at::kLong);
  write_safetensors(folder / "all.safetensors", {{"x_train", x}, {"y_train", y}, {"other", x}}, {});
  auto arrays = read_arrays(folder / "all.safetensors", kNames);
  CHECK(arrays.size() == 2);
  CHECK(at::equal(arrays.at("x_train"), x));
  CHECK(at::equal(arrays.at("y_train"), y));
  fs::create_directories(folder / "files");
  write_file(folder / "files/x_train.npy", npy("<f4", "(3, 2)", bytes_of<float>({0, 1, 2, 3, 4, 5})));
  arrays = read_arrays(folder / "files", kNames);
  CHECK(arrays.size() == 1);
  CHECK(at::equal(arrays.at("x_train"), x));
  CHECK_THROWS_WITH(read_arrays(folder / "none", kNames),
                    ContainsSubstring("there is no such file or folder"));
  write_file(folder / "cut.safetensors", content_of(folder / "all.safetensors").substr(0, 90));
  try {
    read_arrays(folder / "cut.safetensors", kNames);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
  }
}

TEST_CASE("an example with a number that is not finite is told, also where the type makes it one") {
  const at::Tensor examples = at::zeros({5000, 2, 3}, at::kDouble);
  examples[4500][1][2] = 1e39;
  require_finite("x", examples, at::kDouble);
  require_finite("x", at::full({3, 1}, 7, at::kLong), at::kFloat);
  require_finite("x", at::zeros({0, 2}), at::kFloat);
  CHECK_THROWS_WITH(require_finite("x", examples, at::kFloat),
                    "x: not all numbers of example 4500, counted from 0, are finite as float32");
  examples[4497][0][0] = NAN;
  CHECK_THROWS_WITH(require_finite("x", examples, at::kDouble),
                    "x: not all numbers of example 4497, counted from 0, are finite as float64");
}

// As Python's safetensors writes it: the length of the header, the header, and the numbers.
std::string safetensors_of(const std::string& header, const std::string& data) {
  return bytes_of<uint64_t>({header.size()}) + header + data;
}

TEST_CASE("integers of a safetensors file may be of any type, and what nobody asks for, too") {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& type, size_t bytes, const std::string& numbers) {
    const std::string header =
        fmt::format(R"({{"x_train":{{"dtype":"{}","shape":[2],"data_offsets":[0,{}]}},)"
                    R"("scales":{{"dtype":"F8_E4M3","shape":[3],"data_offsets":[{},{}]}}}})",
                    type, 2 * bytes, 2 * bytes, 2 * bytes + 3);
    return read_arrays(folder.write("all.safetensors", safetensors_of(header, numbers + "abc")), kNames)
        .at("x_train");
  };
  const auto values = [](int64_t first, int64_t second) { return at::tensor({first, second}, at::kLong); };
  CHECK(at::equal(read("I8", 1, bytes_of<int8_t>({7, -128})), values(7, -128)));
  CHECK(at::equal(read("I16", 2, bytes_of<int16_t>({7, -32768})), values(7, -32768)));
  CHECK(at::equal(read("I32", 4, bytes_of<int32_t>({7, -1})), values(7, -1)));
  CHECK(at::equal(read("U16", 2, bytes_of<uint16_t>({7, 65535})), values(7, 65535)));
  CHECK(at::equal(read("U32", 4, bytes_of<uint32_t>({7, 4294967295})), values(7, 4294967295)));
  CHECK(at::equal(read("U64", 8, bytes_of<uint64_t>({7, uint64_t{1} << 60})), values(7, int64_t{1} << 60)));
  CHECK(read("U8", 1, "ab").scalar_type() == at::kByte);
  CHECK_THROWS_WITH(read("F8_E5M2", 1, "ab"), ContainsSubstring("the dtype of 'x_train' is not one of F64"));
}

}  // namespace
}  // namespace dtrain
