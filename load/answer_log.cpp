#include "load/answer_log.hpp"

#include "penstock/json.hpp"

#include <cerrno>
#include <system_error>

namespace penstock::load {
namespace {

std::string to_json(const LoggedAnswer& answer) {
  return json::Writer{}
      .begin_object()
      .key("atMs")
      .integer(answer.at_ms)
      .key("action")
      .string(to_string(answer.action))
      .key("user")
      .string(answer.user)
      .key("requestId")
      .string(answer.request_id)
      .key("status")
      .integer(answer.status)
      .key("failure")
      .string(to_string(answer.failure))
      .key("code")
      .string(answer.code)
      .key("orderNo")
      .string(answer.order_no)
      .key("orderStatus")
      .string(answer.order_status)
      .key("reason")
      .string(answer.reason)
      .end_object()
      .take();
}

}  // namespace

std::string_view to_string(Action action) {
  switch (action) {
    case Action::Order: return "order";
    case Action::Pay: return "pay";
    case Action::Cancel: return "cancel";
    case Action::Final: return "final";
  }
  return "";
}

AnswerLog::AnswerLog(const std::string& path) {
  if (path.empty()) return;
  file_.reset(std::fopen(path.c_str(), "we"));
  if (!file_) throw std::system_error(errno, std::generic_category(), "cannot write " + path);
}

void AnswerLog::add(LoggedAnswer answer) {
  if (file_) {
    const std::string line = to_json(answer) + "\n";
    std::fwrite(line.data(), 1, line.size(), file_.get());
    std::fflush(file_.get());  // what was logged survives the end of this process
  }
  answers_.push_back(std::move(answer));
}

}  // namespace penstock::load
