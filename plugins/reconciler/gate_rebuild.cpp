#include "reconciler/gate_rebuild.hpp"

#include "penstock/fail_point.hpp"

#include <utility>

namespace penstock::reconciler {

GateRebuild::GateRebuild(GateRebuildSettings settings, orders::StockBooks& books, orders::StockGate& gate,
                         Logger& logger)
    : settings_(settings), books_(books), gate_(gate), logger_(logger) {}

Result<Milliseconds> GateRebuild::step() {
  if (!begun_) {
    auto epoch = gate_.begin_rebuild();
    if (!epoch) return epoch.error();
    begun_ = *epoch;
    if (was_open_ && settings_.settle.count() > 0) return settings_.settle;
  }
  if (auto installed = install(); !installed) return installed.error();
  return Milliseconds(0);
}

Result<void> GateRebuild::install() {
  const auto image = books_.gate_image(settings_.remembered_requests);
  if (!image) return image.error();
  if (auto armed = fail_point::hit("reconciler.mid_rebuild"); !armed) return armed;
  // Whatever this comes to, a next try begins anew: a later rebuild may have overtaken this one.
  const auto epoch = *std::exchange(begun_, std::nullopt);
  if (auto finished = gate_.finish_rebuild(epoch, *image); !finished) return finished;
  logger_.info("gate_rebuilt",
               {{"epoch", epoch}, {"skus", image->skus.size()}, {"holds", image->holds.size()}});
  return {};
}

}  // namespace penstock::reconciler
