#include "stock_memory/figures.hpp"

#include <algorithm>

namespace penstock::stock_memory {

using orders::ReserveAnswer;
using orders::ReserveOutcome;

namespace {

// Orders for which the tables have room from the start: a table that grows in the midst of a sale
// makes a whole batch wait for tens of milliseconds.
constexpr std::size_t kExpectedOrders = 500'000;

Error invalid(std::string message) {
  return {ErrorCode::InvalidArgument, std::move(message)};
}

Result<void> check_lines(const std::vector<orders::Line>& lines, const orders::OrderNo& order_no) {
  if (lines.empty() || lines.size() > orders::kMaxLines) {
    return invalid("order " + order_no.str() + " has " + std::to_string(lines.size()) +
                   " lines; allowed are 1 to " + std::to_string(orders::kMaxLines));
  }
  for (const auto& line : lines) {
    if (line.quantity < 1 || line.quantity > orders::kMaxQuantity) {
      return invalid("order " + order_no.str() + " wants " + std::to_string(line.quantity) + " of " +
                     line.sku.str() + "; allowed are 1 to " + std::to_string(orders::kMaxQuantity));
    }
  }
  return {};
}

Result<void> check_request(const orders::ReserveRequest& request) {
  if (request.order_no.empty() || request.user.empty() || request.request.empty()) {
    return invalid("a reserve request needs an order number, a user and a request id; order '" +
                   request.order_no.str() + "' of user '" + request.user.str() + "' lacks one");
  }
  return check_lines(request.lines, request.order_no);
}

ReserveAnswer answer_known(const KnownRequest& known, const orders::BodyHash& body) {
  if (known.body() != body.str()) return {ReserveOutcome::KeyReused, {}, {}};
  return {ReserveOutcome::Replayed, orders::OrderNo(known.order_no()), {}};
}

}  // namespace

Figures::Figures(std::size_t remembered_requests) : requests_(remembered_requests) {
  requests_.make_room(kExpectedOrders);
  holds_.reserve(kExpectedOrders);
  shares_.reserve(kExpectedOrders);
}

Result<ReserveAnswer> Figures::reserve(const orders::ReserveRequest& request, TimePoint now,
                                       orders::Epoch epoch) {
  if (auto sound = check_request(request); !sound) return sound.error();
  // A repeat is answered before anything that may have changed since: the stock, the window, the limits.
  if (const auto* known = requests_.find(request.user, request.request)) {
    return answer_known(*known, request.body);
  }
  if (const auto* missing = collect(request.lines)) {
    return ReserveAnswer{ReserveOutcome::NotLoaded, {}, *missing};
  }
  constexpr Check kChecks[] = {&Figures::check_window, &Figures::check_limits, &Figures::check_stock};
  for (const auto check : kChecks) {
    for (const auto& wanted : wanted_) {
      if (const auto refusal = (this->*check)(wanted, request.user.str(), now)) {
        return ReserveAnswer{*refusal, {}, wanted.sku->first};
      }
    }
  }
  if (!record_hold(KnownRequest(request.user, request.request, request.body, request.order_no), request.lines,
                   now, epoch)) {
    return Error{ErrorCode::Conflict, "order number " + request.order_no.str() +
                                          " is held for another request; order numbers must be unique"};
  }
  for (const auto& wanted : wanted_) wanted.sku->second.free -= wanted.quantity;
  return ReserveAnswer{ReserveOutcome::Reserved, request.order_no, {}};
}

const orders::Sku* Figures::collect(const std::vector<orders::Line>& lines) {
  wanted_.clear();
  for (const auto& line : lines) {
    const auto found = skus_.find(line.sku);
    if (found == skus_.end()) return &line.sku;
    const auto same = std::find_if(wanted_.begin(), wanted_.end(),
                                   [&](const HeldLine& wanted) { return wanted.sku == &*found; });
    if (same == wanted_.end())
      wanted_.push_back({&*found, line.quantity});
    else
      same->quantity += line.quantity;
  }
  return nullptr;
}

std::optional<ReserveOutcome> Figures::check_window(const HeldLine& wanted, std::string_view,
                                                    TimePoint now) const {
  const auto& terms = wanted.sku->second.terms;
  if (terms.starts_at && now < *terms.starts_at) return ReserveOutcome::NotStarted;
  if (terms.ends_at && now >= *terms.ends_at) return ReserveOutcome::Ended;
  return std::nullopt;
}

std::optional<ReserveOutcome> Figures::check_limits(const HeldLine& wanted, std::string_view user,
                                                    TimePoint) const {
  const auto& terms = wanted.sku->second.terms;
  if (terms.max_per_order && wanted.quantity > *terms.max_per_order) return ReserveOutcome::LimitExceeded;
  if (terms.limit_per_user && share(user, *wanted.sku) + wanted.quantity > *terms.limit_per_user) {
    return ReserveOutcome::LimitExceeded;
  }
  return std::nullopt;
}

std::optional<ReserveOutcome> Figures::check_stock(const HeldLine& wanted, std::string_view,
                                                   TimePoint) const {
  if (wanted.quantity > wanted.sku->second.free) return ReserveOutcome::OutOfStock;
  return std::nullopt;
}

orders::ReleaseOutcome Figures::release(const orders::OrderNo& order_no, orders::ReleaseKind kind) {
  const auto found = holds_.find(order_no.str());
  if (found == holds_.end()) return orders::ReleaseOutcome::NothingHeld;
  const auto& request = *found->second.request;
  for (const auto& line : found->second.lines) {
    line.sku->second.free += line.quantity;
    add_share(request.user(), *line.sku, -line.quantity);
  }
  drop_hold(found);
  if (kind == orders::ReleaseKind::Undone)
    requests_.forget(request);
  else
    requests_.end(request);
  return orders::ReleaseOutcome::Released;
}

orders::ConfirmOutcome Figures::confirm(const orders::OrderNo& order_no) {
  const auto found = holds_.find(order_no.str());
  if (found == holds_.end()) return orders::ConfirmOutcome::NothingHeld;
  const auto& request = *found->second.request;
  drop_hold(found);
  requests_.end(request);
  return orders::ConfirmOutcome::Confirmed;
}

Result<orders::LoadOutcome> Figures::load(const orders::GateSku& sku) {
  const auto known = skus_.find(sku.sku);
  if (known == skus_.end()) {
    if (auto added = install_sku(sku); !added) return added.error();
    return orders::LoadOutcome::Added;
  }
  if (known->second.terms == sku.terms) return orders::LoadOutcome::Unchanged;
  known->second.terms = sku.terms;
  return orders::LoadOutcome::TermsChanged;
}

std::vector<orders::GateHold> Figures::holds(orders::HoldSpan span, std::size_t limit) const {
  std::vector<orders::GateHold> listed;
  for (auto oldest = by_age_.lower_bound(span.from); oldest != by_age_.end(); ++oldest) {
    const auto& [held_at, hold] = *oldest;
    if (held_at >= span.before || listed.size() == limit) break;
    const auto& request = *hold->request;
    orders::GateHold copy{orders::OrderNo(request.order_no()),
                          orders::UserId(request.user()),
                          orders::RequestId(request.request()),
                          orders::BodyHash(request.body()),
                          {},
                          held_at,
                          hold->epoch};
    for (const auto& line : hold->lines) copy.lines.push_back({line.sku->first, line.quantity});
    listed.push_back(std::move(copy));
  }
  return listed;
}

std::vector<orders::SkuSnapshot> Figures::snapshot() const {
  std::vector<orders::SkuSnapshot> all;
  all.reserve(skus_.size());
  for (const auto& [sku, entry] : skus_) all.push_back({sku, entry.free, entry.held, entry.terms});
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.sku < b.sku; });
  return all;
}

std::int64_t Figures::share(std::string_view user, const SkuNode& sku) const {
  const auto found = shares_.find(ShareKey{user, &sku});
  return found == shares_.end() ? 0 : found->second;
}

void Figures::add_share(std::string_view user, const SkuNode& sku, std::int64_t quantity) {
  const auto found = shares_.try_emplace(ShareOwner{std::string(user), &sku}, 0).first;
  found->second += quantity;
  if (found->second == 0) shares_.erase(found);
}

bool Figures::record_hold(KnownRequest request, const std::vector<orders::Line>& lines, TimePoint held_at,
                          orders::Epoch epoch) {
  const auto& known = requests_.add(std::move(request));
  const auto [place, is_new] = holds_.try_emplace(known.order_no(), Hold{&known, {}, epoch, {}});
  if (!is_new) {
    requests_.forget(known);
    return false;
  }
  auto& hold = place->second;
  hold.lines.reserve(lines.size());
  for (const auto& line : lines) {
    auto& sku = *skus_.find(line.sku);
    hold.lines.push_back({&sku, line.quantity});
    sku.second.held += line.quantity;
    add_share(known.user(), sku, line.quantity);
  }
  // Holds come in the order of time but for a stepped clock, so the end is where most belong.
  hold.age = by_age_.emplace_hint(by_age_.end(), held_at, &hold);
  return true;
}

void Figures::drop_hold(std::unordered_map<std::string_view, Hold>::iterator hold) {
  for (const auto& line : hold->second.lines) line.sku->second.held -= line.quantity;
  by_age_.erase(hold->second.age);
  holds_.erase(hold);
}

Result<std::unique_ptr<Figures>> Figures::from_image(const orders::GateImage& image, orders::Epoch epoch,
                                                     std::size_t remembered_requests) {
  auto figures = std::make_unique<Figures>(remembered_requests);
  for (const auto& sku : image.skus) {
    if (auto done = figures->install_sku(sku); !done) return done.error();
  }
  for (const auto& hold : image.holds) {
    if (auto done = figures->install_hold(hold, epoch); !done) return done.error();
  }
  for (const auto& purchase : image.purchases) {
    if (auto done = figures->install_purchase(purchase); !done) return done.error();
  }
  // The image lists the latest first; the book forgets what was entered first.
  for (auto answered = image.answered.rbegin(); answered != image.answered.rend(); ++answered) {
    if (auto done = figures->install_answered(*answered); !done) return done.error();
  }
  return figures;
}

Result<void> Figures::install_sku(const orders::GateSku& sku) {
  if (sku.sku.empty() || sku.free < 0) {
    return invalid("SKU '" + sku.sku.str() + "' comes with " + std::to_string(sku.free) +
                   " free units; a name and zero or more units are needed");
  }
  if (!skus_.emplace(sku.sku, SkuEntry{sku.free, 0, sku.terms}).second) {
    return invalid("SKU " + sku.sku.str() + " is listed twice");
  }
  return {};
}

Result<void> Figures::install_hold(const orders::GateHold& hold, orders::Epoch epoch) {
  if (auto sound = check_lines(hold.lines, hold.order_no); !sound) return sound.error();
  for (const auto& line : hold.lines) {
    if (!skus_.contains(line.sku)) {
      return invalid("order " + hold.order_no.str() + " holds SKU " + line.sku.str() +
                     ", which is not listed");
    }
  }
  const bool recorded = !requests_.find(hold.user, hold.request) &&
                        record_hold(KnownRequest(hold.user, hold.request, hold.body, hold.order_no),
                                    hold.lines, hold.held_at, epoch);
  if (!recorded) return invalid("order " + hold.order_no.str() + " or its request is listed twice");
  return {};
}

Result<void> Figures::install_purchase(const orders::GatePurchase& purchase) {
  const auto sku = skus_.find(purchase.sku);
  if (sku == skus_.end() || purchase.quantity < 1) {
    return invalid("a purchase of " + std::to_string(purchase.quantity) + " of SKU " + purchase.sku.str() +
                   " needs one or more units of a listed SKU");
  }
  add_share(purchase.user.str(), *sku, purchase.quantity);
  return {};
}

Result<void> Figures::install_answered(const orders::GateAnswered& answered) {
  if (requests_.find(answered.user, answered.request)) {
    return invalid("the request of ended order " + answered.order_no.str() + " is listed twice");
  }
  requests_.end(
      requests_.add(KnownRequest(answered.user, answered.request, answered.body, answered.order_no)));
  return {};
}

}  // namespace penstock::stock_memory
