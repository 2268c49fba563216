#include "order_store_sql/stock_loading.hpp"

#include "sql/json_rows.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace penstock::order_store_sql {

using namespace orders;
using sql::RowType;

namespace {

constexpr std::size_t kMaxNameBytes = 200;
constexpr std::int64_t kMaxUnits = 1'000'000'000'000;  // of one row: sums over warehouses stay far from 2^63

std::optional<TimePoint> instant(const std::optional<std::int64_t>& epoch_ms) {
  if (!epoch_ms) return std::nullopt;
  return TimePoint(Milliseconds(*epoch_ms));
}

std::optional<std::int64_t> epoch_ms(const std::optional<TimePoint>& instant) {
  if (!instant) return std::nullopt;
  return instant->time_since_epoch().count();
}

bool is_currency(const std::string& text) {
  return text.size() == 3 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

std::string out_of_range(const char* field, std::int64_t found, std::int64_t least, std::int64_t most) {
  if (found >= least && found <= most) return "";
  return std::string(field) + ": found " + std::to_string(found) + ", allowed " + std::to_string(least) +
         " to " + std::to_string(most);
}

std::string problem_of_terms(const SaleTerms& terms) {
  if (terms.starts_at && terms.ends_at && *terms.starts_at >= *terms.ends_at) {
    return "the sale's end must lie after its start";
  }
  if (terms.limit_per_user && *terms.limit_per_user < 1) return "the limit per user must be at least 1";
  if (terms.max_per_order && *terms.max_per_order < 1) return "the units per order must be at least 1";
  return "";
}

// The first thing wrong with one row by itself; empty when nothing is.
std::string problem_of(const StockRow& row) {
  if (!is_valid_id(row.sku.str())) return "the product id must be 1 to 64 of A-Z a-z 0-9 . _ - :";
  if (!is_valid_id(row.warehouse.str())) return "the warehouse must be 1 to 64 of A-Z a-z 0-9 . _ - :";
  if (row.name.empty() || row.name.size() > kMaxNameBytes) {
    return "the name must be 1 to " + std::to_string(kMaxNameBytes) + " bytes, found " +
           std::to_string(row.name.size());
  }
  if (!is_currency(row.currency)) return "the currency must be three letters A-Z (ISO 4217)";
  for (const auto& problem : {out_of_range("quantity", row.quantity, 0, kMaxUnits),
                              out_of_range("price", row.price_minor, 0, kMaxPriceMinor)}) {
    if (!problem.empty()) return problem;
  }
  if (row.pay_within <= Milliseconds(0)) return "the time to pay must be more than 0";
  return problem_of_terms(row.terms);
}

Product product_of(const StockRow& row) {
  return {row.sku, row.name, row.price_minor, row.currency, row.terms, row.pay_within};
}

bool same(const Product& a, const Product& b) {
  return a.name == b.name && a.price_minor == b.price_minor && a.currency == b.currency &&
         a.terms == b.terms && a.pay_within == b.pay_within;
}

// Rows that are wrong by themselves, or contradict an earlier row of the same file.
std::vector<StockRowProblem> problems_within(std::span<const StockRow> rows) {
  std::vector<StockRowProblem> problems;
  std::map<Sku, const StockRow*> first_of;
  std::map<std::pair<Sku, WarehouseId>, int> line_of;
  for (const auto& row : rows) {
    if (auto problem = problem_of(row); !problem.empty()) {
      problems.push_back({row.line, std::move(problem)});
      continue;
    }
    const auto [first, is_first] = first_of.emplace(row.sku, &row);
    if (!is_first && !same(product_of(row), product_of(*first->second))) {
      problems.push_back({row.line, "product " + row.sku.str() +
                                        ": name, price, currency, terms and time to pay differ "
                                        "from line " +
                                        std::to_string(first->second->line)});
    }
    const auto [place, is_new] = line_of.emplace(std::pair{row.sku, row.warehouse}, row.line);
    if (!is_new) {
      problems.push_back({row.line, "product " + row.sku.str() + " in warehouse " + row.warehouse.str() +
                                        " stands already in line " + std::to_string(place->second)});
    }
  }
  return problems;
}

std::string campaign_rows(const sql::Dialect& d) {
  return d.rows({{"sku"},
                 {"title"},
                 {"price", RowType::Integer},
                 {"cur"},
                 {"start_ms", RowType::Integer},
                 {"end_ms", RowType::Integer},
                 {"per_user", RowType::Integer},
                 {"per_order", RowType::Integer},
                 {"pay_ms", RowType::Integer}});
}

void add_row(sql::JsonRows& rows, const Product& p) {
  rows.add(p.sku, p.name, p.price_minor, p.currency, epoch_ms(p.terms.starts_at), epoch_ms(p.terms.ends_at),
           p.terms.limit_per_user, p.terms.max_per_order, p.pay_within.count());
}

}  // namespace

struct StockLoading::Plan {
  std::vector<Product> new_products;
  std::vector<Product> changed_products;
  std::vector<const StockRow*> new_stock;
  LoadReport report;
};

StockLoading::StockLoading(sql::Database& database)
    : database_(database),
      products_("SELECT r.i, c.name, c.price_minor, c.currency, " +
                database.dialect().epoch_ms("c.starts_at") + ", " + database.dialect().epoch_ms("c.ends_at") +
                ", c.limit_per_user, c.max_per_order, c.pay_within_ms FROM " +
                database.dialect().rows({{"sku"}}) + " CROSS JOIN campaign c ON c.product_id = r.sku"),
      stock_("SELECT r.i, s.initial FROM " + database.dialect().rows({{"sku"}, {"warehouse"}}) +
             " CROSS JOIN stock s ON s.product_id = r.sku AND s.warehouse_id = r.warehouse"),
      insert_campaign_(
          "INSERT INTO campaign(product_id, name, price_minor, currency, starts_at, ends_at, "
          "limit_per_user, max_per_order, pay_within_ms, created_at, updated_at) SELECT r.sku, r.title, "
          "r.price, r.cur, " +
          database.dialect().instant("r.start_ms") + ", " + database.dialect().instant("r.end_ms") +
          ", r.per_user, r.per_order, r.pay_ms, " + database.dialect().now() + ", " +
          database.dialect().now() + " FROM " + campaign_rows(database.dialect())),
      update_campaign_(
          database.dialect().update_from("campaign",
                                         {{"name", "r.title"},
                                          {"price_minor", "r.price"},
                                          {"currency", "r.cur"},
                                          {"starts_at", database.dialect().instant("r.start_ms")},
                                          {"ends_at", database.dialect().instant("r.end_ms")},
                                          {"limit_per_user", "r.per_user"},
                                          {"max_per_order", "r.per_order"},
                                          {"pay_within_ms", "r.pay_ms"},
                                          {"updated_at", database.dialect().now()}},
                                         campaign_rows(database.dialect()), "campaign.product_id = r.sku")),
      insert_stock_(
          "INSERT INTO stock(product_id, warehouse_id, initial, available, created_at, updated_at) SELECT "
          "r.sku, r.warehouse, r.units, r.units, " +
          database.dialect().now() + ", " + database.dialect().now() + " FROM " +
          database.dialect().rows({{"sku"}, {"warehouse"}, {"units", RowType::Integer}})) {}

Result<LoadReport> StockLoading::load(std::span<const StockRow> rows, LoadMode mode) {
  auto problems = problems_within(rows);
  if (!problems.empty()) return LoadReport{0, 0, 0, std::move(problems)};
  const auto work = [&](sql::Transaction& tx) -> Result<LoadReport> {
    auto planned = plan(tx, rows);
    if (mode == LoadMode::Apply && planned.report.problems.empty()) apply(tx, planned);
    return std::move(planned.report);
  };
  return mode == LoadMode::Apply ? database_.write(work) : database_.read(work);
}

StockLoading::Plan StockLoading::plan(sql::Transaction& tx, std::span<const StockRow> rows) const {
  Plan planned;
  plan_products(tx, rows, planned);
  plan_stock(tx, rows, planned);
  if (!planned.report.problems.empty()) planned.report = {0, 0, 0, std::move(planned.report.problems)};
  return planned;
}

void StockLoading::plan_products(sql::Transaction& tx, std::span<const StockRow> rows, Plan& plan) const {
  std::map<Sku, Product> wanted;
  for (const auto& row : rows) wanted.emplace(row.sku, product_of(row));
  std::vector<Sku> skus;
  for (const auto& [sku, product] : wanted) skus.push_back(sku);
  const auto known = products(tx, skus);
  for (std::size_t i = 0; i < skus.size(); ++i) {
    const auto& product = wanted.at(skus[i]);
    if (!known[i])
      plan.new_products.push_back(product);
    else if (!same(product, *known[i]))
      plan.changed_products.push_back(product);
  }
  plan.report.changed = plan.changed_products.size();
}

void StockLoading::plan_stock(sql::Transaction& tx, std::span<const StockRow> rows, Plan& plan) const {
  sql::JsonRows json;
  for (const auto& row : rows) json.add(row.sku, row.warehouse);
  std::vector<std::optional<std::int64_t>> initial(rows.size());
  for (const auto& [i, units] : tx.query<std::int64_t, std::int64_t>(stock_, json.take())) {
    initial[static_cast<std::size_t>(i)] = units;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!initial[i])
      plan.new_stock.push_back(&rows[i]);
    else if (*initial[i] == rows[i].quantity)
      ++plan.report.unchanged;
    else {
      plan.report.problems.push_back(
          {rows[i].line, "product " + rows[i].sku.str() + " in warehouse " + rows[i].warehouse.str() +
                             " was loaded with " + std::to_string(*initial[i]) + " units, found " +
                             std::to_string(rows[i].quantity) +
                             "; a loaded quantity is changed by an adjustment only"});
    }
  }
  plan.report.added = plan.new_stock.size();
}

void StockLoading::apply(sql::Transaction& tx, const Plan& plan) const {
  const auto write_products = [&](const std::string& statement, const std::vector<Product>& products) {
    if (products.empty()) return;
    sql::JsonRows rows;
    for (const auto& product : products) add_row(rows, product);
    tx.execute(statement, rows.take());
  };
  write_products(insert_campaign_, plan.new_products);
  write_products(update_campaign_, plan.changed_products);
  if (plan.new_stock.empty()) return;
  sql::JsonRows rows;
  for (const auto* row : plan.new_stock) rows.add(row->sku, row->warehouse, row->quantity);
  tx.execute(insert_stock_, rows.take());
}

std::vector<std::optional<Product>> StockLoading::products(sql::Transaction& tx,
                                                           std::span<const Sku> skus) const {
  using Optional = std::optional<std::int64_t>;
  sql::JsonRows rows;
  for (const auto& sku : skus) rows.add(sku);
  std::vector<std::optional<Product>> products(skus.size());
  for (auto& [i, name, price, currency, starts, ends, per_user, per_order, pay_within] :
       tx.query<std::int64_t, std::string, std::int64_t, std::string, Optional, Optional, Optional, Optional,
                std::int64_t>(products_, rows.take())) {
    const auto place = static_cast<std::size_t>(i);
    products[place] = Product{skus[place],
                              std::move(name),
                              price,
                              std::move(currency),
                              {instant(starts), instant(ends), per_user, per_order},
                              Milliseconds(pay_within)};
  }
  return products;
}

}  // namespace penstock::order_store_sql
