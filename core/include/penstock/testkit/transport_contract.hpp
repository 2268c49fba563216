// What every Transport with its DeadLetters must do, as tests: delivery, returns, delays, retries,
// parking and replay, leases, shutdown, depth, and messages that nobody could handle.
//
// What a transport does not claim in its traits is not asked of it. Subjects should use back-offs and
// poll intervals of some ten milliseconds, so that the tests are quick.
#pragma once

#include "penstock/testkit/contract_suite.hpp"
#include "penstock/transport.hpp"

namespace penstock::testkit {

// The transport under test, with storage of its own and no queues.
class TransportSubject {
 public:
  virtual ~TransportSubject() = default;
  virtual Transport& transport() = 0;
  virtual DeadLetters& dead_letters() = 0;

  // Effect: ends the transport and opens its storage anew, as the next process would. Called only where
  // the traits say that messages survive a restart, and with no subscription left.
  virtual void restart() = 0;
  // The same storage as another process sees it, at the same time. Called only where the traits say
  // that messages are delivered across processes.
  virtual Transport& other_process() = 0;
};

class TransportContract : public ContractSuite<TransportSubject> {
 public:
  TransportContract(std::string adapter, Make make);
};

}  // namespace penstock::testkit
