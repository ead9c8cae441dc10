#include "engine/metrics/web_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/error.h"

namespace flowrun::metrics {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// A connection, without any library.
class client {
 public:
  explicit client(const web_server& server) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server.port());
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    const timeval patience{10, 0};  // then it gets no answer
    EXPECT_EQ(::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~client() { ::close(socket_); }
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  bool say(const std::string& text) const {
    return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  std::string answer() const {
    std::string out;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(socket_, buffer, sizeof buffer)) > 0;)
      out.append(buffer, static_cast<size_t>(got));
    return out;
  }

 private:
  const int socket_;
};

std::string answer_to(const web_server& server, const std::string& request) {
  const client asking(server);
  EXPECT_TRUE(asking.say(request));
  return asking.answer();
}

web_answer what_was_asked(const web_request& request) {
  return {.body = request.path + "|" + request.query + "|" + request.variable("a") + "|" + request.variable("b")};
}

TEST(web_server, hands_requests_on_and_answers_back) {
  std::atomic<int> sent{0};
  const web_server server("127.0.0.1:0", [&sent](const web_request& request) {
    web_answer out = what_was_asked(request);
    out.status = request.path == "/none" ? 404 : 200;
    out.type = "text/odd";
    out.sent = [&sent] { ++sent; };
    return out;
  });
  EXPECT_EQ(server.host(), "127.0.0.1");
  const std::string page = answer_to(server, "GET /some/page?b=1%202&c=3 HTTP/1.0\r\n\r\n");
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/odd\r\nContent-Length: 27\r\n"));
  EXPECT_THAT(page, EndsWith("\r\n\r\n/some/page|b=1%202&c=3||1 2"));
  EXPECT_EQ(sent, 1);
  EXPECT_THAT(answer_to(server, "GET /none HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_EQ(sent, 2);
  EXPECT_THAT(answer_to(server, "HEAD / HTTP/1.0\r\n\r\n"), EndsWith("\r\n\r\n"));
  EXPECT_EQ(sent, 2);  // without a body nobody has it
}

TEST(web_server, only_lets_read) {
  const web_server server("127.0.0.1:0", what_was_asked);
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
    EXPECT_THAT(answer_to(server, std::string(method) + " / HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 405 ")) << method;
}

TEST(web_server, is_asked_by_names_that_lead_nowhere_else) {
  const web_server here("127.0.0.1:0", what_was_asked), everywhere("0.0.0.0:0", what_was_asked);
  const auto get = [](const web_server& server, const std::string& host) {
    return answer_to(server, "GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  };
  for (const char* host : {"127.0.0.1", "127.0.0.1:80", "localhost", "LocalHost.:80", "[::1]:80"})
    EXPECT_THAT(get(here, host), StartsWith("HTTP/1.1 200 ")) << host;
  for (const char* host : {"evil.example", "localhost.example:80", ".", "1.evil"}) {
    EXPECT_THAT(get(here, host), StartsWith("HTTP/1.1 403 ")) << host;
    EXPECT_THAT(get(everywhere, host), StartsWith("HTTP/1.1 200 ")) << host;
  }
  for (const char* host : {"[evil.example]", "[", "[::1", "localhost\r\nHost: evil.example"})
    EXPECT_THAT(get(here, host), StartsWith("HTTP/1.1 403 ")) << host;
  // The server drops what comes behind 64 headers.
  std::string many = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 64; ++i) many += "X: y\r\n";
  EXPECT_THAT(answer_to(here, many + "Host: evil.example\r\n\r\n"), StartsWith("HTTP/1.1 403 "));
}

// What waits to be read takes memory that no budget has.
TEST(web_server, makes_no_more_answers_than_are_read) {
  const web_server server("127.0.0.1:0", [](const web_request& request) {
    return web_answer{.body = request.path == "/large" ? std::string(15 << 20, 'x') : "small"};
  });
  std::string second;
  for (int attempt = 0; attempt < 50 && second.find(" 503 ") == std::string::npos; ++attempt) {
    const client slow(server);  // which the server leaves after a second
    EXPECT_TRUE(slow.say("GET /large HTTP/1.0\r\n\r\n"));
    second = answer_to(server, "GET /large HTTP/1.0\r\n\r\n");
  }
  EXPECT_THAT(second, StartsWith("HTTP/1.1 503 "));
  for (int attempt = 0; attempt < 50 && !second.starts_with("HTTP/1.1 200 "); ++attempt) {
    second = answer_to(server, "GET /large HTTP/1.0\r\n\r\n");
    ::usleep(100'000);
  }
  EXPECT_THAT(second, StartsWith("HTTP/1.1 200 "));
}

TEST(web_server, goes_on_where_no_answer_can_be_made) {
  std::atomic<bool> fails{true};
  const web_server server("127.0.0.1:0", [&fails](const web_request& request) {
    if (fails) throw std::runtime_error("nothing left");
    return what_was_asked(request);
  });
  EXPECT_THAT(answer_to(server, "GET / HTTP/1.0\r\n\r\n"), HasSubstr(" 500 Internal"));
  fails = false;
  EXPECT_THAT(answer_to(server, "GET / HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
}

// More of them than there are threads, and each would keep its thread for as long as a byte comes now and then.
TEST(web_server, does_not_wait_for_bodies) {
  const web_server server("127.0.0.1:0", what_was_asked);
  std::vector<std::unique_ptr<client>> slow;
  for (int i = 0; i < 40; ++i) {
    slow.push_back(std::make_unique<client>(server));
    EXPECT_TRUE(slow.back()->say("GET / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n"));
  }
  std::atomic<bool> ends{false};
  std::thread dripping([&] {
    while (!ends) {
      for (const auto& each : slow) each->say("x");
      ::usleep(20'000);
    }
  });
  const auto before = std::chrono::steady_clock::now();
  EXPECT_THAT(answer_to(server, "GET / HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(5));
  ends = true;
  dripping.join();
}

TEST(web_server, says_when_it_can_not_listen) {
  const web_server first("127.0.0.1:0", what_was_asked);
  EXPECT_THROW(web_server("127.0.0.1:" + std::to_string(first.port()), what_was_asked), error);
}

}  // namespace
}  // namespace flowrun::metrics
