#include "transport/store_settings.h"

#include <filesystem>
#include <map>

#include "core/addresses.h"
#include "core/environment.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostFileBytes = int64_t{1} << 20;

using Section = std::map<std::string, std::string>;

std::string first_of(std::initializer_list<const char*> variables) {
  for (const char* const name : variables) {
    if (const auto text = environment_text(name)) return *text;
  }
  return "";
}

fs::path file_of(const char* variable, const char* name) {
  if (const auto path = environment_text(variable)) return *path;
  const auto home = environment_text("HOME");
  return home ? fs::path(*home) / ".aws" / name : fs::path();
}

// The settings of [name] or [profile name]; none if the file or the section is not there.
Section section_of(const fs::path& path, const std::string& name) {
  std::error_code none;
  Section section;
  if (path.empty() || !fs::exists(path, none)) return section;
  bool inside = false;
  for (const std::string& line : split(read_file(path, kMostFileBytes, ExitCode::kUsage), '\n')) {
    const std::string text = trimmed(line);
    if (text.starts_with('[')) {
      const std::string title = trimmed(text.substr(1, text.find(']') - 1));
      inside = title == name || (title.starts_with("profile ") && trimmed(title.substr(8)) == name);
    }
    const size_t equals = text.find('=');
    const bool nested = line.starts_with(' ') || line.starts_with('\t');
    if (!inside || nested || equals == std::string::npos || text.starts_with('#') || text.starts_with(';'))
      continue;
    section[trimmed(text.substr(0, equals))] = trimmed(text.substr(equals + 1));
  }
  return section;
}

StoreKeys keys_in(const Section& section, const std::string& from) {
  const auto value = [&](const char* name) {
    return section.contains(name) ? section.at(name) : std::string();
  };
  return {value("aws_access_key_id"), value("aws_secret_access_key"), value("aws_session_token"), from};
}

// Line breaks in a key would be headers of their own.
void require_whole(const StoreKeys& keys) {
  if (keys.id.empty() != keys.secret.empty())
    throw Error(ExitCode::kUsage, "{}: there is {} without {}", keys.from,
                keys.id.empty() ? "a secret key" : "an access key's name",
                keys.id.empty() ? "its name" : "its secret");
  for (const std::string* part : {&keys.id, &keys.secret, &keys.session}) {
    for (const char c : *part) {
      if (c <= ' ' || c > '~')
        throw Error(ExitCode::kUsage, "{}: a key has characters that keys do not have", keys.from);
    }
  }
}

std::string endpoint_in(const Section& config) {
  std::string endpoint = first_of({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (endpoint.empty() && config.contains("endpoint_url")) endpoint = config.at("endpoint_url");
  if (endpoint.empty()) return endpoint;
  while (endpoint.ends_with('/')) endpoint.pop_back();
  endpoint = with_lower_scheme(endpoint);
  const bool is_web =
      is_address(endpoint) && endpoint.starts_with("http") && endpoint.find('?') == std::string::npos;
  const std::string fault = is_web ? fault_of_address(endpoint) : "is no http:// or https:// address";
  if (!fault.empty())
    throw Error(ExitCode::kUsage, "AWS_ENDPOINT_URL, or endpoint_url of ~/.aws/config: {}", fault);
  return endpoint;
}

}  // namespace

StoreSettings store_settings() {
  const auto profile = environment_text("AWS_PROFILE");
  const std::string name = profile.value_or("default");
  const fs::path credentials = file_of("AWS_SHARED_CREDENTIALS_FILE", "credentials");
  const Section config = section_of(file_of("AWS_CONFIG_FILE", "config"), name);
  const Section saved = section_of(credentials, name);
  if (profile && config.empty() && saved.empty())
    throw Error(ExitCode::kUsage, "AWS_PROFILE: no profile '{}' in {} or ~/.aws/config", printable(name, 100),
                printable(credentials.string(), 1000));
  StoreSettings settings;
  settings.keys = {first_of({"AWS_ACCESS_KEY_ID"}), first_of({"AWS_SECRET_ACCESS_KEY"}),
                   first_of({"AWS_SESSION_TOKEN"}), "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"};
  if (settings.keys.id.empty() && settings.keys.secret.empty()) {
    settings.keys = keys_in(saved, credentials.string() + ", profile " + name);
    if (!settings.keys.are_given()) settings.keys = keys_in(config, "~/.aws/config, profile " + name);
  }
  require_whole(settings.keys);
  settings.region = first_of({"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (settings.region.empty() && config.contains("region")) settings.region = config.at("region");
  if (settings.region.empty()) settings.region = "us-east-1";
  if (settings.region.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string::npos)
    throw Error(ExitCode::kUsage, "AWS_REGION: '{}' is no name of a region", printable(settings.region, 60));
  settings.endpoint = endpoint_in(config);
  return settings;
}

}  // namespace dtrain
