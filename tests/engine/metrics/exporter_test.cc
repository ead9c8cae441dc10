#include "engine/metrics/exporter.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>

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

// Connections that say nothing, or half a request, don't keep others out.
TEST(exporter, answers_beside_idle_connections) {
  collection source;
  const auto attached = source.attach([](sink& into) { into.value(metric::flowrun_job_phase, {}, 7); });
  const exporter served("0", source, "nightly");
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
  EXPECT_THAT(scrape(served.url()), HasSubstr("flowrun_job_phase{job_name=\"nightly\"} 7"));
  for (const int connection : idle) close(connection);
}

TEST(exporter, serves_names_help_labels_and_values) {
  collection source;
  const auto attached = source.attach([](sink& into) {
    into.value(metric::flowrun_node_rows_total, {"a \"b\"", "map"}, 341948);
    into.value(metric::flowrun_job_progress_ratio, {}, 0.25);
  });
  const exporter server("0", source, "nightly");
  const std::string page = scrape(server.url());
  EXPECT_THAT(page, HasSubstr("200 OK"));
  EXPECT_THAT(page, HasSubstr("# HELP flowrun_node_rows_total Rows that a node gave on; of a sink: that it took."));
  EXPECT_THAT(page, HasSubstr("# TYPE flowrun_node_rows_total counter"));
  EXPECT_THAT(page, HasSubstr("flowrun_node_rows_total{job_name=\"nightly\",node=\"a \\\"b\\\"\",op=\"map\"} 341948"));
  EXPECT_THAT(page, HasSubstr("# TYPE flowrun_job_progress_ratio gauge"));
  EXPECT_THAT(page, HasSubstr("flowrun_job_progress_ratio{job_name=\"nightly\"} 0.25"));
  EXPECT_THAT(page, Not(HasSubstr("flowrun_sort_runs")));  // it was never given a value
}

TEST(exporter, serves_histograms_with_cumulative_buckets) {
  collection source;
  const auto attached = source.attach([](sink& into) {
    into.histogram(metric::flowrun_disk_request_seconds, {"/scratch", "read"}, {{0.5, 1}, {2, 3, 4}, 7.5});
  });
  const exporter server("127.0.0.1:0", source, "nightly");
  const std::string page = scrape(server.url());
  EXPECT_THAT(page, HasSubstr("flowrun_disk_request_seconds_bucket{job_name=\"nightly\",disk=\"/"
                              "scratch\",direction=\"read\",le=\"0.5\"} 2"));
  EXPECT_THAT(
      page,
      HasSubstr(
          "flowrun_disk_request_seconds_bucket{job_name=\"nightly\",disk=\"/scratch\",direction=\"read\",le=\"1\"} 5"));
  EXPECT_THAT(page, HasSubstr("flowrun_disk_request_seconds_bucket{job_name=\"nightly\",disk=\"/"
                              "scratch\",direction=\"read\",le=\"+Inf\"} 9"));
  EXPECT_THAT(
      page,
      HasSubstr("flowrun_disk_request_seconds_sum{job_name=\"nightly\",disk=\"/scratch\",direction=\"read\"} 7.5"));
  EXPECT_THAT(
      page,
      HasSubstr("flowrun_disk_request_seconds_count{job_name=\"nightly\",disk=\"/scratch\",direction=\"read\"} 9"));
}

int port_of(const exporter& served) { return std::stoi(served.url().substr(served.url().rfind(':') + 1)); }

TEST(exporter, says_when_the_port_is_taken) {
  collection source;
  const exporter first("0", source, "nightly");
  const std::string taken = first.url().substr(7, first.url().rfind('/') - 7);
  try {
    const exporter second(taken, source, "nightly");
    ADD_FAILURE() << taken;
  } catch (const address_taken& e) {
    EXPECT_EQ(e.kind(), error_kind::io);
    EXPECT_THAT(e.what(), HasSubstr(taken));
    EXPECT_THAT(e.what(), HasSubstr("the port is taken"));
  }
}

// An address of another machine is a mistake, and no matter of which job came first.
TEST(exporter, says_when_the_address_is_not_ours) {
  collection source;
  for (const char* text : {"192.0.2.1:9464", "198.51.100.7:9464"}) {
    try {
      const exporter served(text, source, "nightly");
      ADD_FAILURE() << text;
    } catch (const address_taken& e) {
      ADD_FAILURE() << e.what();
    } catch (const error& e) {
      EXPECT_EQ(e.kind(), error_kind::io);
      EXPECT_THAT(e.what(), HasSubstr(text));
    }
  }
}

TEST(listen_addresses, are_numbers_of_the_fourth_version) {
  for (const char* text : {"[::1]:9464", "[::]:9464", "::1:0", "[2001:db8::1]:9464"}) {
    try {
      listen_addresses(text);
      ADD_FAILURE() << text;
    } catch (const error& e) {
      EXPECT_EQ(e.kind(), error_kind::usage) << text;
      EXPECT_THAT(e.what(), HasSubstr("IPv6")) << text;
    }
  }
  for (const char* text : {"999.0.0.1:0", "1.2.3:9464", "a:0", "[127.0.0.1]:0", "[:0"}) {
    try {
      listen_addresses(text);
      ADD_FAILURE() << text;
    } catch (const error& e) {
      EXPECT_EQ(e.kind(), error_kind::usage) << text;
    }
  }
}

TEST(exporter, takes_the_first_free_port_of_a_range) {
  collection source;
  const auto attached = source.attach([](sink& into) { into.value(metric::flowrun_job_phase, {}, 7); });
  const exporter first("20000-20200", source, "first");
  const exporter second("20000-20200", source, "second");
  const exporter third("20000-20200", source, "third");
  EXPECT_GE(port_of(first), 20000);
  EXPECT_GT(port_of(second), port_of(first));
  EXPECT_GT(port_of(third), port_of(second));
  EXPECT_LE(port_of(third), 20200);
  EXPECT_THAT(scrape(third.url()), HasSubstr("flowrun_job_phase{job_name=\"third\"} 7"));
}

// The web server by itself looks every two seconds whether it is to stop.
TEST(exporter, ends_at_once) {
  collection source;
  for (const char* address : {"127.0.0.1:0", "0.0.0.0:0"}) {
    auto served = std::make_unique<exporter>(address, source, "nightly");
    const auto before = std::chrono::steady_clock::now();
    served.reset();
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(1)) << address;
  }
}

TEST(page, is_what_a_scrape_gets) {
  collection source;
  const auto attached = source.attach([](sink& into) { into.value(metric::flowrun_job_phase, {}, 7); });
  EXPECT_EQ(page_of(source, "a \"b\"\n\\"),
            "# HELP flowrun_job_phase The phase that runs, from 1.\n# TYPE flowrun_job_phase gauge\n"
            "flowrun_job_phase{job_name=\"a \\\"b\\\"\\n\\\\\"} 7\n");
}

}  // namespace
}  // namespace flowrun::metrics
