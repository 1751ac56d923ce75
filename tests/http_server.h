// A small HTTP server for tests, in threads of this process, at a free port of this host.
#pragma once

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/sockets.h"

namespace dtrain {

struct AskedFor {
  std::string path;                            // with its query
  std::map<std::string, std::string> headers;  // by lower-case name
  std::string header(const std::string& name) const { return headers.contains(name) ? headers.at(name) : ""; }
};

struct Answer {
  int status = 200;
  std::map<std::string, std::string> headers = {};
  std::string body = {};
  std::optional<size_t> cut_after = {};  // bytes of the body, after which the connection is closed
  bool has_length = true;                // else the body ends with the connection, unless it is in chunks
};

class HttpServer {
 public:
  explicit HttpServer(std::function<Answer(const AskedFor&)> answer,
                      Listening listening = listen_at("127.0.0.1", 0))
      : answer_(std::move(answer)), listening_(std::move(listening)), thread_([this] { accept_all(); }) {}
  ~HttpServer() {
    stops_ = true;
    thread_.join();
  }

  std::string address() const { return "http://127.0.0.1:" + std::to_string(listening_.port); }
  std::vector<AskedFor> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  void accept_all() {
    std::vector<std::jthread> connections;
    while (!stops_) {
      pollfd waiting{listening_.socket.get(), POLLIN, 0};
      if (::poll(&waiting, 1, 20) <= 0) continue;
      const int socket = ::accept(listening_.socket.get(), nullptr, nullptr);
      if (socket >= 0) connections.emplace_back([this, socket] { serve(Descriptor(socket)); });
    }
  }

  void serve(const Descriptor& socket) {
    std::string text;
    char bytes[4096];
    while (text.find("\r\n\r\n") == std::string::npos) {
      const ssize_t count = ::recv(socket.get(), bytes, sizeof bytes, 0);
      if (count <= 0) return;
      text.append(bytes, static_cast<size_t>(count));
    }
    const AskedFor request = parsed(text);
    {
      const std::lock_guard lock(mutex_);
      asked_.push_back(request);
    }
    const Answer answer = answer_(request);
    std::string reply = "HTTP/1.1 " + std::to_string(answer.status) + " x\r\nconnection: close\r\n";
    if (answer.has_length && !answer.headers.contains("transfer-encoding"))
      reply += "content-length: " + std::to_string(answer.body.size()) + "\r\n";
    for (const auto& [name, value] : answer.headers) reply += name + ": " + value + "\r\n";
    reply += "\r\n" + answer.body.substr(0, answer.cut_after.value_or(answer.body.size()));
    for (size_t at = 0; at < reply.size();) {
      const ssize_t sent = ::send(socket.get(), reply.data() + at, reply.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) return;
      at += static_cast<size_t>(sent);
    }
    ::shutdown(socket.get(), SHUT_WR);
    while (::recv(socket.get(), bytes, sizeof bytes, 0) > 0) continue;  // until the client has read it all
  }

  static AskedFor parsed(const std::string& text) {
    AskedFor request;
    size_t at = text.find("\r\n");
    const std::string first = text.substr(0, at);
    const size_t begin = first.find(' ') + 1;
    request.path = first.substr(begin, first.rfind(' ') - begin);
    for (at += 2; text.compare(at, 2, "\r\n") != 0;) {
      const size_t end = text.find("\r\n", at), colon = text.find(':', at);
      std::string name = text.substr(at, colon - at);
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      request.headers[name] = text.substr(colon + 2, end - colon - 2);
      at = end + 2;
    }
    return request;
  }

  const std::function<Answer(const AskedFor&)> answer_;
  const Listening listening_;
  std::atomic<bool> stops_ = false;
  std::mutex mutex_;  // guards asked_
  std::vector<AskedFor> asked_;
  std::thread thread_;
};

// The same in a process of its own, for tests that fork: a lock that another thread holds at that moment
// stays locked in the child (those of AddressSanitizer's allocator do).
class HttpServerProcess {
 public:
  explicit HttpServerProcess(const std::function<Answer(const AskedFor&)>& answer) {
    Listening listening = listen_at("127.0.0.1", 0);
    port_ = listening.port;
    const pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const HttpServer server(answer, std::move(listening));
    while (::getppid() == parent) ::pause();
    ::_exit(0);
  }
  ~HttpServerProcess() {
    if (process_ < 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  HttpServerProcess(const HttpServerProcess&) = delete;
  HttpServerProcess& operator=(const HttpServerProcess&) = delete;

  std::string address() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  uint16_t port_ = 0;
  pid_t process_ = -1;  // without one nobody answers
};

// The part of `content` that is asked for, as servers do it.
inline Answer part_of(const std::string& content, const AskedFor& request, const std::string& etag) {
  Answer answer;
  answer.headers["etag"] = etag;
  if (const std::string match = request.header("if-match"); !match.empty() && match != etag)
    return {.status = 412};
  const std::string range = request.header("range");
  if (range.empty()) {
    answer.body = content;
    return answer;
  }
  const size_t dash = range.find('-');
  const size_t begin = std::stoul(range.substr(6, dash - 6)), last = std::stoul(range.substr(dash + 1));
  const std::string size = std::to_string(content.size());
  if (begin >= content.size()) return {.status = 416, .headers = {{"content-range", "bytes */" + size}}};
  answer.status = 206;
  answer.body = content.substr(begin, last - begin + 1);
  answer.headers["content-range"] =
      "bytes " + std::to_string(begin) + "-" + std::to_string(begin + answer.body.size() - 1) + "/" + size;
  return answer;
}

// Sets an environment variable as long as it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
  std::optional<std::string> before_;
};

}  // namespace dtrain
