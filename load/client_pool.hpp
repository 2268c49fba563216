// A fixed number of connections that many callers share; who finds none free waits in line.
// Belongs to its loop's thread.
#pragma once

#include "load/http_loop.hpp"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace penstock::load {

class ClientPool {
 public:
  ClientPool(Loop& loop, std::size_t connections, Milliseconds limit);

  // Effect: sends when a connection is free; `done` is called once, later.
  void send(std::string request, Client::Done done);

 private:
  struct Waiting {
    std::string request;
    Client::Done done;
  };
  void send_on(Client& client, Waiting waiting);

  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Client*> free_;
  std::deque<Waiting> line_;
};

}  // namespace penstock::load
