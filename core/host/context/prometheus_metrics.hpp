// Metrics on a prometheus-cpp registry. The registry compares label maps under a lock, so every
// metric is looked up once and handed out as a reference from then on.
#pragma once

#include "penstock/metrics.hpp"

#include <memory>

namespace penstock::host {

class PrometheusMetrics : public Metrics {
 public:
  PrometheusMetrics();  // registers penstock_build_info
  ~PrometheusMetrics() override;
  PrometheusMetrics(const PrometheusMetrics&) = delete;
  PrometheusMetrics& operator=(const PrometheusMetrics&) = delete;

  Counter& counter(std::string_view name, std::string_view help, const Labels& labels) override;
  Gauge& gauge(std::string_view name, std::string_view help, const Labels& labels) override;
  Histogram& histogram(std::string_view name, std::string_view help, const Labels& labels,
                       const std::vector<double>& buckets) override;
  std::string expose() override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock::host
