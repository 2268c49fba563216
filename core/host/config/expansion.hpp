// ${…} references in configuration values.
#pragma once

#include "host/config/sources.hpp"

namespace penstock::host {

// Replaces `${system.env.NAME}` by the environment variable and `${other.key}` by that key's value.
//
// Poco's own expansion leaves a reference to nothing as it stands, so a missing password would become
// the text "${system.env.PASSWORD}", and it expands what it finds in the environment once more. Here
// the first is a problem, and the environment is taken literally.
void expand_references(RawConfig& raw);

}  // namespace penstock::host
