#include "reconciler/reconciler.hpp"

namespace penstock::reconciler {

Reconciler::Reconciler(ReconcilerSettings settings, Context& context, orders::OrderStore& store,
                       orders::StockBooks& books, orders::StockGate& gate)
    : settings_(settings),
      books_(books),
      gate_(gate),
      probe_(context.health().probe("reconciler")),
      rebuild_(settings.rebuild, books, gate, context.logger()),
      settler_(settings.settler, context, store, gate),
      comparison_(context) {}

Result<Milliseconds> Reconciler::step() {
  if (!within_pass_) {
    const auto snapshot = gate_.snapshot();
    if (!snapshot) {
      return snapshot.error().code == ErrorCode::NotLoaded ? rebuild()
                                                           : Result<Milliseconds>(snapshot.error());
    }
    rebuild_.gate_is_open();
    probe_->ready();
    if (auto compared = load_and_compare(*snapshot); !compared) return compared.error();
  }
  const auto more = settler_.step();
  within_pass_ = more.ok() && *more;
  if (!more) return more.error();
  return within_pass_ ? Milliseconds(0) : settings_.interval;
}

Result<Milliseconds> Reconciler::rebuild() {
  comparison_.forget();
  auto next = rebuild_.step();
  if (!next)
    probe_->not_ready("the gate is closed, its rebuild failed: " + next.error().message);
  else if (next->count() > 0)
    probe_->not_ready("the gate is closed and being rebuilt");
  return next;
}

Result<void> Reconciler::load_and_compare(std::span<const orders::SkuSnapshot> snapshot) {
  const auto books = books_.gate_skus();
  if (!books) return books.error();
  comparison_.compare(snapshot, *books);
  const auto missing = missing_at_gate(snapshot, *books);
  if (missing.empty()) return {};
  for (const auto& loaded : gate_.load(missing)) {
    if (!loaded) return loaded.error();
  }
  return {};
}

}  // namespace penstock::reconciler
