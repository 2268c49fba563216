#include "penstock/testkit/fake_context.hpp"
#include "penstock/testkit/transport_contract.hpp"
#include "transport_memory/memory_transport.hpp"

#include <stdexcept>

namespace penstock::transport_memory {
namespace {

constexpr MemoryTransportSettings kSettings{.max_body_bytes = 1 << 20,
                                            .max_queue_messages = 10'000,
                                            .poll = Milliseconds(50),
                                            .back_off = {Milliseconds(10), Milliseconds(50)}};

class Subject : public testkit::TransportSubject {
 public:
  Transport& transport() override { return transport_; }
  DeadLetters& dead_letters() override { return transport_; }
  void restart() override { throw std::logic_error("a memory transport does not survive a restart"); }
  Transport& other_process() override { throw std::logic_error("a memory transport has one process"); }

 private:
  testkit::RealClock clock_;
  testkit::SeededRandom random_{1};
  testkit::RecordingLogger logger_;
  MemoryTransport transport_{kSettings, clock_, random_, logger_};
};

const testkit::TransportContract contract("transport_memory", [] { return std::make_unique<Subject>(); });

}  // namespace
}  // namespace penstock::transport_memory
