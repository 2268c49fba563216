// The requests of Penstock's order API, as bytes ready to send, and what is read from its answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock::load {

struct OrderRequest {
  std::string user;
  std::string request_id;
  std::string product;
  std::int64_t quantity = 1;
};

std::string order_request(const OrderRequest& order);
std::string read_request(std::string_view user, std::string_view order_no);
std::string cancel_request(std::string_view user, std::string_view order_no);

struct Payment {
  std::string payment_no;
  std::string order_no;
  std::int64_t amount_minor = 0;
  std::string currency;
};
std::string payment_request(const Payment& payment);

// What the bodies of answers say; empty fields where they say nothing.
struct OrderView {
  std::string order_no;
  std::string status;
  std::string reason;
  std::string code;  // of a problem document
  std::int64_t amount_minor = 0;
  std::string currency;

  bool final() const { return !status.empty() && status != "PROCESSING" && status != "WAITING_PAY"; }
};
OrderView read_order(std::string_view body);

}  // namespace penstock::load
