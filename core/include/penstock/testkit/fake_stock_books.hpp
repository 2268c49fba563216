// Books that say what the test says: each call is answered by its hook. Without a hook a call answers
// that there is nothing. Set the hooks before the calls start.
#pragma once

#include "penstock/orders/stock_books.hpp"

#include <functional>
#include <mutex>

namespace penstock::testkit {

class FakeStockBooks : public orders::StockBooks {
 public:
  std::function<Result<orders::LoadReport>(std::span<const orders::StockRow>, orders::LoadMode)> on_load;
  std::function<Result<std::optional<orders::Product>>(const orders::Sku&)> on_product;
  std::function<Result<orders::GateImage>(std::size_t answered_limit)> on_gate_image;
  std::function<Result<std::vector<orders::GateSku>>()> on_gate_skus;
  std::function<Result<orders::Books>()> on_books;
  std::function<Result<orders::StoreFigures>()> on_figures;
  std::function<Result<bool>(const EventId&)> on_consumed;

  Result<orders::LoadReport> load(std::span<const orders::StockRow> rows, orders::LoadMode mode) override {
    const std::lock_guard lock(mutex_);
    return on_load ? on_load(rows, mode) : orders::LoadReport{};
  }

  Result<std::vector<std::optional<orders::Product>>> products(std::span<const orders::Sku> skus) override {
    const std::lock_guard lock(mutex_);
    asked_products_.insert(asked_products_.end(), skus.begin(), skus.end());
    std::vector<std::optional<orders::Product>> answers;
    for (const auto& sku : skus) {
      auto product = on_product ? on_product(sku) : std::optional<orders::Product>();
      if (!product) return product.error();
      answers.push_back(std::move(product).value());
    }
    return answers;
  }

  Result<orders::GateImage> gate_image(std::size_t answered_limit) override {
    const std::lock_guard lock(mutex_);
    return on_gate_image ? on_gate_image(answered_limit) : orders::GateImage{};
  }
  Result<std::vector<orders::GateSku>> gate_skus() override {
    const std::lock_guard lock(mutex_);
    return on_gate_skus ? on_gate_skus() : std::vector<orders::GateSku>{};
  }
  Result<orders::Books> books() override {
    const std::lock_guard lock(mutex_);
    return on_books ? on_books() : orders::Books{};
  }
  Result<orders::StoreFigures> figures() override {
    const std::lock_guard lock(mutex_);
    ++figures_read_;
    return on_figures ? on_figures() : orders::StoreFigures{};
  }
  Result<bool> consumed(const EventId& event) override {
    const std::lock_guard lock(mutex_);
    return on_consumed ? on_consumed(event) : false;
  }

  // What was asked for so far.
  std::vector<orders::Sku> asked_products() const {
    const std::lock_guard lock(mutex_);
    return asked_products_;
  }
  int figures_read() const {
    const std::lock_guard lock(mutex_);
    return figures_read_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<orders::Sku> asked_products_;
  int figures_read_ = 0;
};

}  // namespace penstock::testkit
