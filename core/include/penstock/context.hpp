// Everything a plugin may use of its host. One context per plugin; it outlives the plugin. All of
// it is thread-safe. Plugins keep no globals: what they need comes from here, so a test can hand in
// its own.
#pragma once

#include "penstock/clock.hpp"
#include "penstock/config.hpp"
#include "penstock/health.hpp"
#include "penstock/http.hpp"
#include "penstock/logger.hpp"
#include "penstock/metrics.hpp"
#include "penstock/services.hpp"

#include <filesystem>

namespace penstock {

struct Paths {
  std::filesystem::path data;   // data.dir: created, writable
  std::filesystem::path share;  // read-only files of the installation: schema/, lua/, openapi.json
};

class Context {
 public:
  virtual ~Context() = default;
  virtual Logger& logger() = 0;
  virtual const Config& config() const = 0;
  virtual Clock& clock() = 0;
  virtual Random& random() = 0;
  virtual Metrics& metrics() = 0;
  virtual Health& health() = 0;
  virtual HttpRoutes& http() = 0;
  virtual Services& services() = 0;
  virtual const Paths& paths() const = 0;
};

}  // namespace penstock
