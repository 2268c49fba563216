#include "cli/operator_client.hpp"

#include <Poco/Net/HTTPClientSession.h>
#include <Poco/Net/HTTPRequest.h>
#include <Poco/Net/HTTPResponse.h>
#include <Poco/Net/NetException.h>

#include <sstream>

namespace penstock::cli {
namespace {

// An answer of the operator listener is small; anything larger is not ours.
constexpr std::streamsize kMaxBody = 64 * 1024 * 1024;

std::string read_body(std::istream& in) {
  std::string body;
  char chunk[16 * 1024];
  while (static_cast<std::streamsize>(body.size()) < kMaxBody &&
         (in.read(chunk, sizeof chunk), in.gcount() > 0)) {
    body.append(chunk, static_cast<std::size_t>(in.gcount()));
  }
  return body;
}

}  // namespace

OperatorAddress operator_address(const host::CheckedConfig& config) {
  return {config.text("http.operator.host"),
          static_cast<std::uint16_t>(config.integer("http.operator.port"))};
}

Result<OperatorAnswer> ask_operator(const OperatorAddress& address, const std::string& path,
                                    Milliseconds limit) {
  const auto describe = [&](const std::string& why) {
    return "operator listener " + address.text() + path + ": " + why;
  };
  try {
    Poco::Net::HTTPClientSession session(address.host, address.port);
    session.setTimeout(Poco::Timespan(limit.count() * 1000));
    Poco::Net::HTTPRequest request(Poco::Net::HTTPRequest::HTTP_GET, path, Poco::Net::HTTPRequest::HTTP_1_1);
    session.sendRequest(request);
    Poco::Net::HTTPResponse response;
    auto body = read_body(session.receiveResponse(response));
    return OperatorAnswer{static_cast<int>(response.getStatus()), std::move(body)};
  } catch (const Poco::TimeoutException&) {
    return Error{ErrorCode::Timeout, describe("no answer within " + std::to_string(limit.count()) + " ms")};
  } catch (const Poco::Exception& exception) {
    return Error{ErrorCode::Unavailable, describe(exception.displayText())};
  }
}

}  // namespace penstock::cli
