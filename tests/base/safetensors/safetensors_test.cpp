#include "safetensors/safetensors.h"

#include <ATen/ATen.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "checkpoint/checkpoints.h"
#include "core/checksum.h"
#include "files.h"
#include "same_tensors.h"

namespace dtrain {
namespace {

// A file with this header and so many bytes of data.
std::string file_of(const std::string& header, size_t data) {
  const uint64_t length = header.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes + header + std::string(data, '\0');
}

NamedTensors read_all(const SafetensorsFile& file) {
  NamedTensors tensors;
  for (const TensorEntry& entry : file.tensors()) tensors.emplace_back(entry.name, file.read(entry));
  return tensors;
}

const std::string kGolden = std::string(DTRAIN_SOURCE_DIR) + "/tests/golden/";

// What python.safetensors and dtrain.safetensors hold.
NamedTensors golden_tensors() {
  return {{"f64", at::tensor({0.1, -2.0}, at::kDouble)},
          {"f32", at::arange(6, at::kFloat).reshape({2, 3}) / 4},
          {"f16", at::tensor({1.5, -0.25}, at::kDouble).to(at::kHalf)},
          {"bf16", at::tensor({3.0, -1.0, 0.5}, at::kDouble).to(at::kBFloat16)},
          {"i64", at::scalar_tensor(-5, at::kLong)},
          {"i32", at::tensor({7, -7}, at::kInt).reshape({2, 1})},
          {"u8", at::tensor({0, 255}, at::kByte)},
          {"bool", at::tensor({1, 0, 1}, at::kInt).to(at::kBool)},
          {"empty", at::zeros({0, 4}, at::kFloat)}};
}

// python.safetensors was made with safetensors 0.8 and torch 2.11:
//   save_file({"f64": torch.tensor([0.1, -2.0], dtype=torch.float64),
//              "f32": torch.arange(6, dtype=torch.float32).reshape(2, 3) / 4,
//              "f16": torch.tensor([1.5, -0.25], dtype=torch.float16),
//              "bf16": torch.tensor([3.0, -1.0, 0.5], dtype=torch.bfloat16),
//              "i64": torch.tensor(-5), "i32": torch.tensor([[7], [-7]], dtype=torch.int32),
//              "u8": torch.tensor([0, 255], dtype=torch.uint8), "bool": torch.tensor([True, False, True]),
//              "empty": torch.zeros(0, 4)}, "python.safetensors", metadata={"format": "pt", "made": "in
//              Python"})
TEST_CASE("what Python's safetensors wrote is read") {
  const SafetensorsFile file(kGolden + "python.safetensors");
  CHECK(same_tensors(read_all(file), golden_tensors()));
  CHECK(file.metadata() == Metadata{{"format", "pt"}, {"made", "in Python"}});
}

// dtrain.safetensors is what this test writes; safetensors 0.8's load_file() gave the same tensors from it as
// from python.safetensors.
TEST_CASE("the bytes are those that Python's safetensors was seen to read") {
  const TemporaryFolder folder;
  write_safetensors(folder / "a.safetensors", golden_tensors(), {{"format", "pt"}});
  CHECK((content_of(folder / "a.safetensors") == content_of(kGolden + "dtrain.safetensors")));
}

TEST_CASE("tensors of every dtype come back bit for bit, aligned for their type") {
  const TemporaryFolder folder;
  const Checkpoint checkpoint = small_checkpoint(7);
  for (const NamedTensors& tensors : {checkpoint.model, checkpoint.optimizer, NamedTensors{}}) {
    const auto path = folder / "a.safetensors";
    std::filesystem::remove(path);
    const FileChecksums checksums = write_safetensors(path, tensors, {});
    const SafetensorsFile file(path);
    CHECK(same_tensors(read_all(file), tensors));
    CHECK(checksums.bytes == static_cast<int64_t>(std::filesystem::file_size(path)));
    CHECK(checksums.bytes == file.bytes());
    CHECK(checksums.header == file.header_checksum());
    CHECK(checksums.tensors.size() == tensors.size());
    int64_t data = checksums.bytes;
    for (const TensorEntry& entry : file.tensors()) data -= entry.end - entry.begin;
    CHECK(data % 8 == 0);
    for (const TensorEntry& entry : file.tensors()) {
      INFO(entry.name);
      CHECK(entry.begin % static_cast<int64_t>(at::elementSize(entry.dtype)) == 0);
      CHECK(file.checksum(entry) == checksums.tensors.at(entry.name));
      std::string checksum;
      file.read(entry, &checksum);
      CHECK(checksum == checksums.tensors.at(entry.name));
    }
  }
}

TEST_CASE("a tensor of another layout is written row by row, and more than one piece is read") {
  const TemporaryFolder folder;
  const at::Tensor matrix = at::arange(int64_t{700} * 1000, at::kDouble).reshape({700, 1000});
  const FileChecksums checksums =
      write_safetensors(folder / "a", {{"turned", matrix.t()}, {"part", matrix.slice(1, 3, 5)}}, {});
  const SafetensorsFile file(folder / "a");
  CHECK(same_tensors(read_all(file), {{"turned", matrix.t().contiguous()}, {"part", matrix.slice(1, 3, 5)}}));
  CHECK(file.checksum(file.tensors()[0]) == checksums.tensors.at("turned"));
}

TEST_CASE("names may be any text, but not twice") {
  const TemporaryFolder folder;
  const NamedTensors odd = {{"", at::ones(1)}, {"a\"b\\c\n", at::ones(2)}, {"gewicht-\xc3\xa4", at::ones(3)}};
  write_safetensors(folder / "a", odd, {{"key\"", "value\n"}});
  const SafetensorsFile file(folder / "a");
  CHECK(same_tensors(read_all(file), odd));
  CHECK(file.metadata() == Metadata{{"key\"", "value\n"}});
  CHECK(safetensors_bytes(odd, {{"key\"", "value\n"}}) == content_of(folder / "a"));
  for (const NamedTensors& wrong :
       {NamedTensors{{"x", at::ones(1)}, {"x", at::ones(1)}}, NamedTensors{{"__metadata__", at::ones(1)}},
        NamedTensors{{"x", at::ones(1, at::kComplexFloat)}}}) {
    failure_of(ExitCode::kBug, [&] { write_safetensors(folder / "b", wrong, {}); });
    CHECK_FALSE(std::filesystem::exists(folder / "b"));
  }
}

TEST_CASE("a header shows no character that a terminal would obey, and keeps them all") {
  const Metadata metadata = {{"classes", "[\"a\u202e\", \"\u009b\"]"}};
  const std::string bytes = safetensors_bytes({{"\u2066x", at::ones(1)}}, metadata);
  CHECK(bytes.find("a\\u202e") != std::string::npos);
  CHECK(std::none_of(bytes.begin() + 8, bytes.end() - 4, [](unsigned char c) { return c >= 0x80; }));
  const TemporaryFolder folder;
  const SafetensorsFile file(write_file(folder / "a", bytes));
  CHECK(file.metadata() == metadata);
  CHECK(file.tensors().at(0).name == "\u2066x");
}

// One sound file, with one tensor of two floats.
const std::string kSound = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";

TEST_CASE("a file that makes no sense is refused, and says why") {
  const TemporaryFolder folder;
  const auto path = folder / "a.safetensors";
  const auto refused = [&](const std::string& bytes, const std::string& why) {
    write_file(path, bytes);
    const std::string message = failure_of(ExitCode::kCheckpoint, [&] { SafetensorsFile file(path); });
    INFO(why);
    CHECK_THAT(message, ContainsSubstring(path.string()) && ContainsSubstring(why));
  };
  const auto tensor = [](const std::string& fields) { return file_of("{\"x\":{" + fields + "}}", 8); };
  write_file(path, file_of(kSound, 8));
  CHECK_NOTHROW(SafetensorsFile(path));

  refused("", "cut off");
  refused(std::string(7, '\0'), "cut off");
  refused(std::string(8, '\0'), "is not JSON");  // a header of no bytes
  refused(std::string(8, '\xff') + std::string(100, ' '), "18446744073709551615 bytes");
  refused(file_of("", 0).replace(0, 8, std::string("\1\0\0\2\0\0\0\0", 8)), "33554433 bytes");
  refused(file_of("[]", 0), "no object");
  refused(file_of("nonsense", 0), "is not JSON");
  refused(file_of("{\"\xff\":1}", 0), "is not JSON");
  refused(file_of(kSound + "x", 8), "is not JSON");
  refused(file_of(std::string(1 << 20, '['), 0), "nests deeper");
  refused(file_of(R"({"x":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})", 8), "nests deeper");
  refused(file_of(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                  R"("x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                  8),
          "'x' twice");
  refused(file_of(R"({"__metadata__":{"a":1}})", 0), "metadata");
  refused(file_of(R"({"__metadata__":"a"})", 0), "metadata");
  refused(file_of(kSound, 7), "describes 8 bytes of data, but the file has 7");
  refused(file_of(kSound, 9), "describes 8 bytes of data, but the file has 9");
  refused(file_of("{}", 1), "describes 0 bytes");
  refused(tensor(""), "no description");
  refused(file_of(R"({"x":3})", 0), "no description");
  refused(tensor(R"("dtype":"F8","shape":[2],"data_offsets":[0,8])"), "is not one of F64, F32");
  refused(tensor(R"("dtype":7,"shape":[2],"data_offsets":[0,8])"), "'dtype'");
  refused(tensor(R"("dtype":"F32","shape":[2],"offsets":[0,8])"), "'data_offsets'");
  refused(tensor(R"("dtype":"F32","shape":2,"data_offsets":[0,8])"), "'shape'");
  refused(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1)"), "no description");
  refused(tensor(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"), "is not a count");
  refused(tensor(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])"), "is not a count");
  refused(tensor(R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8])"), "is not a count");
  refused(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8,9])"), "'data_offsets'");
  refused(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), "8 bytes by its shape");
  refused(tensor(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"), "12 bytes by its shape");
  refused(tensor(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0])"),
          "larger than any file");
  refused(tensor(R"("dtype":"F32","shape":[0,4294967296,4294967296],"data_offsets":[0,0])"),
          "larger than any file");
  refused(tensor(R"("dtype":"F32","shape":[1000000000000],"data_offsets":[0,4000000000000])"),
          "describes 4000000000000 bytes of data, but the file has 8");
  const std::string pair = R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                           R"("y":{"dtype":"F32","shape":[1],"data_offsets":)";
  refused(file_of(pair + "[2,6]}}", 8), "begins at byte 2");    // overlap
  refused(file_of(pair + "[0,4]}}", 4), "begins at byte 0");    // the same bytes
  refused(file_of(pair + "[8,12]}}", 12), "begins at byte 8");  // a gap
}

TEST_CASE("what is no file, or not there, is refused at once") {
  const TemporaryFolder folder;
  CHECK_THAT(failure_of(ExitCode::kCheckpoint, [&] { SafetensorsFile file(folder / "none"); }),
             ContainsSubstring("No such file"));
  CHECK_THAT(failure_of(ExitCode::kCheckpoint, [&] { SafetensorsFile file(folder.path()); }),
             ContainsSubstring("not a regular file"));
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THAT(failure_of(ExitCode::kCheckpoint, [&] { SafetensorsFile file(folder / "pipe"); }),
             ContainsSubstring("not a regular file"));
}

TEST_CASE("a file that becomes shorter while it is read, and a bool that is none, are refused") {
  const TemporaryFolder folder;
  write_safetensors(folder / "a", {{"x", at::ones(1000)}}, {});
  const SafetensorsFile file(folder / "a");
  std::filesystem::resize_file(folder / "a", 2000);
  failure_of(ExitCode::kCheckpoint, [&] { file.read(file.tensors()[0]); });
  failure_of(ExitCode::kCheckpoint, [&] { file.checksum(file.tensors()[0]); });
  std::string bytes = file_of(R"({"x":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", 2);
  bytes.back() = 2;
  write_file(folder / "b", bytes);
  const SafetensorsFile bools(folder / "b");
  CHECK_THAT(failure_of(ExitCode::kCheckpoint, [&] { bools.read(bools.tensors()[0]); }),
             ContainsSubstring("neither true nor false"));
}

TEST_CASE("an existing file is never written over") {
  const TemporaryFolder folder;
  write_file(folder / "a", "mine");
  failure_of(ExitCode::kUsage, [&] { write_safetensors(folder / "a", {}, {}); });
  CHECK(content_of(folder / "a") == "mine");
}

}  // namespace
}  // namespace dtrain
