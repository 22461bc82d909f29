#include "exporters/routes.h"

#include <charconv>

#include <fmt/format.h>

#include "exporters/api_json.h"
#include "exporters/json_writer.h"
#include "exporters/page_assets.h"
#include "exporters/report_facts.h"

namespace gapwatch::exporters {
namespace {

constexpr std::string_view kMonitors = "/api/v1/monitors";
constexpr std::size_t kMostPrompts = 1'000;

HttpResponse json(std::string body) { return {200, "application/json", std::move(body)}; }
HttpResponse failure(int status, std::string_view reason) { return {status, "application/json", error_json(reason)}; }

HttpResponse asset(std::string_view name) {
  for (const auto& file : page_assets()) {
    if (file.name == name) return {200, std::string(file.content_type), std::string(file.body)};
  }
  return failure(404, "there is nothing here");
}

HttpResponse readiness(const Published* published) {
  std::string reason;
  if (published == nullptr) {
    reason = "nothing has been published yet";
  } else if (!published->stream.trouble.empty()) {
    reason = published->stream.trouble;
  } else if (!published->stream.ready) {
    reason = "the stream is not assigned and caught up yet";
  }
  JsonWriter out;
  out.begin_object().member("ready", reason.empty());
  if (!reason.empty()) out.member("reason", reason);
  out.end_object();
  return {reason.empty() ? 200 : 503, "application/json", out.take()};
}

// A whole number of the query, or `fallback` where it is not given; nothing where it is not a number.
std::optional<std::int64_t> whole(const HttpRequest& request, const char* name, std::int64_t fallback) {
  const auto found = request.query.find(name);
  if (found == request.query.end()) return fallback;
  std::int64_t number = 0;
  const auto* end = found->second.data() + found->second.size();
  const auto parsed = std::from_chars(found->second.data(), end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  return number;
}

const MonitorReport* find_monitor(const Published& published, std::string_view name) {
  for (const auto& monitor : published.monitors) {
    if (monitor->name == name) return monitor.get();
  }
  return nullptr;
}

std::optional<PromptSort> sort_of(const HttpRequest& request) {
  const auto found = request.query.find("sort");
  if (found == request.query.end() || found->second == "premium") return PromptSort::kPremium;
  if (found->second == "ceiling") return PromptSort::kCeiling;
  if (found->second == "gap") return PromptSort::kGap;
  if (found->second == "prompt") return PromptSort::kPrompt;
  return std::nullopt;
}

HttpResponse prompts(const Views& views, const std::string& monitor, const HttpRequest& request) {
  const auto sort = sort_of(request);
  if (!sort) return failure(400, "sort is gap, premium, ceiling or prompt");
  const auto limit = whole(request, "limit", 50);
  if (!limit || *limit < 1 || *limit > static_cast<std::int64_t>(kMostPrompts)) {
    return failure(400, "limit is a whole number from 1 to 1000");
  }
  const auto found = views.prompts(monitor, {*sort, static_cast<std::size_t>(*limit)});
  return found ? json(prompts_json(*found)) : failure(503, found.error().message);
}

HttpResponse history(const Views& views, const std::string& monitor, const HttpRequest& request) {
  const auto from = whole(request, "from", 0);
  const auto to = whole(request, "to", std::numeric_limits<std::int64_t>::max());
  const auto step = whole(request, "step", 0);
  if (!from || !to || !step || *from > *to || *step < 0) {
    return failure(400, "from and to are milliseconds since 1970 in order, step is milliseconds");
  }
  const auto found = views.history(monitor, {*from, *to, *step});
  return found ? json(history_json(monitor, *found)) : failure(503, found.error().message);
}

HttpResponse below_monitors(const Views& views, const HttpRequest& request) {
  const auto published = views.published();
  if (!published) return failure(503, "nothing has been published yet");
  const auto rest = request.path.substr(kMonitors.size() + 1);
  if (const auto* monitor = find_monitor(*published, rest)) return json(monitor_json(*monitor));
  const auto slash = rest.rfind('/');
  if (slash == std::string::npos) return failure(404, "there is no monitor of that name");
  const auto name = rest.substr(0, slash);
  const auto what = rest.substr(slash + 1);
  if (find_monitor(*published, name) == nullptr) return failure(404, "there is no monitor of that name");
  if (what == "prompts") return prompts(views, name, request);
  if (what == "history") return history(views, name, request);
  return failure(404, "a monitor has prompts, history and events below it");
}

// POST .../NAME/acknowledge
HttpResponse acknowledge(Views& views, const HttpRequest& request) {
  constexpr std::string_view kSuffix = "/acknowledge";
  const auto published = views.published();
  if (!published) return failure(503, "nothing has been published yet");
  const auto rest = request.path.substr(kMonitors.size() + 1);
  if (!rest.ends_with(kSuffix)) return failure(404, "a monitor's alarm is acknowledged with POST /api/v1/monitors/NAME/acknowledge");
  const auto name = rest.substr(0, rest.size() - kSuffix.size());
  const auto* monitor = find_monitor(*published, name);
  if (monitor == nullptr) return failure(404, "there is no monitor of that name");
  if (!alarm_stands(*monitor)) return failure(409, "no alarm of this monitor stands");
  if (const auto status = views.acknowledge(name); !status) return failure(503, status.error().message);
  return {202, "application/json", R"({"acknowledge":"asked for"})"};
}

HttpResponse control(const Status& status, bool paused) {
  if (!status) return failure(503, status.error().message);
  JsonWriter out;
  out.begin_object().member("paused", paused).end_object();
  return json(out.take());
}

void register_page(HttpServer& server) {
  server.route("GET", "/", [](const HttpRequest& request) {
    return request.path == "/" ? asset("index.html") : failure(404, "there is nothing here");
  });
  server.route("GET", "/runbook", [](const HttpRequest&) { return asset("runbook.html"); });
  server.route("GET", "/assets/", [](const HttpRequest& request) {
    return asset(std::string_view(request.path).substr(1));
  });
}

void register_health(HttpServer& server, Views& views, const BuildInfo& build) {
  server.route("GET", "/healthz", [](const HttpRequest&) { return json(R"({"healthy":true})"); });
  server.route("GET", "/readyz", [&views](const HttpRequest&) { return readiness(views.published().get()); });
  server.route("GET", "/metrics", [&views, build](const HttpRequest&) {
    return HttpResponse{200, kMetricsContentType, metrics_text(SnapshotCollectable(views.published(), build))};
  });
}

}  // namespace

void register_routes(HttpServer& server, Views& views, RouteSettings settings) {
  register_page(server);
  register_health(server, views, settings.build);
  server.route("GET", std::string(kMonitors), [&views, version = settings.build.version](const HttpRequest&) {
    const auto published = views.published();
    return published ? json(monitors_json(*published, version)) : failure(503, "nothing has been published yet");
  });
  server.route("GET", fmt::format("{}/", kMonitors), [&views](const HttpRequest& request) {
    return below_monitors(views, request);
  });
  server.route("POST", fmt::format("{}/", kMonitors),
               [&views](const HttpRequest& request) { return acknowledge(views, request); });
  server.route("POST", "/-/pause", [&views](const HttpRequest&) { return control(views.pause(), true); });
  server.route("POST", "/-/resume", [&views](const HttpRequest&) { return control(views.resume(), false); });
}

void publish_events(HttpServer& server, const Published& published) {
  std::set<std::string> paths;
  for (const auto& monitor : published.monitors) {
    const auto& path = *paths.insert(fmt::format("{}/{}/events", kMonitors, monitor->name)).first;
    server.publish(path, event_json(published, *monitor));
  }
  server.keep_streams(std::move(paths));
}

}  // namespace gapwatch::exporters
