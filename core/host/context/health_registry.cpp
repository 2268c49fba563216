#include "host/context/health_registry.hpp"

#include "host/escape.hpp"

#include "penstock/json.hpp"

#include <algorithm>
#include <list>

namespace penstock::host {
namespace {

std::string_view reason_of(HealthRegistry::Stage stage) {
  switch (stage) {
    case HealthRegistry::Stage::Starting: return "starting";
    case HealthRegistry::Stage::Serving: return "";
    case HealthRegistry::Stage::Stopping: return "shutting down";
  }
  return "";
}

void append(json::Writer& writer, std::string_view name, std::string_view plugin, std::string_view reason) {
  writer.begin_object().key("name").string(valid_utf8(name));
  if (!plugin.empty()) writer.key("plugin").string(plugin);
  writer.key("status").string(reason.empty() ? "ready" : "not_ready");
  if (!reason.empty()) writer.key("reason").string(valid_utf8(reason));
  writer.end_object();
}

}  // namespace

class HealthRegistry::Entries {
 public:
  struct Entry {
    std::string plugin;  // empty: the host
    std::string name;
    std::string reason;  // empty: ready
  };

  explicit Entries(Logger& logger) : logger_(&logger) {}

  Entry* add(std::string_view plugin, std::string_view name) {
    const std::lock_guard lock(mutex_);
    entries_.push_back({std::string(plugin), std::string(name), "starting"});
    return &entries_.back();
  }

  void remove(const Entry* entry) {
    const std::lock_guard lock(mutex_);
    entries_.remove_if([&](const Entry& other) { return &other == entry; });
  }

  void change(Entry* entry, std::string_view reason) {
    const std::lock_guard lock(mutex_);
    if (entry->reason == reason) return;
    entry->reason = reason;
    if (!logger_) return;
    const auto by = entry->plugin.empty() ? std::string("host") : entry->plugin;
    if (reason.empty()) {
      logger_->info("dependency_ready", {{"dependency", entry->name}, {"seen_by", by}});
    } else {
      logger_->warn("dependency_not_ready",
                    {{"dependency", entry->name}, {"seen_by", by}, {"reason", reason}});
    }
  }

  void set_stage(Stage stage) {
    const std::lock_guard lock(mutex_);
    stage_ = stage;
  }

  void detach() {
    const std::lock_guard lock(mutex_);
    logger_ = nullptr;
  }

  bool is_ready() const {
    const std::lock_guard lock(mutex_);
    return is_ready_locked();
  }

  std::string body() const {
    const std::lock_guard lock(mutex_);
    json::Writer writer;
    writer.begin_object().key("status").string(is_ready_locked() ? "ready" : "not_ready");
    writer.key("dependencies").begin_array();
    append(writer, "host", "", reason_of(stage_));
    for (const auto& entry : entries_) append(writer, entry.name, entry.plugin, entry.reason);
    return writer.end_array().end_object().take();
  }

 private:
  bool is_ready_locked() const {
    const auto ready = [](const Entry& entry) { return entry.reason.empty(); };
    return stage_ == Stage::Serving && std::all_of(entries_.begin(), entries_.end(), ready);
  }

  mutable std::mutex mutex_;
  Logger* logger_;
  Stage stage_ = Stage::Starting;
  std::list<Entry> entries_;
};

class HealthRegistry::Probe : public HealthProbe {
 public:
  Probe(std::shared_ptr<Entries> entries, std::string_view plugin, std::string_view name)
      : entries_(std::move(entries)), entry_(entries_->add(plugin, name)) {}
  ~Probe() override { entries_->remove(entry_); }
  void ready() override { entries_->change(entry_, ""); }
  void not_ready(std::string_view reason) override {
    entries_->change(entry_, reason.empty() ? "no reason given" : reason);
  }

 private:
  const std::shared_ptr<Entries> entries_;
  Entries::Entry* const entry_;
};

HealthRegistry::HealthRegistry(Logger& logger) : entries_(std::make_shared<Entries>(logger)) {}

HealthRegistry::~HealthRegistry() {
  entries_->detach();
}

std::unique_ptr<HealthProbe> HealthRegistry::probe(std::string_view name) {
  return probe_of({}, name);
}

std::unique_ptr<HealthProbe> HealthRegistry::probe_of(std::string_view plugin, std::string_view name) {
  return std::make_unique<Probe>(entries_, plugin, name);
}

void HealthRegistry::set_stage(Stage stage) {
  entries_->set_stage(stage);
}
bool HealthRegistry::is_ready() const {
  return entries_->is_ready();
}
std::string HealthRegistry::ready_body() const {
  return entries_->body();
}

void add_health_routes(HttpRoutes& routes, const HealthRegistry& health) {
  const auto add = [&routes](std::string path, HttpHandler handler) {
    routes.add({HttpListener::Operator, HttpMethod::Get, std::move(path), 0, std::move(handler)});
  };
  add("/health/live", [](const HttpRequest&, HttpReply reply) {
    reply.send({200, "application/json", R"({"status":"live"})", {}});
  });
  add("/health/ready", [&health](const HttpRequest&, HttpReply reply) {
    reply.send({health.is_ready() ? 200 : 503, "application/json", health.ready_body(), {}});
  });
}

}  // namespace penstock::host
