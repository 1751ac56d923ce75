#include "crypto/crypto.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include <algorithm>
#include <memory>

#include "core/error.h"
#include "core/files.h"

namespace dtrain {
namespace {

unsigned char* data_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }
const unsigned char* data_of(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

[[noreturn]] void refuse(const char* what) {
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  throw Error(ExitCode::kUsage,
              "OpenSSL has no usable {} ({}): its configuration disables it; fix openssl.cnf, or the file "
              "that OPENSSL_CONF names",
              what, reason ? reason : "no reason given");
}

}  // namespace

std::string sha256(const std::string& message) {
  std::string digest(kSha256Bytes, '\0');
  if (!EVP_Q_digest(nullptr, "SHA256", nullptr, message.data(), message.size(), data_of(digest), nullptr))
    refuse("SHA-256");
  return digest;
}

std::string sha256_of_file(const std::filesystem::path& path) {
  constexpr int64_t kPiece = int64_t{16} << 20;
  std::error_code failed;
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path, failed));
  if (failed) throw Error(file_failure_code(failed.value()), path.string() + ": " + failed.message());
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (!digest || !EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr)) refuse("SHA-256");
  for (int64_t offset = 0; offset < size; offset += kPiece) {
    const std::string piece = read_file_part(path, offset, std::min(kPiece, size - offset), ExitCode::kUsage);
    if (!EVP_DigestUpdate(digest.get(), piece.data(), piece.size())) refuse("SHA-256");
  }
  std::string bytes(kSha256Bytes, '\0');
  if (!EVP_DigestFinal_ex(digest.get(), data_of(bytes), nullptr)) refuse("SHA-256");
  return bytes;
}

std::string hmac_sha256(const std::string& key, const std::string& message) {
  std::string code(kSha256Bytes, '\0');
  if (!EVP_Q_mac(nullptr, "HMAC", nullptr, "SHA256", nullptr, key.data(), key.size(), data_of(message),
                 message.size(), data_of(code), code.size(), nullptr))
    refuse("HMAC-SHA256");
  return code;
}

bool same_secret(const std::string& a, const std::string& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string random_bytes(size_t count) {
  std::string bytes(count, '\0');
  if (::getrandom(bytes.data(), count, 0) != static_cast<ssize_t>(count))
    throw Error(ExitCode::kBug, "the kernel has no random numbers");
  return bytes;
}

std::string hexadecimal(const std::string& bytes) {
  return fmt::format("{:02x}", fmt::join(data_of(bytes), data_of(bytes) + bytes.size(), ""));
}

// OpenSSL ends the text with a 0, as std::string does.
std::string base64(const std::string& bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '\0');
  ::EVP_EncodeBlock(data_of(text), data_of(bytes), static_cast<int>(bytes.size()));
  return text;
}

std::string from_base64(const std::string& text) {
  std::string bytes(text.size() / 4 * 3, '\0');
  const size_t padding = text.size() - 1 - text.find_last_not_of('=');
  const int size = ::EVP_DecodeBlock(data_of(bytes), data_of(text), static_cast<int>(text.size()));
  if (size != std::ssize(bytes) || padding > 2) throw Error(ExitCode::kBug, "this is not base64");
  bytes.resize(bytes.size() - padding);
  return bytes;
}

}  // namespace dtrain
