// How a batch becomes transactions, and how repeats within a batch keep their order.
#pragma once

#include "penstock/result.hpp"

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace penstock::order_store_sql {

// Runs `work` once for the whole batch; `work` is one transaction and answers one outcome per item.
// A batch that fails because of one of its items (a defect, a broken invariant) is redone item by item.
// One that fails because of the database is not: every item would meet the same trouble, each after
// its own time-out.
template <class Answer, class Item, class Work>
std::vector<Result<Answer>> run_batch(std::span<const Item> items, const Work& work) {
  if (items.empty()) return {};
  Result<std::vector<Result<Answer>>> whole = work(items);
  if (whole.ok()) return std::move(*whole);
  std::vector<Result<Answer>> answers;
  answers.reserve(items.size());
  const bool redo = items.size() > 1 && whole.error().retry() == Retry::No;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!redo) {
      answers.emplace_back(whole.error());
      continue;
    }
    Result<std::vector<Result<Answer>>> single = work(items.subspan(i, 1));
    answers.push_back(single.ok() ? std::move(single->front()) : Result<Answer>(single.error()));
  }
  return answers;
}

// Splits a batch into rounds in which no key occurs twice, keeping the order of each key's items. Each
// round sees what the rounds before it wrote, so a repeat within a batch meets the same rows as a
// repeat in a later batch would. Almost always there is one round.
class Rounds {
 public:
  // Adds the next item with all its keys.
  void add(std::initializer_list<std::string> keys) {
    std::size_t round = 0;
    for (const auto& key : keys) round = std::max(round, next_round_[key]);
    for (const auto& key : keys) next_round_[key] = round + 1;
    if (rounds_.size() <= round) rounds_.resize(round + 1);
    rounds_[round].push_back(items_++);
  }

  const std::vector<std::vector<std::size_t>>& positions() const { return rounds_; }

 private:
  std::unordered_map<std::string, std::size_t> next_round_;
  std::vector<std::vector<std::size_t>> rounds_;
  std::size_t items_ = 0;
};

// One answer per item, filled in round by round.
template <class Answer>
class Answers {
 public:
  explicit Answers(std::size_t items) : answers_(items, Answer{}) {}
  void set(std::size_t item, Result<Answer> answer) { answers_[item] = std::move(answer); }
  std::vector<Result<Answer>> take() { return std::move(answers_); }

 private:
  std::vector<Result<Answer>> answers_;
};

}  // namespace penstock::order_store_sql
