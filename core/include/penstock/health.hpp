// Readiness, dependency by dependency. The host serves the sum at /health/ready on the operator
// listener and logs each change once. Liveness (/health/live) is the host's own.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace penstock {

// One dependency's state; starts as "not ready: starting". Thread-safe; never blocks. Destroying it
// takes the dependency off the list.
class HealthProbe {
 public:
  virtual ~HealthProbe() = default;
  virtual void ready() = 0;
  virtual void not_ready(std::string_view reason) = 0;
};

class Health {
 public:
  virtual ~Health() = default;
  // `name` is what the person on call reads: "stock_gate", "database".
  [[nodiscard]] virtual std::unique_ptr<HealthProbe> probe(std::string_view name) = 0;
};

}  // namespace penstock
