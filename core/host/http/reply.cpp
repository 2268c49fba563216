#include "host/http/reply.hpp"

#include "host/http/response_writer.hpp"

namespace penstock::host::http {

ReplySink::~ReplySink() {
  if (!connection_) return;
  connection_->deliver(Message::Kind::Dropped, {});
}

void ReplySink::send(HttpResponse response) {
  std::exchange(connection_, nullptr)->deliver(Message::Kind::Answer, std::move(response));
}

std::shared_ptr<HttpStream> ReplySink::stream() {
  const auto connection = std::exchange(connection_, nullptr);
  if (!connection->reserve_stream()) {
    connection->deliver(Message::Kind::Answer,
                        problem_retry_after(503, "TOO_MANY_STREAMS", "Too many event streams are open.", 5));
    return nullptr;
  }
  connection->deliver(Message::Kind::OpenStream, {});
  return std::make_shared<EventStream>(connection);
}

bool EventStream::send_event(std::string_view id, std::string_view event, std::string_view data) {
  if (!open()) return false;
  std::string text = format_event(id, event, data);
  if (!connection_->reserve_stream_bytes(text.size())) {
    close();
    return false;
  }
  HttpResponse carrier;
  carrier.body = std::move(text);
  connection_->deliver(Message::Kind::StreamText, std::move(carrier));
  return true;
}

bool EventStream::open() const {
  return !closed_ && connection_->streaming();
}

void EventStream::close() {
  if (!closed_.exchange(true)) connection_->deliver(Message::Kind::EndStream, {});
}

}  // namespace penstock::host::http
