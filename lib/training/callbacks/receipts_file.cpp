#include "callbacks/callbacks.h"
#include "callbacks/lines_file.h"
#include "runs/receipts.h"

namespace dtrain {
namespace {

class ReceiptsFile : public Callback {
 public:
  explicit ReceiptsFile(const CallbackContext& context) : file_(context, kReceiptsFile, "the receipts") {}

  void on_event(const Event& event) override {
    if (decode<RunStartEvent>(event) && file_.bytes() == 0) file_.empty();
  }
  void on_receipt(const Event& receipt) override { file_.write(chained_line(receipt, chain_)); }

  nlohmann::ordered_json state() const override { return {{"bytes", file_.bytes()}, {"chain", chain_}}; }
  void restore(const nlohmann::ordered_json& state) override {
    chain_ = state.at("chain").get<std::string>();
    const std::string last = file_.go_back_to(state.at("bytes").get<off_t>());
    const Event receipt = Event::parse(last, nullptr, /*allow_exceptions=*/false);
    if (receipt.is_object()) chain_ = receipt.value("chain", chain_);
  }

 private:
  LinesFile file_;
  std::string chain_;  // of the last line
};

}  // namespace

std::unique_ptr<Callback> make_receipts_file(const CallbackContext& context) {
  return std::make_unique<ReceiptsFile>(context);
}

}  // namespace dtrain
