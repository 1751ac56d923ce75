// Addresses of data that is elsewhere, as a spec has them (http://, https:// and s3://), and names for the
// copies of it that lie here.
#pragma once

#include <string>
#include <vector>

namespace dtrain {

bool is_address(const std::string& text);
bool is_in_store(const std::string& address);  // s3://

// Why such an address is refused; empty: it is not. Never repeats the address, which may have a secret in it.
std::string fault_of_address(const std::string& address);

// "HTTPS://Host/Path" as "https://Host/Path".
std::string with_lower_scheme(const std::string& address);

// For messages: without what follows a question mark, and printable. The key of s3:// may have one.
std::string shown_address(const std::string& address);

// The addresses that {000..099} and {a,b} in one stand for, in order. Throws Error(kUsage) for braces that
// are neither, and if they stand for too many.
std::vector<std::string> expanded_address(const std::string& address);

// From now on messages of errors name the file or folder `path` so, wherever they would name `path`.
void name_in_messages(const std::string& path, const std::string& name);

}  // namespace dtrain
