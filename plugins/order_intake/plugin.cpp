#include "penstock/plugin.hpp"

#include "order_intake/order_api.hpp"

#include <fstream>
#include <sstream>

namespace penstock::order_intake {
namespace {

std::size_t size(const Config& config, std::string_view key) {
  return static_cast<std::size_t>(config.integer(key));
}

OrderApiSettings settings_from(const Config& config) {
  OrderApiSettings settings;
  settings.accept_max_batch = size(config, "accept_max_batch");
  settings.accept_max_queue = size(config, "accept_max_queue");
  settings.query_max_batch = size(config, "query_max_batch");
  settings.query_max_queue = size(config, "query_max_queue");
  settings.max_body_bytes = size(config, "max_body_bytes");
  settings.max_backlog = config.integer("max_backlog");
  settings.store_poll = config.duration("store_poll_ms");
  settings.gate_poll = config.duration("gate_poll_ms");
  settings.products = {config.duration("product_keep_ms"), size(config, "product_max_kept")};
  settings.events = {config.duration("events_poll_ms"), size(config, "events_max_watched"),
                     size(config, "events_max_batch")};
  return settings;
}

Result<std::string> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file && text << file.rdbuf()) return std::move(text).str();
  return Error{ErrorCode::NotFound, "order_intake: cannot read " + path.string() +
                                        ", the description of the API; it belongs to the installation: "
                                        "install again or set share.dir"};
}

class OrderIntake : public Plugin {
 public:
  Result<void> configure(Context& context) override {
    context_ = &context;
    settings_ = settings_from(context.config());
    const auto mode = context.config().text("auth.mode");
    if (mode == "header") return {};
    return Error{ErrorCode::InvalidArgument,
                 "order_intake: auth.mode is \"" + mode + "\", allowed is \"header\""};
  }

  Result<void> start() override {
    auto openapi = read_file(context_->paths().share / "openapi.json");
    if (!openapi) return openapi.error();
    settings_.openapi = std::move(openapi).value();
    auto& services = context_->services();
    api_ = std::make_unique<OrderApi>(
        std::move(settings_),
        OrderApiPorts{services.require<orders::StockGate>(), services.require<orders::OrderStore>(),
                      services.require<orders::StockBooks>(), context_->clock(), context_->random(),
                      context_->metrics(), context_->health(), context_->logger()});
    api_->add_routes(context_->http());
    return {};
  }

  Result<void> stop(Deadline deadline) override { return api_ ? api_->stop(deadline) : Result<void>(); }

 private:
  Context* context_ = nullptr;
  OrderApiSettings settings_;
  std::unique_ptr<OrderApi> api_;
};

}  // namespace
}  // namespace penstock::order_intake

PENSTOCK_PLUGIN(penstock::order_intake::OrderIntake);
