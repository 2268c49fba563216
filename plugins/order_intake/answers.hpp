// What clients are told: the API's JSON documents and problems (openapi.json describes them all).
//
// The answers to a crowd (sold out, backlog) are built once and copied.
#pragma once

#include "order_intake/accept_sequence.hpp"
#include "penstock/http.hpp"
#include "penstock/orders/order.hpp"
#include "penstock/orders/order_store.hpp"
#include "penstock/orders/stock_books.hpp"

#include <optional>
#include <string>

namespace penstock::order_intake {

// Instants as RFC 3339 in UTC with milliseconds.
std::string instant(TimePoint at);

HttpResponse malformed(std::string_view detail);
HttpResponse unauthenticated();
HttpResponse not_found(std::string_view detail);
HttpResponse unsupported_media_type();
HttpResponse backlog();
HttpResponse stopping();
// For an error of a port or lane.
HttpResponse failure(const Error& error);

HttpResponse order_accepted(const orders::OrderNo& order_no);
// `line_count` of the request: a refused order of several lines names the product that decided.
HttpResponse order_answer(const IntakeAnswer& answer, std::size_t line_count);
HttpResponse order_found(const orders::Order& order);
HttpResponse cancel_answer(const orders::OrderNo& order_no, const orders::CancelAnswer& answer);
HttpResponse payment_answer(const orders::Payment& payment, const orders::PayAnswer& answer);

// `free_units`: none while the gate has no figures.
HttpResponse product_found(const orders::Product& product, std::optional<std::int64_t> free_units);
// The data of a server-sent event.
std::string move_data(const orders::OrderMove& move);

}  // namespace penstock::order_intake
