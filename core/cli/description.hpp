// Plugins and their keys, for people and for programs.
#pragma once

#include "host/plugins/catalogue.hpp"

#include <iosfwd>
#include <string>

namespace penstock::cli {

void print(const host::Catalogue& catalogue, std::ostream& out);
// {"plugins":[{"name","version","summary","provides":[…],"requires":[…],"library","problems":[…]}]}
std::string to_json(const host::Catalogue& catalogue);

void print(const host::Manifest& manifest, std::ostream& out);
// {"name","version","summary","provides","requires","keys":[{"key","type","required","default",…,"help"}]}
std::string to_json(const host::Manifest& manifest);

}  // namespace penstock::cli
