#include "penstock/http.hpp"

#include "penstock/json.hpp"

namespace penstock {

HttpResponse problem(int status, std::string_view code, std::string_view detail) {
  HttpResponse response;
  response.status = status;
  response.content_type = "application/problem+json";
  response.body = json::Writer{}
                      .begin_object()
                      .key("status")
                      .integer(status)
                      .key("code")
                      .string(code)
                      .key("detail")
                      .string(detail)
                      .end_object()
                      .take();
  return response;
}

HttpResponse problem_retry_after(int status, std::string_view code, std::string_view detail,
                                 int retry_after_seconds) {
  auto response = problem(status, code, detail);
  response.headers.emplace_back("Retry-After", std::to_string(retry_after_seconds));
  return response;
}

}  // namespace penstock
