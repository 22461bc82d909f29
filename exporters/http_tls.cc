#include "exporters/http_tls.h"

#include <fmt/format.h>

#include "base/log.h"

namespace gapwatch::exporters {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

Result<std::unique_ptr<HttpTls>> HttpTls::open(const config::HttpSettings& settings) {
  std::unique_ptr<HttpTls> tls(new HttpTls(settings));
  tls->read_at_ = tls->times();
  auto context = tls->read();
  if (!context) return context.error();
  tls->context_ = std::move(*context);
  return tls;
}

HttpTls::Times HttpTls::times() const {
  Times all;
  for (const auto* path : {&settings_.tls_certificate, &settings_.tls_key, &settings_.tls_client_ca}) {
    std::error_code error;
    if (!path->empty()) all[*path] = std::filesystem::last_write_time(*path, error);
  }
  return all;
}

Result<std::shared_ptr<ssl::context>> HttpTls::read() const {
  const auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  error_code error;
  const auto refused = [&](const char* setting, const std::string& path, const char* advice) {
    return refuse(fmt::format("{} {}: {}; {}", setting, log::printable(path), error.message(), advice));
  };
  context->set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 | ssl::context::no_sslv3 |
                       ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1 | ssl::context::no_compression);
  context->use_certificate_chain_file(settings_.tls_certificate, error);
  if (error) {
    return refused("http.tls.certificate", settings_.tls_certificate,
                   "it must be a readable PEM file, the server's certificate first and those that vouch for it after");
  }
  context->use_private_key_file(settings_.tls_key, ssl::context::pem, error);
  if (error) {
    return refused("http.tls.key", settings_.tls_key,
                   "it must be a readable PEM file, without a passphrase, of the certificate's own key");
  }
  if (settings_.tls_client_ca.empty()) return context;
  context->load_verify_file(settings_.tls_client_ca, error);
  if (error) {
    return refused("http.tls.client_ca", settings_.tls_client_ca,
                   "it must be a readable PEM file of who vouches for those that may connect");
  }
  context->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  return context;
}

std::shared_ptr<ssl::context> HttpTls::context() {
  auto now = times();
  if (now == read_at_) return context_;
  read_at_ = std::move(now);
  if (auto fresh = read()) {
    context_ = std::move(*fresh);
    log::info("http.tls: the files changed and were read again");
  } else {
    log::error(fresh.error().message + " (the certificate of before goes on serving)");
  }
  return context_;
}

}  // namespace gapwatch::exporters
