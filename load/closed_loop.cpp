#include "load/closed_loop.hpp"

namespace penstock::load {
namespace {

constexpr Milliseconds kAfterFailure{50};  // a server that is away must not make the tool spin

class Run {
 public:
  Run(const ClosedLoopSettings& settings, const NextRequest& next,
      const std::function<void(bool)>& on_counting)
      : settings_(settings), next_(next), on_counting_(on_counting), loop_(settings.target) {
    for (std::size_t i = 0; i < settings.connections; ++i) {
      clients_.push_back(std::make_unique<Client>(loop_, settings.limit));
    }
  }

  ClosedLoopResult go() {
    for (std::size_t i = 0; i < clients_.size(); ++i) ask(i);
    loop_.after(settings_.warm_up, [this] { begin(); });
    loop_.run();
    return std::move(result_);
  }

 private:
  void begin() {
    on_counting_(false);
    began_ = std::chrono::steady_clock::now();
    counting_ = true;
    loop_.after(settings_.duration, [this] {
      counting_ = false;
      result_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
      on_counting_(true);
      loop_.stop();
    });
  }

  void ask(std::size_t index) {
    clients_[index]->send(next_(index), [this, index](const Answer& answer) { answered(index, answer); });
  }

  void answered(std::size_t index, const Answer& answer) {
    if (counting_) {
      ++result_.by_status[answer.status];
      result_.latency.add(answer.latency);
    }
    if (answer.failure == Failure::None) return ask(index);
    loop_.after(kAfterFailure, [this, index] { ask(index); });
  }

  const ClosedLoopSettings& settings_;
  const NextRequest& next_;
  const std::function<void(bool)>& on_counting_;
  Loop loop_;
  std::vector<std::unique_ptr<Client>> clients_;
  ClosedLoopResult result_;
  TimePoint began_{};
  bool counting_ = false;
};

}  // namespace

ClosedLoopResult run_closed_loop(const ClosedLoopSettings& settings, const NextRequest& next,
                                 const std::function<void(bool over)>& on_counting) {
  return Run(settings, next, on_counting).go();
}

}  // namespace penstock::load
