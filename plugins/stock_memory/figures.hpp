// Figures: everything the gate knows under one epoch, and the rules by which it changes.
//
// Every public call is one whole step: it either changes all it has to or nothing.
//
// Thread rule: not thread-safe; its owner locks.
#pragma once

#include "penstock/orders/stock_gate.hpp"
#include "stock_memory/request_book.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace penstock::stock_memory {

class Figures {
 public:
  explicit Figures(std::size_t remembered_requests);
  Figures(const Figures&) = delete;  // its parts point at each other
  Figures& operator=(const Figures&) = delete;

  // Errors: InvalidArgument names what in the image contradicts itself.
  static Result<std::unique_ptr<Figures>> from_image(const orders::GateImage& image, orders::Epoch epoch,
                                                     std::size_t remembered_requests);

  // Errors: InvalidArgument for a request without lines or ids, or with a quantity out of range;
  // Conflict when the order number is held for another request.
  Result<orders::ReserveAnswer> reserve(const orders::ReserveRequest& request, TimePoint now,
                                        orders::Epoch epoch);
  orders::ReleaseOutcome release(const orders::OrderNo& order_no, orders::ReleaseKind kind);
  orders::ConfirmOutcome confirm(const orders::OrderNo& order_no);
  // Errors: InvalidArgument for negative units.
  Result<orders::LoadOutcome> load(const orders::GateSku& sku);

  std::vector<orders::GateHold> holds(orders::HoldSpan span, std::size_t limit) const;
  std::vector<orders::SkuSnapshot> snapshot() const;

 private:
  struct SkuEntry {
    std::int64_t free = 0;
    std::int64_t held = 0;
    orders::SaleTerms terms;
  };
  using Skus = std::unordered_map<orders::Sku, SkuEntry>;
  using SkuNode = Skus::value_type;

  struct HeldLine {
    SkuNode* sku;
    std::int64_t quantity;
  };
  struct Hold;
  using ByAge = std::multimap<TimePoint, const Hold*>;
  struct Hold {
    const KnownRequest* request;
    std::vector<HeldLine> lines;
    orders::Epoch epoch;
    ByAge::iterator age;
  };

  // Units that one user holds or has bought of one SKU.
  struct ShareKey {
    std::string_view user;
    const SkuNode* sku;
  };
  struct ShareOwner {
    std::string user;
    const SkuNode* sku;
  };
  struct ShareHash {
    using is_transparent = void;
    std::size_t operator()(const auto& key) const {
      return std::hash<std::string_view>()(key.user) ^ std::hash<const SkuNode*>()(key.sku);
    }
  };
  struct ShareEqual {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const { return a.sku == b.sku && a.user == b.user; }
  };

  using Check = std::optional<orders::ReserveOutcome> (Figures::*)(const HeldLine&, std::string_view user,
                                                                   TimePoint now) const;

  // The request's units, SKU by SKU, in wanted_; names the first SKU that is not loaded.
  const orders::Sku* collect(const std::vector<orders::Line>& lines);
  std::optional<orders::ReserveOutcome> check_window(const HeldLine&, std::string_view, TimePoint) const;
  std::optional<orders::ReserveOutcome> check_limits(const HeldLine&, std::string_view, TimePoint) const;
  std::optional<orders::ReserveOutcome> check_stock(const HeldLine&, std::string_view, TimePoint) const;
  std::int64_t share(std::string_view user, const SkuNode& sku) const;
  void add_share(std::string_view user, const SkuNode& sku, std::int64_t quantity);

  // False, and nothing changed, when the order number is held already. Free units are the caller's.
  bool record_hold(KnownRequest request, const std::vector<orders::Line>& lines, TimePoint held_at,
                   orders::Epoch epoch);
  void drop_hold(std::unordered_map<std::string_view, Hold>::iterator hold);

  Result<void> install_sku(const orders::GateSku& sku);
  Result<void> install_hold(const orders::GateHold& hold, orders::Epoch epoch);
  Result<void> install_purchase(const orders::GatePurchase& purchase);
  Result<void> install_answered(const orders::GateAnswered& answered);

  Skus skus_;
  RequestBook requests_;
  std::unordered_map<std::string_view, Hold> holds_;  // by order number, a view into the hold's request
  ByAge by_age_;
  std::unordered_map<ShareOwner, std::int64_t, ShareHash, ShareEqual> shares_;
  std::vector<HeldLine> wanted_;  // only within reserve(); a member to save an allocation per request
};

}  // namespace penstock::stock_memory
