// Transaction: what a unit of work may do with its session. Only Database makes one.
#pragma once

#include "sql/dialect.hpp"
#include "sql/statement.hpp"

#include <array>

namespace penstock::sql {

class Session;

class Transaction {
 public:
  Transaction(Session& session, const Dialect& dialect) : session_(session), dialect_(dialect) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  const Dialect& dialect() const { return dialect_; }

  // Effect: one statement; returns the rows it changed. Throws Failure.
  template <class... Parameters>
  std::size_t execute(std::string_view text, Parameters&&... parameters) {
    std::array<Parameter, sizeof...(Parameters)> bound{Parameter(std::forward<Parameters>(parameters))...};
    return run(text, bound, {});
  }

  // Effect: one SELECT; all its rows, one tuple each. Throws Failure.
  //   for (auto& [sku, price] : tx.query<std::string, std::int64_t>("SELECT …", rows)) …
  template <ColumnType... Types, class... Parameters>
  std::vector<std::tuple<Types...>> query(std::string_view text, Parameters&&... parameters) {
    std::array<Parameter, sizeof...(Parameters)> bound{Parameter(std::forward<Parameters>(parameters))...};
    std::array<Column, sizeof...(Types)> columns{std::vector<Types>{}...};
    run(text, bound, columns);
    return zip<Types...>(std::span<Column>(columns), std::index_sequence_for<Types...>{});
  }

 private:
  std::size_t run(std::string_view text, std::span<Parameter> parameters, std::span<Column> columns);

  Session& session_;
  const Dialect& dialect_;
};

}  // namespace penstock::sql
