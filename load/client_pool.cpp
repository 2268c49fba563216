#include "load/client_pool.hpp"

#include <utility>

namespace penstock::load {

ClientPool::ClientPool(Loop& loop, std::size_t connections, Milliseconds limit) {
  for (std::size_t i = 0; i < connections; ++i) {
    clients_.push_back(std::make_unique<Client>(loop, limit));
    free_.push_back(clients_.back().get());
  }
}

void ClientPool::send(std::string request, Client::Done done) {
  line_.push_back({std::move(request), std::move(done)});
  if (free_.empty()) return;
  Client& client = *free_.back();
  free_.pop_back();
  Waiting first = std::move(line_.front());
  line_.pop_front();
  send_on(client, std::move(first));
}

void ClientPool::send_on(Client& client, Waiting waiting) {
  client.send(waiting.request, [this, &client, done = std::move(waiting.done)](const Answer& answer) {
    done(answer);
    if (line_.empty()) {
      free_.push_back(&client);
      return;
    }
    Waiting next = std::move(line_.front());
    line_.pop_front();
    send_on(client, std::move(next));
  });
}

}  // namespace penstock::load
