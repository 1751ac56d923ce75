// A connection between the supervisors of two hosts: lines of text both ways.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/descriptor.h"

namespace dtrain {

constexpr size_t kMaxLinkLine = size_t{2} << 20;  // bytes; a spec is at most 1 MiB
constexpr int kLinkLookMilliseconds = 100;        // how often stop signals and deadlines are looked at

// On one line; bytes that are not UTF-8 are replaced.
std::string line_of(const nlohmann::json& object);

class Link {
 public:
  // Takes over a connected TCP socket. `silence_seconds`: how long the other host may be silent on the wire
  // (the kernel asks it in between) before the link counts as closed. `received`: bytes read from it before.
  Link(Descriptor socket, double silence_seconds, std::string received = {});

  // Sends a line (without newline in it), waiting at most two seconds for room. A link that cannot take it is
  // closed from then on.
  void send(const std::string& line);

  // The lines that have arrived; does not block.
  std::vector<std::string> receive();

  // The next line, or nullopt when none comes within `seconds`, the link closes, or a stop signal arrives
  // (core/signals.h).
  std::optional<std::string> next(double seconds);

  // Nothing will come any more: the other end is gone.
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
