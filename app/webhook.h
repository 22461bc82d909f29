// Webhook: posts JSON messages to http:// or https:// addresses, beside each other and everything else.
//
// An attempt ends in one of three ways, because the caller must never send the same message twice:
//   kTaken    the receiver answered 2xx
//   kRefused  it cannot have been taken: no connection, not all of it was sent, or an answer other than 2xx
//   kUnknown  all of it was sent, and no answer came in time (or a gateway says that it got none)
// Certificates are verified against the system's authorities. Redirections are not followed.
//
// Threads: one of its own; the methods are the owner's thread's. An attempt takes at most `time`.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace gapwatch::app {

enum class PostOutcome { kTaken, kRefused, kUnknown };

struct PostResult {
  PostOutcome outcome = PostOutcome::kRefused;
  std::string detail;  // one line, without the address
};

struct Post {
  std::string url, body;
  std::string key;  // sent as Idempotency-Key: names the message
};

struct PostEnd {
  std::string key;
  PostResult result;
};

class Webhook {
 public:
  explicit Webhook(std::chrono::milliseconds time = std::chrono::seconds(10));
  ~Webhook();  // breaks attempts off

  // Begins an attempt.
  void post(Post post);
  // An attempt that ended, each once, by the message's key; nothing while all are under way.
  std::optional<PostEnd> result();

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace gapwatch::app
