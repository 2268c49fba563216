#include "penstock/plugin.hpp"

#include "metrics/query_gauges.hpp"
#include "penstock/worker.hpp"

#include <memory>

namespace penstock::metrics {
namespace {

class MetricsPlugin : public Plugin {
 public:
  Result<void> configure(Context& context) override {
    context_ = &context;
    refresh_ = context.config().duration("refresh_ms");
    context.http().add({HttpListener::Operator, HttpMethod::Get, "/metrics", 0,
                        [&registry = context.metrics()](const HttpRequest&, HttpReply reply) {
                          HttpResponse response;
                          response.content_type = "text/plain; version=0.0.4";
                          response.body = registry.expose();
                          reply.send(std::move(response));
                        }});
    return {};
  }

  Result<void> start() override {
    auto& services = context_->services();
    gauges_ = std::make_unique<QueryGauges>(context_->metrics(), services.require<orders::StockBooks>(),
                                            services.require<Transport>());
    worker_ = std::make_unique<Worker>(WorkerSettings{.name = "metrics"}, context_->logger(),
                                       [this]() -> Result<Milliseconds> {
                                         const auto done = gauges_->refresh();
                                         if (!done) return done.error();
                                         return refresh_;
                                       });
    return {};
  }

  Result<void> stop(Deadline deadline) override {
    if (!worker_ || worker_->stop(deadline)) return {};
    return Error{ErrorCode::Timeout, "metrics: still waiting for the store or the transport at the deadline"};
  }

 private:
  Context* context_ = nullptr;
  Milliseconds refresh_{0};
  std::unique_ptr<QueryGauges> gauges_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace
}  // namespace penstock::metrics

PENSTOCK_PLUGIN(penstock::metrics::MetricsPlugin);
