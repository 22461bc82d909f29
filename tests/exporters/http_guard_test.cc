#include "exporters/http_guard.h"

#include <gtest/gtest.h>

namespace gapwatch::exporters {
namespace {

TEST(HttpGuard, DecodesTargets) {
  const auto target = parse_target("/api/a%2Fb%20c/+x?sort=a+b&limit=5&limit=6&flag&=v&e=%26%3d#part");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/api/a/b c/+x");
  EXPECT_THAT(target->query, testing::ElementsAre(testing::Pair("", "v"), testing::Pair("e", "&="),
                                                  testing::Pair("flag", ""), testing::Pair("limit", "6"),
                                                  testing::Pair("sort", "a b")));
  EXPECT_EQ(parse_target("http://localhost:1/x?y=1")->path, "/x");
}

TEST(HttpGuard, RefusesTargetsItCannotRead) {
  for (const char* bad : {"", "*", "x", "/%", "/%4", "/%zz", "/%00", "/a?b=%f", "http://localhost", "example.org:443"}) {
    EXPECT_FALSE(parse_target(bad)) << bad;
  }
}

TEST(HttpGuard, ReadsListenAddresses) {
  EXPECT_EQ(parse_listen("127.0.0.1:9464")->port, 9464u);
  EXPECT_EQ(parse_listen("[::1]:0")->host, "::1");
  for (const char* bad : {"", ":9464", "localhost", "localhost:", "localhost:x", "localhost:70000", "::1:80", "[]:1"}) {
    EXPECT_FALSE(parse_listen(bad)) << bad;
  }
}

TEST(HttpGuard, OnLoopbackTheHostMustBeOurs) {
  const GuardSettings settings{"monitor.internal", true, ""};
  for (const char* good : {"localhost", "LOCALHOST:9464", "127.0.0.1:80", "127.9.9.9", "[::1]:9464", "monitor.internal:1"}) {
    EXPECT_EQ(check_host(settings, good).status, 0) << good;
  }
  for (const char* bad : {"", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example:9464", "127.evil",
                          "[::2]", "[::1].evil", "192.168.0.1"}) {
    EXPECT_EQ(check_host(settings, bad).status, 421) << bad;
  }
  EXPECT_EQ(check_host(settings, std::nullopt).status, 400);
  EXPECT_EQ(check_host({"0.0.0.0", false, "t"}, "any.example").status, 0);
}

TEST(HttpGuard, WritingNeedsTheTokenAndOurOwnOrigin) {
  const GuardSettings open{"127.0.0.1", true, ""};
  EXPECT_EQ(check_write(open, "localhost:1", "", "").status, 0);
  EXPECT_EQ(check_write(open, "localhost:1", "http://localhost:1", "").status, 0);
  EXPECT_EQ(check_write(open, "localhost:1", "http://localhost:2", "").status, 403);
  EXPECT_EQ(check_write(open, "localhost:1", "https://evil.example", "").status, 403);
  EXPECT_EQ(check_write(open, "localhost:1", "null", "").status, 403);
  const GuardSettings closed{"127.0.0.1", true, "secret"};
  EXPECT_EQ(check_write(closed, "localhost", "", "").status, 401);
  EXPECT_EQ(check_write(closed, "localhost", "", "Bearer secres").status, 401);
  EXPECT_EQ(check_write(closed, "localhost", "", "Bearer ").status, 401);
  EXPECT_EQ(check_write(closed, "localhost", "", "Basic secret").status, 401);
  EXPECT_EQ(check_write(closed, "localhost", "", "bearer secret").status, 0);
  EXPECT_EQ(check_write({"0.0.0.0", false, ""}, "h", "", "Bearer ").status, 403);
  EXPECT_EQ(check_write({"0.0.0.0", false, "secret"}, "h", "", "Bearer secret").status, 0);
}

TEST(HttpGuard, SecretsAreEqualOnlyWhenTheyAre) {
  EXPECT_TRUE(equal_secrets("", ""));
  EXPECT_TRUE(equal_secrets("abc", "abc"));
  EXPECT_FALSE(equal_secrets("abc", "abd"));
  EXPECT_FALSE(equal_secrets("abcabc", "abc"));
  EXPECT_FALSE(equal_secrets("", "abc"));
  EXPECT_FALSE(equal_secrets("abc", ""));
}

}  // namespace
}  // namespace gapwatch::exporters
