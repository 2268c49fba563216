// What this program was built from and with; a plugin must have been built alike.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock::host {

struct BuildInfo {
  std::string_view version;
  std::int64_t abi;
  std::string_view fingerprint;
  std::string_view host_manifest;  // the text of core/host/host.json
};

const BuildInfo& build_info();

}  // namespace penstock::host
