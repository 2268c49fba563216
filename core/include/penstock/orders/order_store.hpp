// OrderStore: the database of orders, and the evidence for every promise.
//
// *Accepted* means that an order's rows and its outbox row were committed together. Every move of an
// order is one conditional update on the state it leaves, in one transaction with its stock rows,
// its move record and its outbox row. All instants are set and compared by the database's clock.
//
// Thread rule: thread-safe. Every call blocks for its transactions, up to the store's configured
// time-outs. Batch calls commit once per batch and answer one outcome per item, in order; a batch
// that fails as a whole is redone item by item, so one bad item never fails its neighbours.
//
// Errors of every call: Unavailable (nothing was changed; retry: yes), UnknownOutcome (the connection
// was lost on COMMIT; repeat the same call, which is idempotent by key), Corrupt (an invariant of the
// books is broken; retry: no, someone must look).
#pragma once

#include "penstock/clock.hpp"
#include "penstock/orders/order.hpp"
#include "penstock/result.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::orders {

struct NewOrder {
  OrderNo order_no;
  UserId user;
  RequestId request;
  BodyHash body;
  std::vector<Line> lines;
  std::string trace;  // W3C traceparent of the request, may be empty
};

enum class AcceptOutcome {
  Accepted,    // committed
  Duplicate,   // this user's request was accepted before, as `order_no` (perhaps this very number)
  KeyReused,   // this user's request id was accepted with another body
  Abandoned,   // the number carries a tombstone: it can never become an order
  UnknownSku,  // a line's product is not in the books
};

struct AcceptAnswer {
  AcceptOutcome outcome = AcceptOutcome::Accepted;
  OrderNo order_no;  // of the accepted order; empty when there is none
};

// An outbox row, leased to one publisher.
struct OutboxEvent {
  EventId id;
  std::string type;
  OrderNo order_no;
  std::string body;
  std::string trace;
  std::uint32_t attempts = 0;  // publishes tried before this lease
  Milliseconds due_in{0};      // remaining delay by the database's clock, 0 when due
};

struct OutboxLease {
  LeaseToken token;
  std::vector<OutboxEvent> events;
};

enum class OutboxVerdict { Sent, Retry, Dead };

struct OutboxMark {
  EventId id;
  OutboxVerdict verdict = OutboxVerdict::Sent;
  std::string detail;     // Sent: the transport's evidence; otherwise the reason
  Milliseconds after{0};  // Retry: not leased again before then
};

enum class MarkOutcome {
  Marked,
  LeaseLost,  // the lease ran out and the row is somebody else's: nothing was changed
};

struct LockRequest {
  EventId event;  // consume log: the same event has one effect per consumer
  OrderNo order_no;
};

enum class LockOutcome {
  Locked,          // stock locked; WAITING_PAY with its deadline set
  NoStock,         // not enough in the database: FAILED, release event written
  AlreadyHandled,  // the event was handled before, or the order has moved on; nothing changed
  UnknownOrder,    // no such order
};

struct Payment {
  std::string provider;
  PaymentNo payment_no;
  OrderNo order_no;
  std::int64_t amount_minor = 0;
  std::string currency;
};

enum class PayOutcome {
  Paid,            // sold
  Repeated,        // this very payment was recorded before; nothing changed
  WrongAmount,     // amount or currency differ from the order's; refusal recorded
  NotPayable,      // PROCESSING: not yet payable; nothing changed, pay again
  RefundRequired,  // the order has ended or is paid already: the payment is recorded as to be refunded
  NumberReused,    // the payment number belongs to another order or amount; nothing changed
  UnknownOrder,
};

struct PayAnswer {
  PayOutcome outcome = PayOutcome::UnknownOrder;
  OrderStatus status = OrderStatus::Processing;  // of the order after the call; meaningless for UnknownOrder
};

struct CancelRequest {
  OrderNo order_no;
  UserId user;        // must own the order; empty: the operator may cancel any
  std::string actor;  // recorded: "user", "operator"
};

enum class CancelOutcome {
  Cancelled,
  AlreadyCancelled,
  NotCancellable,  // PAID, FAILED, REFUNDED
  UnknownOrder,    // also for another user's order
};

struct CancelAnswer {
  CancelOutcome outcome = CancelOutcome::UnknownOrder;
  OrderStatus status = OrderStatus::Processing;  // meaningless for UnknownOrder
};

enum class ExpireOutcome {
  Expired,       // was WAITING_PAY past its deadline; CANCELLED with reason TIMEOUT
  NotDue,        // `span` remains
  AlreadyEnded,  // paid, cancelled, failed
  NotWaiting,    // PROCESSING: it has no deadline yet
  UnknownOrder,
};

struct ExpireAnswer {
  ExpireOutcome outcome = ExpireOutcome::UnknownOrder;
  Milliseconds span{0};  // Expired: how long after the deadline; NotDue: how long before it
};

enum class AbandonOutcome {
  Abandoned,  // no such order existed; a tombstone now keeps it from ever existing
  Exists,     // the order was accepted: leave its hold alone
};

// Keeps a wake-up registered. Destroying it guarantees that no call is running or will follow.
class OutboxWatch {
 public:
  virtual ~OutboxWatch() = default;
};

class OrderStore {
 public:
  static constexpr std::string_view kServiceName = "order_store";
  virtual ~OrderStore() = default;

  virtual std::vector<Result<AcceptAnswer>> accept(std::span<const NewOrder> orders) = 0;

  // Effect: gives up to `max` due rows (NEW, RETRY whose time has come, LEASED whose lease ran out)
  // to this caller until `lease` is over. Rows leased to others are skipped, not waited for.
  virtual Result<OutboxLease> lease_outbox(std::size_t max, Milliseconds lease) = 0;
  virtual Result<std::vector<MarkOutcome>> mark_outbox(const LeaseToken& token,
                                                       std::span<const OutboxMark> marks) = 0;
  // Calls `wake` after each commit of this process that wrote outbox rows. `wake` must not block.
  [[nodiscard]] virtual std::unique_ptr<OutboxWatch> watch_outbox(std::function<void()> wake) = 0;

  virtual std::vector<Result<LockOutcome>> lock_stock(std::span<const LockRequest> requests) = 0;
  virtual std::vector<Result<PayAnswer>> pay(std::span<const Payment> payments) = 0;
  virtual std::vector<Result<CancelAnswer>> cancel(std::span<const CancelRequest> requests) = 0;
  virtual std::vector<Result<ExpireAnswer>> expire(std::span<const OrderNo> orders) = 0;
  // Orders whose pay deadline has passed, longest overdue first, at most `limit`.
  virtual Result<std::vector<OrderNo>> overdue(std::size_t limit) = 0;
  // For holds whose order is nowhere to be found. Never call it for a number whose accept may still
  // be running: that accept then answers Abandoned.
  virtual std::vector<Result<AbandonOutcome>> abandon(std::span<const OrderNo> orders) = 0;

  // One entry per number, in order; none where there is no such order. Tombstones are not orders.
  virtual Result<std::vector<std::optional<Order>>> find(std::span<const OrderNo> orders) = 0;
  // Moves of these orders after `sequence`, in sequence.
  virtual Result<std::vector<OrderMove>> moves_after(std::span<const OrderNo> orders,
                                                     std::int64_t sequence) = 0;
  // The database's clock.
  virtual Result<TimePoint> now() = 0;
};

}  // namespace penstock::orders
