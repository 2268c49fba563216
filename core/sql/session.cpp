#include "sql/session.hpp"

#include <Poco/Data/Session.h>
#include <Poco/Data/Statement.h>
#include <Poco/Exception.h>
#include <Poco/Nullable.h>

#include <list>

namespace penstock::sql {
namespace {

using namespace Poco::Data::Keywords;

std::size_t login_seconds(const Settings& settings) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(settings.busy_wait.count() / 1000));
}

void bind_all(Poco::Data::Statement& statement, std::span<Parameter> parameters) {
  for (auto& parameter : parameters) {
    std::visit([&](auto& value) { statement, use(value); }, parameter.value());
  }
}

// Receives one column. Optional values come as Poco's Nullable and are turned round after the run.
class Receiver {
 public:
  explicit Receiver(Column& column) : column_(column) {}

  void attach(Poco::Data::Statement& statement) {
    std::visit([&](auto& values) { attach_to(statement, values); }, column_);
  }
  void finish() {
    if (auto* values = std::get_if<OptionalIntegers>(&column_)) turn(integers_, *values);
    if (auto* values = std::get_if<OptionalTexts>(&column_)) turn(texts_, *values);
  }

 private:
  void attach_to(Poco::Data::Statement& statement, Integers& values) { statement, into(values); }
  void attach_to(Poco::Data::Statement& statement, Texts& values) { statement, into(values); }
  void attach_to(Poco::Data::Statement& statement, OptionalIntegers&) { statement, into(integers_); }
  void attach_to(Poco::Data::Statement& statement, OptionalTexts&) { statement, into(texts_); }

  template <class T>
  static void turn(std::vector<Poco::Nullable<T>>& from, std::vector<std::optional<T>>& to) {
    to.reserve(from.size());
    for (auto& value : from) {
      if (value.isNull())
        to.emplace_back();
      else
        to.emplace_back(std::move(value.value()));
    }
  }

  Column& column_;
  std::vector<Poco::Nullable<std::int64_t>> integers_;
  std::vector<Poco::Nullable<std::string>> texts_;
};

std::string first_words(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return std::string(text.substr(0, kShown)) + (text.size() > kShown ? "…" : "");
}

}  // namespace

struct Session::Connection {
  Connection(const Dialect& dialect, const Settings& settings)
      : session(dialect.connector(), dialect.connection_string(settings), login_seconds(settings)) {}
  Poco::Data::Session session;
};

Session::Session(const Dialect& dialect, const Settings& settings) : dialect_(dialect) {
  dialect.register_connector();
  try {
    connection_ = std::make_unique<Connection>(dialect, settings);
  } catch (const Poco::Exception& e) {
    fail(e, dialect.database_key(settings));
  }
  for (const auto& statement : dialect.session_setup(settings)) run(statement, {}, {});
}

Session::~Session() = default;

std::size_t Session::run(std::string_view text, std::span<Parameter> parameters, std::span<Column> columns) {
  try {
    Poco::Data::Statement statement(connection_->session);
    statement << std::string(text);
    bind_all(statement, parameters);
    std::list<Receiver> receivers;
    for (auto& column : columns) receivers.emplace_back(column).attach(statement);
    const std::size_t count = statement.execute();
    for (auto& receiver : receivers) receiver.finish();
    return count;
  } catch (const Poco::Exception& e) {
    fail(e, text);
  }
}

void Session::begin(std::string_view statement) {
  run(statement, {}, {});
  in_transaction_ = true;
}

void Session::commit() {
  run("COMMIT", {}, {});
  in_transaction_ = false;
}

void Session::rollback() {
  if (!in_transaction_) return;
  in_transaction_ = false;
  try {
    run("ROLLBACK", {}, {});
  } catch (const Failure&) {
    // The engine may have rolled back by itself (a full disk does that). Whichever it was, a fresh
    // session starts from a known state.
    broken_ = true;
  }
}

void Session::fail(const std::exception& exception, std::string_view text) {
  const auto& poco = static_cast<const Poco::Exception&>(exception);
  const auto kind = dialect_.classify(poco);
  if (kind == FailureKind::Lost || kind == FailureKind::Damaged || kind == FailureKind::ReadOnly)
    broken_ = true;
  throw Failure(kind, poco.displayText() + " at '" + first_words(text) + "'");
}

}  // namespace penstock::sql
