// Metrics, as plugins see them. The host exposes them all in the Prometheus text format.
//
// Register in configure(), keep the reference, update on the hot path: updates are thread-safe and
// do not block. Names start with `penstock_`, carry their base unit (`_seconds`, `_total`) and are
// a public interface. Labels take values from small closed sets: never an order, user or product.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock {

using Labels = std::vector<std::pair<std::string, std::string>>;

class Counter {
 public:
  virtual ~Counter() = default;
  virtual void add(double amount) = 0;
  void increment() { add(1); }
};

class Gauge {
 public:
  virtual ~Gauge() = default;
  virtual void set(double value) = 0;
};

class Histogram {
 public:
  virtual ~Histogram() = default;
  virtual void observe(double value) = 0;
};

// Upper bounds for durations in seconds, from half a millisecond to ten seconds.
inline const std::vector<double> kDurationBuckets{.0005, .001, .0025, .005, .01, .025, .05,
                                                  .1,    .25,  .5,    1,    2.5, 5,    10};
// Upper bounds for batch sizes.
inline const std::vector<double> kBatchBuckets{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};

// Thread-safe. Returned references live as long as the process. Asking twice for the same name and
// labels returns the same metric. A malformed name or another type under the same name is a defect
// and throws std::invalid_argument.
class Metrics {
 public:
  virtual ~Metrics() = default;
  virtual Counter& counter(std::string_view name, std::string_view help, const Labels& labels) = 0;
  virtual Gauge& gauge(std::string_view name, std::string_view help, const Labels& labels) = 0;
  virtual Histogram& histogram(std::string_view name, std::string_view help, const Labels& labels,
                               const std::vector<double>& buckets) = 0;
  // Everything registered, in Prometheus text format 0.0.4.
  virtual std::string expose() = 0;
};

}  // namespace penstock
