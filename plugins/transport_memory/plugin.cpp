// The memory transport as a plugin: its settings and its two services.
#include "penstock/plugin.hpp"
#include "transport_memory/memory_transport.hpp"

#include <optional>

namespace penstock::transport_memory {

class TransportMemory : public Plugin {
 public:
  Result<void> configure(Context& context) override {
    const auto& config = context.config();
    const MemoryTransportSettings settings{
        .max_body_bytes = static_cast<std::size_t>(config.integer("max_body_bytes")),
        .max_queue_messages = static_cast<std::size_t>(config.integer("max_queue_messages")),
        .poll = config.duration("poll_interval_ms"),
        .back_off = {config.duration("first_back_off_ms"), config.duration("max_back_off_ms")}};
    logger_ = &context.logger();
    transport_.emplace(settings, context.clock(), context.random(), context.logger());
    context.services().provide<Transport>(*transport_);
    context.services().provide<DeadLetters>(*transport_);
    return {};
  }

  Result<void> start() override {
    logger_->warn("transport_not_durable", {{"plugin", "transport_memory"},
                                            {"meaning", "every message is lost when this process ends"}});
    return {};
  }

  Result<void> stop(Deadline) override { return {}; }

 private:
  Logger* logger_ = nullptr;
  std::optional<MemoryTransport> transport_;
};

}  // namespace penstock::transport_memory

PENSTOCK_PLUGIN(penstock::transport_memory::TransportMemory);
