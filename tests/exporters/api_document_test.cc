// docs/API.md names every route that the code has and every key that it answers with.
#include <simdjson.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "exporters/api_json.h"
#include "exporters/routes.h"
#include "tests/exporters/fixture.h"

namespace gapwatch::exporters {
namespace {

std::string text_of(const std::string& file) {
  std::ifstream in(std::string(GAPWATCH_SOURCE_DIR) + "/" + file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class RouteList final : public HttpServer {
 public:
  void route(std::string method, std::string path, HttpHandler) override { routes.insert(method + " " + path); }
  void publish(std::string, std::string) override {}
  void keep_streams(std::set<std::string>) override {}
  Status start() override { return {}; }
  std::uint16_t port() const override { return 0; }
  void stop() override {}
  std::set<std::string> routes;
};

class NoViews final : public Views {
 public:
  std::shared_ptr<const Published> published() const override { return nullptr; }
  Result<std::vector<PromptReport>> prompts(const std::string&, const PromptQuery&) const override { return retry("no"); }
  Result<state::HistorySlice> history(const std::string&, const HistoryQuery&) const override { return retry("no"); }
  Status pause() override { return {}; }
  Status resume() override { return {}; }
  Status acknowledge(const std::string&) override { return {}; }
};

TEST(ApiDocument, NamesEveryRoute) {
  RouteList server;
  NoViews views;
  register_routes(server, views, {});
  const auto daemon = text_of("app/daemon.cc");
  const std::regex route(R"re(route\("([A-Z]+)", "([^"]+)")re");
  for (std::sregex_iterator at(daemon.begin(), daemon.end(), route), end; at != end; ++at) {
    server.routes.insert((*at)[1].str() + " " + (*at)[2].str());
  }
  EXPECT_GE(server.routes.size(), 11u);
  EXPECT_TRUE(server.routes.contains("POST /-/reload"));
  const auto document = text_of("docs/API.md");
  for (const auto& one : server.routes) EXPECT_NE(document.find("`" + one), std::string::npos) << one;
}

// The keys of an object, or of the first object of a list.
void add_keys(simdjson::dom::element element, std::set<std::string>& keys) {
  if (element.is_array()) {
    for (auto item : element.get_array()) return add_keys(item, keys);
  }
  if (!element.is_object()) return;
  for (const auto& [key, value] : simdjson::dom::object(element)) keys.insert(std::string(key));
}

TEST(ApiDocument, NamesEveryKeyOfTheAnswers) {
  const auto published = fixture::published();
  const std::pair<std::string, std::vector<const char*>> answers[] = {
      {monitors_json(published, "1"), {"", "/stream", "/stream/partitions", "/monitors", "/monitors/0/headline"}},
      {monitor_json(fixture::full_monitor()), {"", "/evaluation"}},
      {prompts_json(fixture::prompts()), {"", "/prompts", "/prompts/0/cells"}},
      {history_json("m", fixture::history()), {"", "/samples"}},
  };
  const auto document = text_of("docs/API.md");
  for (const auto& [answer, places] : answers) {
    simdjson::dom::parser parser;
    const simdjson::dom::element whole = parser.parse(simdjson::padded_string(answer));
    std::set<std::string> keys;
    for (const auto* place : places) {
      simdjson::dom::element part;
      ASSERT_EQ(whole.at_pointer(place).get(part), simdjson::SUCCESS) << place;
      add_keys(part, keys);
    }
    EXPECT_GT(keys.size(), 3u);
    for (const auto& key : keys) EXPECT_NE(document.find("`" + key + "`"), std::string::npos) << key;
  }
}

}  // namespace
}  // namespace gapwatch::exporters
