// The page as it is compiled in: what is served, and nothing the browser's policy would refuse.
#include <filesystem>
#include <regex>
#include <set>

#include "exporters/page_assets.h"
#include "exporters/routes.h"
#include "tests/exporters/blocking_client.h"
#include "tests/support/http_settings.h"

namespace gapwatch::exporters {
namespace {

namespace fs = std::filesystem;

class NoViews final : public Views {
 public:
  std::shared_ptr<const Published> published() const override { return nullptr; }
  Result<std::vector<PromptReport>> prompts(const std::string&, const PromptQuery&) const override {
    return std::vector<PromptReport>();
  }
  Result<state::HistorySlice> history(const std::string&, const HistoryQuery&) const override { return state::HistorySlice{}; }
  Status pause() override { return {}; }
  Status resume() override { return {}; }
  Status acknowledge(const std::string&) override { return {}; }
};

std::map<std::string, PageAsset> assets_by_name() {
  std::map<std::string, PageAsset> out;
  for (const auto& asset : page_assets()) out.emplace(asset.name, asset);
  return out;
}

// Where a file is served: the two pages have addresses of their own.
std::string path_of(const std::string& name) {
  if (name == "index.html") return "/";
  return name == "runbook.html" ? "/runbook" : "/" + name;
}

TEST(Page, IsFewFilesAndSmall) {
  std::size_t bytes = 0;
  for (const auto& [name, asset] : assets_by_name()) bytes += asset.body.size();
  EXPECT_EQ(assets_by_name().size(), 6u);
  EXPECT_LT(bytes, 200'000u);
}

TEST(Page, EveryFileIsServedUnderItsType) {
  NoViews views;
  const auto server = make_http_server(http_on());
  register_routes(*server, views, {});
  ASSERT_TRUE(server->start());
  BlockingClient client(server->port());
  const std::map<std::string, std::string> types = {{".html", "text/html; charset=utf-8"}, {".css", "text/css; charset=utf-8"},
                                                    {".js", "text/javascript; charset=utf-8"}, {".svg", "image/svg+xml"}};
  for (const auto& [name, asset] : assets_by_name()) {
    const auto answer = client.get(path_of(name)).value();
    EXPECT_EQ(answer.status, 200) << name;
    EXPECT_EQ(answer.fields.at("content-type"), types.at(fs::path(name).extension().string())) << name;
    EXPECT_TRUE(answer.body == asset.body) << name;
  }
}

// What one file asks of another, as href, src or import.
TEST(Page, RefersOnlyToWhatIsServed) {
  const auto assets = assets_by_name();
  std::set<std::string> routes = {"/metrics", "/api/v1/monitors"};
  for (const auto& [name, asset] : assets) routes.insert(path_of(name));
  const std::regex reference(R"re((?:href|src)="([^"]*)")re");
  for (const auto& [name, asset] : assets) {
    const std::string text(asset.body);
    for (std::sregex_iterator at(text.begin(), text.end(), reference), end; at != end; ++at) {
      const auto target = (*at)[1].str();
      if (routes.contains(target) || target.starts_with("#")) continue;
      ADD_FAILURE() << name << ": " << target;
    }
  }
}

TEST(Page, NeedsNothingThePolicyForbids) {
  const std::regex foreign(R"(https?://(?!www\.w3\.org/2000/svg))");
  const std::regex markup(R"(\binnerHTML\b|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function)");
  const std::regex inlined(R"(<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|javascript:)");
  for (const auto& [name, asset] : assets_by_name()) {
    const std::string text(asset.body);
    EXPECT_FALSE(std::regex_search(text, foreign)) << name << " names another host";
    EXPECT_FALSE(std::regex_search(text, markup)) << name << " makes markup of text";
    if (name.ends_with(".html") || name.ends_with(".svg")) {
      EXPECT_FALSE(std::regex_search(text, inlined)) << name;
    }
  }
}

}  // namespace
}  // namespace gapwatch::exporters
