#include "callbacks/csv_history.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/files.h"

namespace dtrain {
namespace {

const std::string kHead = "epoch,step,phase,loss,accuracy,learning_rate,examples_per_second,seconds\n";

class CsvHistory : public Callback {
 public:
  explicit CsvHistory(const std::filesystem::path& path)
      : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666)) {
    if (file_.get() < 0) refuse("open");
  }

  void on_event(const Event& event) override {
    const std::string kind = text_at(event, "event").value_or("");
    if (kind == "run_start" && bytes_ == 0) begin();
    if (kind != "epoch" && kind != "eval") return;
    const auto cell = [&](const char* key) {
      const auto number = number_at(event, key);
      return number ? fmt::format("{}", *number) : "";
    };
    const auto count = [&](const char* key) {
      const auto number = integer_at(event, key);
      return number ? fmt::format("{}", *number) : "";
    };
    write(fmt::format("{},{},{},{},{},{},{},{}\n", count("epoch"), count("step"),
                      kind == "epoch" ? "train" : "eval", cell("loss"), cell("accuracy"),
                      cell("learning_rate"), cell("examples_per_second"), cell("seconds")));
  }

  nlohmann::ordered_json state() const override { return {{"bytes", bytes_}}; }
  void restore(const nlohmann::ordered_json& state) override {
    const auto bytes = state.at("bytes").get<off_t>();
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) refuse("look at");
    if (bytes > 0 && bytes <= status.st_size) cut_to(bytes);  // else it is a new one, in another folder
  }

 private:
  void begin() {
    cut_to(0);
    write(kHead);
  }
  void cut_to(off_t bytes) {
    if (::ftruncate(file_.get(), bytes) != 0 || ::lseek(file_.get(), bytes, SEEK_SET) < 0) refuse("write");
    bytes_ = bytes;
  }
  void write(const std::string& text) {
    if (!write_all(file_.get(), text.data(), text.size())) refuse("write");
    bytes_ += static_cast<off_t>(text.size());
  }
  [[noreturn]] void refuse(const char* what) const {
    const int error = errno;
    throw Error(file_failure_code(error),
                fmt::format("{}: cannot {} the history: {}", path_.string(), what, std::strerror(error)));
  }

  std::filesystem::path path_;
  Descriptor file_;
  off_t bytes_ = 0;  // of the file; 0: nothing was written yet
};

}  // namespace

std::unique_ptr<Callback> make_csv_history(const CallbackContext& context) {
  return std::make_unique<CsvHistory>(context.folder / "history.csv");
}

}  // namespace dtrain
