#include "penstock/json.hpp"

#include <Poco/Exception.h>
#include <Poco/JSON/Handler.h>
#include <Poco/JSON/ParserImpl.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>

namespace penstock::json {
namespace {

struct Refused {
  std::string why;
};

// Builds our values from Poco's parser events. Poco's own handler keeps the last of two equal keys
// and hides it; this one refuses.
class Builder : public Poco::JSON::Handler {
 public:
  Value take() { return std::move(root_); }

  void reset() override { open_.clear(); }
  void startObject() override { open(Object{}); }
  void endObject() override { close(); }
  void startArray() override { open(Array{}); }
  void endArray() override { close(); }

  void key(const std::string& name) override {
    auto& level = open_.back();
    const auto& members = std::get<Object>(level.data);
    if (std::any_of(members.begin(), members.end(), [&](const Member& m) { return m.first == name; })) {
      throw Refused{"the key " + quote(name) + " stands twice in one object"};
    }
    level.key = name;
  }

  void null() override { add(Value(nullptr)); }
  void value(int v) override { add(Value(std::int64_t{v})); }
  void value(unsigned v) override { add(Value(std::int64_t{v})); }
  void value(Poco::Int64 v) override { add(Value(std::int64_t{v})); }
  void value(Poco::UInt64 v) override { add(Value(std::uint64_t{v})); }
  void value(const std::string& v) override { add(Value(std::string(v))); }
  void value(bool v) override { add(Value(v)); }
  void value(double v) override {
    if (!std::isfinite(v)) throw Refused{"a number is too large"};
    add(Value(v));
  }

 private:
  struct Level {
    Value::Data data;
    std::string key;  // of the member being read, in an object
  };

  void open(Value::Data container) {
    if (open_.size() >= static_cast<std::size_t>(kMaxDepth)) {
      throw Refused{"nested deeper than " + std::to_string(kMaxDepth) + " levels"};
    }
    open_.push_back({std::move(container), {}});
  }

  void close() {
    Value finished(std::move(open_.back().data));
    open_.pop_back();
    add(std::move(finished));
  }

  void add(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    auto& level = open_.back();
    if (auto* members = std::get_if<Object>(&level.data)) {
      members->emplace_back(std::move(level.key), std::move(value));
    } else {
      std::get<Array>(level.data).push_back(std::move(value));
    }
  }

  Value root_;
  std::vector<Level> open_;
};

class Parser : public Poco::JSON::ParserImpl {
 public:
  explicit Parser(const Poco::JSON::Handler::Ptr& handler) : ParserImpl(handler) {
    // One more than ours, so that our own message names the limit.
    setDepthImpl(kMaxDepth + 1);
  }
  void run(const std::string& text) { parseImpl(text); }
};

// Poco cuts keys at an embedded NUL, so "a\u0000b" would pass for "a". No body of ours needs one.
bool contains_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos || text.find("\\u0000") != std::string_view::npos;
}

constexpr char kHex[] = "0123456789abcdef";

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += "\\u00";
          out += kHex[(c >> 4) & 15];
          out += kHex[c & 15];
        } else {
          out += c;
        }
    }
  }
}

}  // namespace

const Value* Value::find(std::string_view key) const {
  const auto* members = as_object();
  if (!members) return nullptr;
  for (const auto& [name, value] : *members) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::string_view Value::kind() const {
  static constexpr std::string_view kKinds[] = {
      "null",     "a boolean", "an integer", "an integer", "a number with a fraction or exponent",
      "a string", "an array",  "an object"};
  return kKinds[data_.index()];
}

Result<Value> parse(std::string_view text) {
  const auto refuse = [](std::string why) { return Error{ErrorCode::InvalidArgument, "JSON: " + why}; };
  if (contains_nul(text)) return refuse("a NUL character is not allowed");
  Poco::SharedPtr<Builder> builder(new Builder);
  try {
    Parser(builder).run(std::string(text));
  } catch (const Refused& refused) {
    return refuse(refused.why);
  } catch (const Poco::Exception& exception) {
    return refuse(exception.message().empty() ? exception.displayText() : exception.message());
  } catch (const std::exception& exception) {
    return refuse(exception.what());
  }
  return builder->take();
}

std::string quote(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  out += '"';
  append_escaped(out, text);
  out += '"';
  return out;
}

void Writer::separate() {
  if (need_comma_) out_ += ',';
  need_comma_ = true;
}

Writer& Writer::begin_object() {
  separate();
  out_ += '{';
  need_comma_ = false;
  return *this;
}

Writer& Writer::end_object() {
  out_ += '}';
  need_comma_ = true;
  return *this;
}

Writer& Writer::begin_array() {
  separate();
  out_ += '[';
  need_comma_ = false;
  return *this;
}

Writer& Writer::end_array() {
  out_ += ']';
  need_comma_ = true;
  return *this;
}

Writer& Writer::key(std::string_view name) {
  string(name);
  out_ += ':';
  need_comma_ = false;
  return *this;
}

Writer& Writer::string(std::string_view value) {
  separate();
  out_ += '"';
  append_escaped(out_, value);
  out_ += '"';
  return *this;
}

Writer& Writer::integer(std::int64_t value) {
  separate();
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out_.append(digits, end);
  return *this;
}

Writer& Writer::number(double value) {
  assert(std::isfinite(value));
  separate();
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out_.append(digits, end);
  return *this;
}

Writer& Writer::boolean(bool value) {
  separate();
  out_ += value ? "true" : "false";
  return *this;
}

Writer& Writer::null() {
  separate();
  out_ += "null";
  return *this;
}

std::string Writer::take() {
  need_comma_ = false;
  return std::exchange(out_, {});
}

}  // namespace penstock::json
