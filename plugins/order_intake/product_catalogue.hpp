// Product pages: name, price and terms from the books, free units from the gate, as finished answers
// kept for a moment, so that a crowd reloading one page costs one query per moment. Thread-safe.
#pragma once

#include "order_intake/dependency_watch.hpp"
#include "penstock/clock.hpp"
#include "penstock/http.hpp"
#include "penstock/orders/stock_books.hpp"

#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace penstock::order_intake {

struct ProductCatalogueSettings {
  Milliseconds keep{500};
  std::size_t max_kept = 10'000;
};

class ProductCatalogue {
 public:
  ProductCatalogue(ProductCatalogueSettings settings, orders::StockBooks& books, const GateWatch& gate,
                   Clock& clock)
      : settings_(settings), books_(books), gate_(gate), clock_(clock) {}

  // Never blocks for long. None when there is no answer, or it is too old.
  std::optional<HttpResponse> kept(const orders::Sku& sku) const;
  // Blocks for one query.
  std::vector<Result<HttpResponse>> load(std::span<const orders::Sku> skus);

 private:
  struct Kept {
    HttpResponse response;
    Deadline until;
  };
  HttpResponse answer(const std::optional<orders::Product>& product) const;
  void keep(const orders::Sku& sku, const HttpResponse& response);

  const ProductCatalogueSettings settings_;
  orders::StockBooks& books_;
  const GateWatch& gate_;
  Clock& clock_;
  mutable std::mutex mutex_;
  std::unordered_map<orders::Sku, Kept> kept_;
};

}  // namespace penstock::order_intake
