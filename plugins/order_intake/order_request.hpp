// The bodies that clients send, as values of the order domain.
#pragma once

#include "penstock/orders/order.hpp"
#include "penstock/orders/order_store.hpp"
#include "penstock/result.hpp"

#include <string_view>
#include <vector>

namespace penstock::order_intake {

// What an order asks for. The lines are the request's meaning: one line per product, by product id,
// so the same wish in another spelling (order of the lines, a product on two lines, short or long
// form, a product id as number or string) is the same request.
struct OrderRequest {
  orders::RequestId request;
  std::vector<orders::Line> lines;
  orders::BodyHash hash;
};

// Errors: InvalidArgument names the field, what was found, what is allowed.
Result<OrderRequest> parse_order(std::string_view body);
Result<orders::Payment> parse_payment(std::string_view body);
// A cancellation has nothing to say: no body, or an empty object.
Result<void> parse_cancellation(std::string_view body);

// 128 bits of SHA-256 over the lines, in hexadecimal. A collision could only confuse two requests
// that one user sent under one request id.
orders::BodyHash hash_of(const std::vector<orders::Line>& lines);

}  // namespace penstock::order_intake
