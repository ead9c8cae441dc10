#include "engine/metrics/exporter.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/error.h"

namespace flowrun::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;

sockaddr_in address_of(const std::string& url) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  return address;
}

// The answer to a GET of the exporter's page, without any library.
std::string scrape(const std::string& url) {
  const sockaddr_in address = address_of(url);
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  std::string out;
  if (connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
    EXPECT_EQ(write(connection, request.data(), request.size()), static_cast<ssize_t>(request.size()));
    char buffer[4096];
    for (ssize_t got = 0; (got = read(connection, buffer, sizeof buffer)) > 0;)
      out.append(buffer, static_cast<size_t>(got));
  }
  close(connection);
  return out;
}

TEST(listen_address, is_the_loopback_interface_unless_told_otherwise) {
  EXPECT_EQ(listen_address("9464"), "127.0.0.1:9464");
  EXPECT_EQ(listen_address(":9464"), "127.0.0.1:9464");
  EXPECT_EQ(listen_address("localhost:0"), "127.0.0.1:0");
  EXPECT_EQ(listen_address("0.0.0.0:80"), "0.0.0.0:80");
  EXPECT_EQ(listen_address("[::]:80"), "[::]:80");
}

TEST(listen_address, refuses_what_is_none) {
  for (const char* text : {"", ":", "port", "1.2.3.4:", "70000", "-1", "a,b:80", "127.0.0.1:80x"}) {
    try {
      listen_address(text);
      ADD_FAILURE() << text;
    } catch (const error& e) {
      EXPECT_EQ(e.kind(), error_kind::usage) << text;
    }
  }
}

// Connections that say nothing, or half a request, don't keep others out.
TEST(exporter, answers_beside_idle_connections) {
  collection source;
  const auto attached = source.attach([](sink& into) { into.value(metric::flowrun_job_phase, {}, 7); });
  const exporter served("0", source);
  const sockaddr_in address = address_of(served.url());
  std::vector<int> idle;
  for (int i = 0; i < 20; ++i) {
    idle.push_back(socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(connect(idle.back(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const std::string half = "GET /metrics HT";
    if (i % 2 == 0) {
      ASSERT_EQ(write(idle.back(), half.data(), half.size()), static_cast<ssize_t>(half.size()));
    }
  }
  EXPECT_THAT(scrape(served.url()), HasSubstr("flowrun_job_phase 7"));
  for (const int connection : idle) close(connection);
}

TEST(exporter, serves_names_help_labels_and_values) {
  collection source;
  const auto attached = source.attach([](sink& into) {
    into.value(metric::flowrun_node_rows_total, {"a \"b\"", "map"}, 341948);
    into.value(metric::flowrun_job_progress_ratio, {}, 0.25);
  });
  const exporter server("0", source);
  const std::string page = scrape(server.url());
  EXPECT_THAT(page, HasSubstr("200 OK"));
  EXPECT_THAT(page, HasSubstr("# HELP flowrun_node_rows_total Rows that a node gave on; of a sink: that it took."));
  EXPECT_THAT(page, HasSubstr("# TYPE flowrun_node_rows_total counter"));
  EXPECT_THAT(page, HasSubstr("flowrun_node_rows_total{node=\"a \\\"b\\\"\",op=\"map\"} 341948"));
  EXPECT_THAT(page, HasSubstr("# TYPE flowrun_job_progress_ratio gauge"));
  EXPECT_THAT(page, HasSubstr("flowrun_job_progress_ratio 0.25"));
  EXPECT_THAT(page, Not(HasSubstr("flowrun_sort_runs")));  // it was never given a value
}

TEST(exporter, serves_histograms_with_cumulative_buckets) {
  collection source;
  const auto attached = source.attach([](sink& into) {
    into.histogram(metric::flowrun_disk_request_seconds, {"/scratch", "read"}, {{0.5, 1}, {2, 3, 4}, 7.5});
  });
  const exporter server("127.0.0.1:0", source);
  const std::string page = scrape(server.url());
  EXPECT_THAT(page,
              HasSubstr("flowrun_disk_request_seconds_bucket{disk=\"/scratch\",direction=\"read\",le=\"0.5\"} 2"));
  EXPECT_THAT(page, HasSubstr("flowrun_disk_request_seconds_bucket{disk=\"/scratch\",direction=\"read\",le=\"1\"} 5"));
  EXPECT_THAT(page,
              HasSubstr("flowrun_disk_request_seconds_bucket{disk=\"/scratch\",direction=\"read\",le=\"+Inf\"} 9"));
  EXPECT_THAT(page, HasSubstr("flowrun_disk_request_seconds_sum{disk=\"/scratch\",direction=\"read\"} 7.5"));
  EXPECT_THAT(page, HasSubstr("flowrun_disk_request_seconds_count{disk=\"/scratch\",direction=\"read\"} 9"));
}

TEST(exporter, says_when_the_address_is_taken) {
  collection source;
  const exporter first("0", source);
  const std::string taken = first.url().substr(7, first.url().rfind('/') - 7);
  try {
    const exporter second(taken, source);
    ADD_FAILURE() << taken;
  } catch (const error& e) {
    EXPECT_EQ(e.kind(), error_kind::io);
    EXPECT_THAT(e.what(), HasSubstr(taken));
  }
}

}  // namespace
}  // namespace flowrun::metrics
