#include "order_intake/product_catalogue.hpp"

#include "order_intake/answers.hpp"

namespace penstock::order_intake {

std::optional<HttpResponse> ProductCatalogue::kept(const orders::Sku& sku) const {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(sku);
  if (found == kept_.end() || found->second.until <= clock_.steady_now()) return std::nullopt;
  return found->second.response;
}

std::vector<Result<HttpResponse>> ProductCatalogue::load(std::span<const orders::Sku> skus) {
  const auto products = books_.products(skus);
  if (!products) return std::vector<Result<HttpResponse>>(skus.size(), products.error());
  std::vector<Result<HttpResponse>> answers;
  answers.reserve(skus.size());
  for (std::size_t i = 0; i < skus.size(); ++i) {
    const auto& product = (*products)[i];
    auto response = answer(product);
    // What does not exist is not kept: made-up ids must not push out real products.
    if (product) keep(skus[i], response);
    answers.push_back(std::move(response));
  }
  return answers;
}

HttpResponse ProductCatalogue::answer(const std::optional<orders::Product>& product) const {
  if (!product) return not_found("there is no such product");
  return product_found(*product, gate_.free_units(product->sku));
}

void ProductCatalogue::keep(const orders::Sku& sku, const HttpResponse& response) {
  const std::lock_guard lock(mutex_);
  // Everything kept is a moment old: dropping it all costs one query per product.
  if (kept_.size() >= settings_.max_kept) kept_.clear();
  kept_.insert_or_assign(sku, Kept{response, clock_.steady_now() + settings_.keep});
}

}  // namespace penstock::order_intake
