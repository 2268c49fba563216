// A consumer for the fault test, in a process of its own: mortal_consumer DATABASE
// Dies at once of any message whose body says so; ends by itself when only parked messages are left.
#include "penstock/testkit/fake_context.hpp"
#include "transport_sql/sql_transport.hpp"

#include <unistd.h>

#include <iostream>
#include <thread>

using namespace penstock;
using namespace std::chrono_literals;

namespace {

std::vector<Settlement> handle(std::span<const Delivery> deliveries) {
  for (const auto& delivery : deliveries) {
    if (delivery.body.find("kill") != std::string::npos) _exit(137);
  }
  return std::vector<Settlement>(deliveries.size(), Done{});
}

bool finished(Transport& transport, const QueueName& queue) {
  const auto depth = transport.depth(queue);
  return depth && depth->ready + depth->delayed + depth->unacked == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto database = sql::Database::open({.path = argv[1]});
  if (!database) return 2;
  testkit::RealClock clock;
  testkit::SeededRandom random(static_cast<std::uint64_t>(getpid()));
  testkit::RecordingLogger logger;
  transport_sql::SqlTransport transport({.max_body_bytes = 1'000, .poll = 20ms, .back_off = {10ms, 20ms}},
                                        *database, clock, random, logger);
  const QueueName queue("work");
  const auto subscription = transport.subscribe({.queue = queue, .lease = 200ms}, handle);
  if (!subscription) {
    std::cerr << subscription.error().message << "\n";
    return 2;
  }
  while (!finished(transport, queue)) std::this_thread::sleep_for(5ms);
  return (*subscription)->stop(clock.steady_now() + 5s).ok() ? 0 : 1;
}
