#include "reference_decoder.h"

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <stdexcept>

#include "ingest/draw_id.h"

namespace gapwatch::testing {
namespace {

struct Bad : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Node {
  char type = 'n';  // n null, t true, f false, # number, ~ not finite, s string, { object, [ array
  std::string text;
  std::vector<std::pair<std::string, Node>> members;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Node document() {
    check_utf8();
    space();
    if (peek() != '{') throw Bad("no object");
    Node node = value(0);
    space();
    if (at_ != text_.size()) throw Bad("tail");
    return node;
  }

 private:
  int peek() const { return at_ < text_.size() ? static_cast<unsigned char>(text_[at_]) : -1; }
  int next() {
    const int c = peek();
    if (c < 0) throw Bad("end");
    ++at_;
    return c;
  }
  void expect(char c) {
    if (next() != static_cast<unsigned char>(c)) throw Bad("unexpected");
  }
  void space() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r') ++at_;
  }
  bool word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Node value(int depth) {
    space();
    Node node;
    if (word("null")) return node;
    if (word("true")) return {'t', "", {}};
    if (word("false")) return {'f', "", {}};
    if (word("NaN") || word("Infinity") || word("-Infinity")) return {'~', "", {}};
    if (peek() == '"') return {'s', string(), {}};
    if (peek() != '{' && peek() != '[') return {'#', number(), {}};
    if (depth == 64) throw Bad("deep");
    return container(depth);
  }

  Node container(int depth) {
    Node node;
    node.type = static_cast<char>(next());
    const char close = node.type == '{' ? '}' : ']';
    space();
    if (peek() == close) {
      ++at_;
      return node;
    }
    for (;;) {
      std::string key;
      space();
      if (node.type == '{') {
        key = string();
        space();
        expect(':');
      }
      node.members.emplace_back(key, value(depth + 1));
      space();
      const int c = next();
      if (c == close) return node;
      if (c != ',') throw Bad("separator");
    }
  }

  std::string number() {
    const std::size_t start = at_;
    if (peek() == '-') ++at_;
    if (peek() == '0') {
      ++at_;
    } else {
      digits();
    }
    if (peek() == '.') {
      ++at_;
      digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      digits();
    }
    return std::string(text_.substr(start, at_ - start));
  }
  void digits() {
    if (peek() < '0' || peek() > '9') throw Bad("digit");
    while (peek() >= '0' && peek() <= '9') ++at_;
  }

  std::string string() {
    expect('"');
    std::string out;
    for (;;) {
      const int c = next();
      if (c == '"') return out;
      if (c < 0x20) throw Bad("control");
      if (c != '\\') {
        out += static_cast<char>(c);
        continue;
      }
      escape(out);
    }
  }
  void escape(std::string& out) {
    const int c = next();
    switch (c) {
      case '"': case '\\': case '/': out += static_cast<char>(c); return;
      case 'b': out += '\b'; return;
      case 'f': out += '\f'; return;
      case 'n': out += '\n'; return;
      case 'r': out += '\r'; return;
      case 't': out += '\t'; return;
      case 'u': break;
      default: throw Bad("escape");
    }
    unsigned code = hex4();
    if (code >= 0xdc00 && code < 0xe000) throw Bad("surrogate");
    if (code >= 0xd800 && code < 0xdc00) {
      expect('\\');
      expect('u');
      const unsigned low = hex4();
      if (low < 0xdc00 || low >= 0xe000) throw Bad("surrogate");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(code, out);
  }
  unsigned hex4() {
    unsigned value = 0;
    for (int i = 0; i < 4; ++i) {
      const int c = next();
      if (std::isxdigit(c) == 0) throw Bad("hex");
      value = value * 16 + static_cast<unsigned>(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return value;
  }
  static void append_utf8(unsigned code, std::string& out) {
    const auto put = [&](unsigned byte) { out += static_cast<char>(byte); };
    if (code < 0x80) {
      put(code);
    } else if (code < 0x800) {
      put(0xc0 | code >> 6), put(0x80 | (code & 63));
    } else if (code < 0x10000) {
      put(0xe0 | code >> 12), put(0x80 | (code >> 6 & 63)), put(0x80 | (code & 63));
    } else {
      put(0xf0 | code >> 18), put(0x80 | (code >> 12 & 63)), put(0x80 | (code >> 6 & 63)), put(0x80 | (code & 63));
    }
  }

  void check_utf8() const {
    for (std::size_t i = 0; i < text_.size();) {
      const auto byte = [&](std::size_t k) { return i + k < text_.size() ? static_cast<unsigned char>(text_[i + k]) : 0u; };
      const unsigned c = byte(0);
      const std::size_t size = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
      if (size == 0) throw Bad("utf8");
      unsigned code = size == 1 ? c : c & (0xffu >> (size + 1));
      for (std::size_t k = 1; k < size; ++k) {
        if ((byte(k) & 0xc0) != 0x80) throw Bad("utf8");
        code = code << 6 | (byte(k) & 63);
      }
      const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
      if (code < least[size] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) throw Bad("utf8");
      i += size;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

const char* const kNames[] = {"prompt", "policy", "correct", "score", "draw", "unscored", "eval", "scorer", "slice", "answer",
                              "id", "ts", "version", "propensity", "retract", "successes", "trials", "type", "router",
                              "weights", "sequence"};

class Rules {
 public:
  Rules(std::map<std::string, Node> fields, std::string_view topic) : fields_(std::move(fields)), topic_(topic) {}

  ReferenceEvent event() {
    ReferenceEvent e;
    const std::string type = text("type");
    const bool retract = flag("retract");
    if (!type.empty() && type != "route") throw Bad("type");
    e.prompt = needed("prompt");
    e.eval = text("eval").empty() ? topic_ : text("eval");
    e.scorer = text("scorer").empty() ? "default" : text("scorer");
    e.slice = text("slice"), e.answer = text("answer"), e.id = text("id"), e.version = text("version");
    if (says("sequence")) e.sequence = whole("sequence", ~0ull >> 1);
    e.time = time();
    if (type == "route") {
      if (retract) throw Bad("conflict");
      route(e);
      return e;
    }
    e.policy = needed("policy");
    if (says("draw")) e.draw = whole("draw", ~0ull);
    propensity(e);
    const std::string outcome = judge();
    if (says("successes") || says("trials")) {
      counts(e, !outcome.empty() || retract);
    } else if (retract) {
      if (!e.draw && e.id.empty()) throw Bad("no draw");
      identify(e);
      e.kind = "retract";
    } else {
      if (outcome.empty()) throw Bad("no outcome");
      e.kind = "draw";
      e.outcome = outcome;
      identify(e);
    }
    return e;
  }

  static void identify(ReferenceEvent& e) {
    if (!e.draw && !e.id.empty()) e.draw = ingest::draw_of(e.id);
  }

 private:
  bool has(const std::string& name) const { return fields_.contains(name); }
  bool says(const std::string& name) const { return has(name) && fields_.at(name).type != 'n'; }
  std::string text(const std::string& name) const {
    if (!says(name)) return "";
    const Node& node = fields_.at(name);
    if (node.type != 's' || node.text.size() > 512) throw Bad("string");
    return node.text;
  }
  std::string needed(const std::string& name) const {
    const auto found = text(name);
    if (found.empty()) throw Bad("missing");
    return found;
  }
  bool flag(const std::string& name) const {
    if (!says(name)) return false;
    const char type = fields_.at(name).type;
    if (type != 't' && type != 'f') throw Bad("bool");
    return type == 't';
  }
  std::uint64_t whole(const std::string& name, std::uint64_t limit) const {
    const Node& node = fields_.at(name);
    if (node.type != '#' || node.text.find_first_of(".eE") != std::string::npos) throw Bad("whole");
    if (node.text == "-0") return 0;
    if (node.text[0] == '-') throw Bad("negative");
    std::uint64_t value = 0;
    for (const char c : node.text) {
      const auto digit = static_cast<std::uint64_t>(c - '0');
      if (digit > limit || value > (limit - digit) / 10) throw Bad("large");
      value = value * 10 + digit;
    }
    return value;
  }
  static double real(const Node& node) {
    if (node.type != '#') throw Bad("number");
    const double value = std::strtod(node.text.c_str(), nullptr);
    if (std::isinf(value)) throw Bad("large");
    return value;
  }

  std::optional<std::int64_t> time() const {
    if (!says("ts")) return std::nullopt;
    if (fields_.at("ts").type != 's') return static_cast<std::int64_t>(whole("ts", 253402300799999));
    // The streams of the test write times in this one form.
    std::tm parts{};
    char zone = 0, after = 0;
    const std::string& text = fields_.at("ts").text;
    if (text.size() != 20 || std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%c%c", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
                    &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &zone, &after) != 7 || zone != 'Z') {
      throw Bad("time");
    }
    for (const std::size_t i : {0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18}) {
      if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) throw Bad("time");
    }
    parts.tm_year -= 1900, parts.tm_mon -= 1;
    const std::tm wanted = parts;
    const std::time_t seconds = timegm(&parts);
    if (seconds < 0 || parts.tm_mday != wanted.tm_mday || parts.tm_mon != wanted.tm_mon || parts.tm_hour != wanted.tm_hour ||
        parts.tm_min != wanted.tm_min || parts.tm_sec != wanted.tm_sec) {
      throw Bad("time");
    }
    return seconds * 1000;
  }

  std::string judge() const {
    std::string outcome;
    if (has("score")) {
      const Node& score = fields_.at("score");
      outcome = score.type == 'n' || score.type == '~' ? "unscored" : real(score) >= 1 ? "success" : "failure";
    }
    if (has("correct")) {
      const Node& correct = fields_.at("correct");
      if (correct.type == 'n') {
        outcome = "unscored";
      } else if (correct.type == 't' || (correct.type == '#' && correct.text == "1")) {
        outcome = "success";
      } else if (correct.type == 'f' || (correct.type == '#' && correct.text == "0")) {
        outcome = "failure";
      } else {
        throw Bad("correct");
      }
    }
    return flag("unscored") ? "unscored" : outcome;
  }

  void counts(ReferenceEvent& e, bool conflict) const {
    if (conflict || e.draw || !says("successes") || !says("trials")) throw Bad("counts");
    e.kind = "counts";
    e.successes = whole("successes", 4294967295);
    e.trials = whole("trials", 4294967295);
    if (e.trials < e.successes) throw Bad("counts");
  }

  std::map<std::string, double> shares(const std::string& name) const {
    const Node& node = fields_.at(name);
    if (node.type != '{') throw Bad("object");
    std::map<std::string, double> out;
    for (const auto& [policy, share] : node.members) {
      const double value = real(share);
      if (policy.empty() || policy.size() > 512 || value < 0 || value > 1 || !out.emplace(policy, value).second) throw Bad("share");
    }
    return out;
  }

  void propensity(ReferenceEvent& e) const {
    if (!says("propensity")) return;
    if (fields_.at("propensity").type == '#') {
      e.propensity = real(fields_.at("propensity"));
    } else {
      e.propensities = shares("propensity");
      if (!e.propensities.contains(e.policy)) throw Bad("propensity");
      e.propensity = e.propensities.at(e.policy);
    }
    if (!(*e.propensity > 0 && *e.propensity <= 1)) throw Bad("propensity");
  }

  void route(ReferenceEvent& e) const {
    e.kind = "route";
    e.router = needed("router");
    const auto policy = text("policy");
    if (policy.empty() != says("weights")) throw Bad("route");
    if (!policy.empty()) {
      e.weights[policy] = 1;
      return;
    }
    double sum = 0;
    for (const auto& [name, share] : shares("weights")) {
      if (share > 0) e.weights[name] = share;
      sum += share;
    }
    if (!(std::abs(sum - 1) <= 0.02)) throw Bad("weights");
    for (auto& entry : e.weights) entry.second /= sum;
  }

  std::map<std::string, Node> fields_;
  std::string topic_;
};

}  // namespace

Reference reference_decode(std::string_view text, std::string_view topic) {
  Reference result;
  try {
    const Node document = Parser(text).document();
    std::map<std::string, Node> fields;
    for (const auto& [key, node] : document.members) {
      for (const char* name : kNames) {
        if (key == name && !fields.emplace(key, node).second) throw Bad("twice");
      }
    }
    result.is_json = true;
    result.event = Rules(std::move(fields), topic).event();
  } catch (const Bad&) {
    result.event = std::nullopt;
  }
  return result;
}

}  // namespace gapwatch::testing
