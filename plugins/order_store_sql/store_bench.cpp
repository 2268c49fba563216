// What the store's two hot operations cost here: orders per second and CPU per order, by batch size.
//
//   order_store_bench [FOLDER]    writes its database below FOLDER (default: the temporary folder)
#include "order_store_sql/sql_order_store.hpp"
#include "order_store_sql/sql_stock_books.hpp"
#include "penstock/orders/events.hpp"
#include "penstock/testkit/fake_context.hpp"
#include "sql/migrator.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>

namespace {

using namespace penstock;
using namespace penstock::orders;
using namespace penstock::order_store_sql;

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

NewOrder order(int number) {
  char text[32];
  std::snprintf(text, sizeof text, "01HZY3Q7P0%016d", number);
  const std::string user = "user-" + std::to_string(number * 7919 % 1'000'003);
  return {OrderNo(text),
          UserId(user),
          RequestId("request-" + std::to_string(number)),
          BodyHash("0123456789abcdef0123456789abcdef"),
          {{Sku("9007199254740993"), 1}},
          "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"};
}

// Calls `step` with the first number of each batch until all are done, and prints what that cost.
void measure(const char* what, int total, int batch, const std::function<void(int first)>& step) {
  const auto begin = std::chrono::steady_clock::now();
  const double cpu = cpu_seconds();
  for (int first = 0; first < total; first += batch) step(first);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  std::printf("%-12s batch %4d  %8.0f orders/s  %6.1f us CPU per order\n", what, batch, total / wall.count(),
              1e6 * (cpu_seconds() - cpu) / total);
}

int run(const std::filesystem::path& folder) {
  testkit::SeededRandom random(1);
  const auto database = sql::Database::open({.path = folder / "bench.db"}).value();
  sql::Migrator schema(*database, PENSTOCK_SCHEMA_DIR);
  if (const auto status = schema.migrate(); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    return 1;
  }
  SqlOrderStore store(*database, random);
  SqlStockBooks books(*database);
  const StockRow row{1,  Sku("9007199254740993"), "Bench", WarehouseId("W1"), 10'000'000, 1999, "EUR",
                     {}, std::chrono::hours(1)};
  static_cast<void>(books.load({&row, 1}, LoadMode::Apply));

  int next = 0;
  int refused = 0;
  for (const auto& [batch, total] : {std::pair{1, 500}, {100, 20'000}, {500, 50'000}}) {
    const int base = next;
    measure("accept", total, batch, [&](int first) {
      std::vector<NewOrder> orders;
      for (int i = first; i < first + batch; ++i) orders.push_back(order(base + i));
      for (const auto& answer : store.accept(orders))
        refused += !answer.ok() || answer->outcome != AcceptOutcome::Accepted;
    });
    next += total;
  }
  int locked = 0;
  for (const auto& [batch, total] : {std::pair{1, 500}, {500, 50'000}}) {
    const int base = locked;
    measure("lock_stock", total, batch, [&](int first) {
      std::vector<LockRequest> requests;
      for (int i = first; i < first + batch; ++i) {
        const auto number = order(base + i).order_no;
        requests.push_back({event_id(kOrderCreated, number), number});
      }
      for (const auto& answer : store.lock_stock(requests))
        refused += !answer.ok() || *answer != LockOutcome::Locked;
    });
    locked += total;
  }
  int sent = 0;
  measure("outbox", 50'000, 500, [&](int) {
    const auto lease = store.lease_outbox(500, std::chrono::minutes(1));
    std::vector<OutboxMark> marks;
    for (const auto& event : lease->events) marks.push_back({event.id, OutboxVerdict::Sent, "bench", {}});
    sent += static_cast<int>(store.mark_outbox(lease->token, marks)->size());
  });
  const auto begin = std::chrono::steady_clock::now();
  const auto audit = books.books();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  std::printf("audit of %d orders: %.2f s, %zu differences; %d calls refused; %d events sent\n", next,
              wall.count(), audit.ok() ? audit->differences.size() : 0, refused, sent);
  if (!audit.ok()) std::fprintf(stderr, "%s\n", audit.error().message.c_str());
  return refused == 0 && audit.ok() && audit->differences.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path parent = argc > 1 ? argv[1] : std::filesystem::temp_directory_path();
  const auto folder = parent / ("order_store_bench." + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const int status = run(folder);
  std::filesystem::remove_all(folder);
  return status;
}
