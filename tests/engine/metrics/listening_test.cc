#include "engine/metrics/listening.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/error.h"

namespace flowrun::metrics {
namespace {

using testing::HasSubstr;

std::string words(const listen_range& range) {
  return range.host + " " + std::to_string(range.first) + " " + std::to_string(range.last);
}

TEST(listen_addresses, are_of_the_loopback_interface_unless_told_otherwise) {
  EXPECT_EQ(words(listen_addresses("9464")), "127.0.0.1 9464 9464");
  EXPECT_EQ(words(listen_addresses(":9464")), "127.0.0.1 9464 9464");
  EXPECT_EQ(words(listen_addresses("localhost:0")), "127.0.0.1 0 0");
  EXPECT_EQ(words(listen_addresses("0.0.0.0:80")), "0.0.0.0 80 80");
  EXPECT_EQ(words(listen_addresses("9464-9473")), "127.0.0.1 9464 9473");
  EXPECT_EQ(words(listen_addresses("0.0.0.0:9464-9464")), "0.0.0.0 9464 9464");
}

TEST(listen_addresses, refuses_what_is_none) {
  for (const char* text : {"", ":", "port", "1.2.3.4:", "70000", "-1", "a,b:80", "127.0.0.1:80x", "90-80", "0-80",
                           "80-", "80-90-100", "80-70000"}) {
    try {
      listen_addresses(text);
      ADD_FAILURE() << text;
    } catch (const error& e) {
      EXPECT_EQ(e.kind(), error_kind::usage) << text;
    }
  }
}

// A socket that listens at some port of the loopback interface.
class listener {
 public:
  listener() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(socket_, 16), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~listener() { close(socket_); }
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;

  uint16_t port() const { return port_; }
  bool hears_a_knock() {
    pollfd waiting = {socket_, POLLIN, 0};
    if (poll(&waiting, 1, 10'000) != 1) return false;
    return close(accept(socket_, nullptr, nullptr)) == 0;
  }

 private:
  int socket_;
  uint16_t port_ = 0;
};

TEST(serve_at_first_free, passes_over_what_is_taken) {
  const listener other;
  std::vector<std::string> tried;
  const auto serve = [&tried](const std::string& address) {
    tried.push_back(address);
    return true;
  };
  listen_range range = {"127.0.0.1", other.port(), other.port()};
  try {
    serve_at_first_free(range, "tea", serve);
    ADD_FAILURE();
  } catch (const address_taken& e) {
    EXPECT_THAT(e.what(), HasSubstr("can't serve tea at 127.0.0.1:" + std::to_string(other.port())));
  }
  EXPECT_TRUE(tried.empty());
  range.else_any = true;
  serve_at_first_free(range, "tea", serve);
  EXPECT_EQ(tried, std::vector<std::string>{"127.0.0.1:0"});
}

TEST(serve_at_first_free, goes_on_where_another_process_was_faster) {
  int tried = 0;
  const auto serve = [&tried](const std::string&) { return ++tried == 2; };
  serve_at_first_free({"127.0.0.1", 20300, 20400}, "tea", serve);
  EXPECT_EQ(tried, 2);
}

TEST(knocking, goes_on_until_it_ends) {
  listener server;
  const knocking knock("127.0.0.1", server.port());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(server.hears_a_knock());
}

}  // namespace
}  // namespace flowrun::metrics
