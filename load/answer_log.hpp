// The client's own record of what it was told: the evidence that the books are held against after a
// fault. Kept in memory; written as one JSON object per line when a file is named.
#pragma once

#include "load/http_loop.hpp"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace penstock::load {

enum class Action { Order, Pay, Cancel, Final };  // Final: a state that was read, not an answer to a wish
std::string_view to_string(Action action);

struct LoggedAnswer {
  std::int64_t at_ms = 0;  // since the sale began
  Action action = Action::Order;
  std::string user;
  std::string request_id;
  int status = 0;  // 0: no answer, see failure
  Failure failure = Failure::None;
  std::string code;  // of a refusal
  std::string order_no;
  std::string order_status;  // what the answer said of the order
  std::string reason;
};

class AnswerLog {
 public:
  // `path` may be empty. Throws std::system_error when the file cannot be made.
  explicit AnswerLog(const std::string& path);

  void add(LoggedAnswer answer);
  const std::vector<LoggedAnswer>& answers() const { return answers_; }

 private:
  std::vector<LoggedAnswer> answers_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, &std::fclose};
};

}  // namespace penstock::load
