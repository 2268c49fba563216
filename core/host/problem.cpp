#include "host/problem.hpp"

#include "host/escape.hpp"

#include "penstock/json.hpp"

namespace penstock::host {

std::string to_text(const Problem& problem) {
  std::string text = printable(problem.place) + ": " + printable(problem.subject);
  // The other parts were composed by us; what came from outside was quoted where it was put in.
  text += ": found " + problem.found + "; needed " + problem.needed;
  if (!problem.next.empty()) text += "; next: " + problem.next;
  return text;
}

std::string to_json(const Problems& problems) {
  json::Writer writer;
  writer.begin_object().key("problems").begin_array();
  for (const auto& problem : problems) {
    writer.begin_object();
    writer.key("place").string(valid_utf8(problem.place));
    writer.key("subject").string(valid_utf8(problem.subject));
    writer.key("found").string(valid_utf8(problem.found));
    writer.key("needed").string(valid_utf8(problem.needed));
    writer.key("next").string(valid_utf8(problem.next));
    writer.end_object();
  }
  return writer.end_array().end_object().take();
}

std::string quoted(std::string_view text) {
  return '"' + escaped(shortened(text, kMaxQuoted)) + '"';
}

std::string joined(const std::vector<std::string>& names) {
  if (names.empty()) return "none";
  std::string text;
  for (const auto& name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

}  // namespace penstock::host
