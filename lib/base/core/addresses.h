// Addresses in a spec of data that are elsewhere (http://, https:// and s3://), and the names that messages
// use for their copies on this host.
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

// The addresses for which the braces in one stand, {000..099} or {a,b}, in order. Throws Error(kUsage) for
// other braces, and if there are too many addresses.
std::vector<std::string> expanded_address(const std::string& address);

// From now on messages of errors have `name` wherever they would name the file or folder `path`.
void name_in_messages(const std::string& path, const std::string& name);

}  // namespace dtrain
