// A real listener with whatever routes a test gives it.
#pragma once

#include "host/http/http_server.hpp"
#include "load/http_loop.hpp"
#include "penstock/testkit/fake_context.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <memory>
#include <string>
#include <utility>

namespace penstock::load {

inline HttpResponse json_response(int status, std::string body) {
  HttpResponse response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

class TestServer {
 public:
  explicit TestServer(host::HttpServerSettings settings = {})
      : server_(std::make_unique<host::HttpServer>(std::move(settings), logger, metrics)) {}

  void add(HttpMethod method, std::string path, HttpHandler handler) {
    server_->add({HttpListener::Public, method, std::move(path), 64 * 1024, std::move(handler)});
  }
  void start() {
    const auto started = server_->start();
    CPPUNIT_ASSERT_MESSAGE(started ? "" : started.error().message, started.ok());
    server_->open();
  }
  std::size_t drain(Milliseconds span) { return server_->drain(std::chrono::steady_clock::now() + span); }
  Target target() const { return {"127.0.0.1", server_->port(HttpListener::Public)}; }

  testkit::RecordingLogger logger;
  testkit::RecordingMetrics metrics;

 private:
  std::unique_ptr<host::HttpServer> server_;
};

}  // namespace penstock::load
