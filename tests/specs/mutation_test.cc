// A few thousand damaged jobs: reading each of them ends with a JobSpec and faults that render.
#include <gtest/gtest.h>

#include <random>

#include "tests/specs/reading.h"

namespace flowrun::specs {
namespace {

// Characters that mean something to YAML or to the job language come up often.
constexpr std::string_view telling = "[]{}:,-?&*!|>'\"%@`#~$. \n\t\r<0\x04\x7F\xC3\xFF";

std::string damage(std::string text, std::mt19937_64& random) {
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  for (size_t changes = 1 + below(4); changes > 0 && !text.empty(); --changes) {
    const size_t at = below(text.size());
    const char c = below(4) == 0 ? static_cast<char>(below(256)) : telling[below(telling.size())];
    switch (below(6)) {
      case 0: text[at] = c; break;
      case 1: text.insert(at, 1, c); break;
      case 2: text.erase(at, 1 + below(8)); break;
      case 3: text.insert(at, text.substr(below(text.size()), below(40))); break;
      case 4: text.resize(at); break;
      default: std::swap(text[at], text[below(text.size())]); break;
    }
  }
  return text;
}

// Damages `sound` so many times; gives how many of the results have faults.
size_t read_damaged(const std::string& sound, const std::map<std::string, std::string>& parameters, int times) {
  std::mt19937_64 random(20240607);
  size_t num_faulty = 0;
  for (int i = 0; i < times; ++i) {
    const std::string text = damage(sound, random);
    read_result result;
    EXPECT_NO_THROW(result = read_job(text, "job.yaml", parameters)) << text;
    num_faulty += result.faults.empty() ? 0 : 1;
    for (const fault& f : result.faults) {
      EXPECT_FALSE(f.message.empty()) << text;
      if (f.where.file.starts_with("-p ")) continue;  // the parameter's declaration was damaged
      EXPECT_GT(f.where.line, 0) << f.message << "\n" << text;
      EXPECT_GT(f.where.column, 0) << f.message << "\n" << text;
    }
    EXPECT_EQ(render(result.faults, result.text).empty(), result.faults.empty());
    JobSpec copy;
    EXPECT_TRUE(copy.ParseFromString(result.job.SerializeAsString())) << text;
    if (::testing::Test::HasFailure()) break;
  }
  return num_faulty;
}

TEST(mutation, damaged_jobs_never_throw) {
  const size_t num_faulty = read_damaged(std::string(testing::out_degree) + "# &a *a\n", {{"input", "x"}}, 4000);
  EXPECT_GT(num_faulty, 2000u);
  EXPECT_LT(num_faulty, 4000u);
}

TEST(mutation, damaged_control_flow_never_throws) {
  const size_t num_faulty = read_damaged(std::string(testing::search_levels) + "# &a *a\n", {{"source", "1"}}, 3000);
  EXPECT_GT(num_faulty, 1500u);
  EXPECT_LT(num_faulty, 3000u);
}

}  // namespace
}  // namespace flowrun::specs
