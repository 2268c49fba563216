#include "host/context/prometheus_metrics.hpp"

#include "host/build_info.hpp"
#include "host/escape.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>

namespace penstock::host {
namespace {

using LabelMap = std::map<std::string, std::string>;
// Name and labels: what makes one time series.
using Series = std::pair<std::string, LabelMap>;

class PrometheusCounter : public Counter {
 public:
  explicit PrometheusCounter(prometheus::Counter& counter) : counter_(counter) {}
  void add(double amount) override { counter_.Increment(amount); }

 private:
  prometheus::Counter& counter_;
};

class PrometheusGauge : public Gauge {
 public:
  explicit PrometheusGauge(prometheus::Gauge& gauge) : gauge_(gauge) {}
  void set(double value) override { gauge_.Set(value); }

 private:
  prometheus::Gauge& gauge_;
};

class PrometheusHistogram : public Histogram {
 public:
  explicit PrometheusHistogram(prometheus::Histogram& histogram) : histogram_(histogram) {}
  void observe(double value) override { histogram_.Observe(value); }

 private:
  prometheus::Histogram& histogram_;
};

// The library checks names but not values, and one value that is not UTF-8 spoils every scrape.
LabelMap checked(std::string_view name, const Labels& labels) {
  LabelMap map;
  for (const auto& [label, value] : labels) {
    const bool good = valid_utf8(value) == value && map.emplace(label, value).second;
    if (good) continue;
    throw std::invalid_argument("metric " + std::string(name) + ": the label " + label +
                                " stands twice or its value is not UTF-8");
  }
  return map;
}

}  // namespace

struct PrometheusMetrics::Impl {
  prometheus::Registry registry;
  std::mutex mutex;
  std::map<Series, std::unique_ptr<PrometheusCounter>> counters;
  std::map<Series, std::unique_ptr<PrometheusGauge>> gauges;
  std::map<Series, std::unique_ptr<PrometheusHistogram>> histograms;
};

PrometheusMetrics::PrometheusMetrics() : impl_(std::make_unique<Impl>()) {
  const auto& build = build_info();
  gauge("penstock_build_info", "What this process was built from; always 1.",
        {{"version", std::string(build.version)}, {"fingerprint", std::string(build.fingerprint)}})
      .set(1);
}

PrometheusMetrics::~PrometheusMetrics() = default;

Counter& PrometheusMetrics::counter(std::string_view name, std::string_view help, const Labels& labels) {
  const Series series{name, checked(name, labels)};
  const std::lock_guard lock(impl_->mutex);
  auto& slot = impl_->counters[series];
  if (slot) return *slot;
  auto& family =
      prometheus::BuildCounter().Name(series.first).Help(std::string(help)).Register(impl_->registry);
  slot = std::make_unique<PrometheusCounter>(family.Add(series.second));
  return *slot;
}

Gauge& PrometheusMetrics::gauge(std::string_view name, std::string_view help, const Labels& labels) {
  const Series series{name, checked(name, labels)};
  const std::lock_guard lock(impl_->mutex);
  auto& slot = impl_->gauges[series];
  if (slot) return *slot;
  auto& family =
      prometheus::BuildGauge().Name(series.first).Help(std::string(help)).Register(impl_->registry);
  slot = std::make_unique<PrometheusGauge>(family.Add(series.second));
  return *slot;
}

Histogram& PrometheusMetrics::histogram(std::string_view name, std::string_view help, const Labels& labels,
                                        const std::vector<double>& buckets) {
  const Series series{name, checked(name, labels)};
  const bool rising =
      std::adjacent_find(buckets.begin(), buckets.end(), std::greater_equal<>()) == buckets.end();
  if (!rising) throw std::invalid_argument("metric " + series.first + ": its buckets do not rise strictly");
  const std::lock_guard lock(impl_->mutex);
  auto& slot = impl_->histograms[series];
  if (slot) return *slot;
  auto& family =
      prometheus::BuildHistogram().Name(series.first).Help(std::string(help)).Register(impl_->registry);
  slot = std::make_unique<PrometheusHistogram>(family.Add(series.second, buckets));
  return *slot;
}

std::string PrometheusMetrics::expose() {
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace penstock::host
