// Turns an HttpResponse into the bytes of an HTTP/1.1 answer.
#pragma once

#include "penstock/http.hpp"

#include <string>
#include <string_view>

namespace penstock::host::http {

struct Framing {
  std::string_view date_header;  // a whole line
  bool close;                    // says `Connection: close`
  bool head_only;                // leaves the body out, as the answer to HEAD
};

// False, and nothing written, when a header of the response cannot be sent: not visible ASCII, or one
// that frames the message and so is the server's own.
bool append_response(const HttpResponse& response, const Framing& framing, std::string& out);

void append_stream_head(std::string_view date_header, std::string& out);

// One event (https://html.spec.whatwg.org/multipage/server-sent-events.html). `id` and `event` lose their
// control characters; each line of `data` becomes a line.
std::string format_event(std::string_view id, std::string_view event, std::string_view data);

}  // namespace penstock::host::http
