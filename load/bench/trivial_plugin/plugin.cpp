// The benchmark's yardstick: the cheapest possible handler on the product's own listener.
#include "penstock/plugin.hpp"

namespace penstock::bench_trivial {

class TrivialPlugin : public Plugin {
 public:
  Result<void> configure(Context& context) override {
    context.http().add({HttpListener::Public, HttpMethod::Post, "/bench/trivial", 64 * 1024,
                        [](const HttpRequest&, HttpReply reply) {
                          HttpResponse response;
                          response.body = "{}";
                          reply.send(std::move(response));
                        }});
    return {};
  }
  Result<void> start() override { return {}; }
  Result<void> stop(Deadline) override { return {}; }
};

}  // namespace penstock::bench_trivial

PENSTOCK_PLUGIN(penstock::bench_trivial::TrivialPlugin);
