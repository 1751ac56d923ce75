// A connection between the supervisors of two hosts, on which both send lines of text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/descriptor.h"

namespace dtrain {

constexpr size_t kMaxLinkLine = size_t{2} << 20;  // bytes; a spec has at most 1 MiB
constexpr int kLinkLookMilliseconds = 100;        // how often stop signals and deadlines are checked

// The object as JSON on one line. Bytes that are not UTF-8 are replaced.
std::string line_of(const nlohmann::json& object);

class Link {
 public:
  // Takes over a connected TCP socket. `silence_seconds`: how long the other host may fail to answer the
  // kernel's keep-alive probes before the link counts as closed. `received`: bytes that were read before.
  Link(Descriptor socket, double silence_seconds, std::string received = {});

  // Sends a line (which must not contain a newline). Waits at most two seconds for room; if there is none,
  // the link counts as closed from then on.
  void send(const std::string& line);

  // The lines that have arrived. Does not block.
  std::vector<std::string> receive();

  // The next line; nullopt if none arrives within `seconds`, or the link closes, or at a stop signal.
  std::optional<std::string> next(double seconds);

  // The other end is gone, and all its lines have been read.
  bool closed() const { return closed_ && input_.find('\n') == std::string::npos; }
  int descriptor() const { return socket_.get(); }

 private:
  void read_all();
  std::optional<std::string> take_line();

  Descriptor socket_;
  std::string input_;
  bool closed_ = false;
};

}  // namespace dtrain
