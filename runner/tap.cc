// flowrun tap: rows that a node of a running job gives on, from its page server.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <random>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/fault.h"
#include "runner/commands.h"
#include "runner/document.h"
#include "runner/page_client.h"
#include "runner/shown_text.h"
#include "runner/state_nodes.h"

namespace flowrun::runner {

namespace {

using exec::RunReport;

// The job's answer is a second away where no rows come, and may be later still where the machine is busy.
constexpr std::chrono::milliseconds patience = 2 * page_patience;
// Somebody else who asks for rows of the same node has them in a moment.
constexpr int most_conflicts = 20;

std::string in_query(std::string_view text) {
  std::string out;
  for (const char c : text) out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return out;
}

page_answer ask(const page_address& at, const std::string& path) {
  const page_exchange asked(at, path);
  if (asked.wait(patience)) return asked.answer();
  page_answer out;
  out.problem = fmt::format("nothing for {} seconds", patience / std::chrono::seconds(1));
  return out;
}

struct tapped_node {
  std::string id;
  std::string port;  // empty: the first
};

// NODE, or NODE.PORT: names of nodes inside of others have dots, too.
tapped_node find_node(const RunReport& state, const std::string& name) {
  if (node_of(state, name) != nullptr) return {name, {}};
  const size_t dot = name.rfind('.');
  if (dot != std::string::npos && node_of(state, name.substr(0, dot)) != nullptr) {
    const std::string id = name.substr(0, dot), port = name.substr(dot + 1);
    std::vector<std::string> ports;
    for (const auto& edge : state.edges())
      if (edge.from() == id && std::find(ports.begin(), ports.end(), edge.from_port()) == ports.end())
        ports.push_back(edge.from_port());
    if (std::find(ports.begin(), ports.end(), port) != ports.end()) return {id, port};
    // A control node has nodes inside, so the word may have been meant for one of these.
    if (node_of(state, id)->role() != "control")
      throw error(error_kind::usage, fmt::format("the node '{}' has no output '{}' that anybody reads", id, port),
                  one_of(ports));
  }
  std::vector<std::string> names;
  for (const auto& n : state.nodes()) names.push_back(n.id());
  const std::string meant = did_you_mean(name, names);
  throw error(error_kind::usage, fmt::format("the job has no node '{}'", name),
              (meant.empty() ? "" : meant + " ") + "its nodes: " + joined(names, ", "));
}

class tapper {
 public:
  tapper(const tap_arguments& asked, terminal& screen)
      : at_(parse_page_address(asked.address)), asked_(asked), screen_(screen) {}

  int tap() {
    while (num_rows_ < asked_.rows) {
      const RunReport state = state_in(at_, told(ask(at_, state_path_)));
      began_ = true;
      if (state.stages_size() > 0)
        throw error(error_kind::usage, "rows of a job on a cluster can't be tapped: they are in its tasks",
                    "write them to a file in the job, or run it without --cluster on a part of the input");
      if (node_.id.empty()) node_ = find_node(state, asked_.node);
      const RunReport::Node& node = *node_of(state, node_.id);
      if (!node.fused_with().empty())
        throw error(error_kind::usage,
                    fmt::format("the rows of '{}' are nowhere: its work is done by the program of '{}'", node_.id,
                                node.fused_with()),
                    fmt::format("flowrun tap {} {}", asked_.address, node.fused_with()));
      const RunReport::Phase::State phase = phase_state_of(state, node);
      if (!state.has_live() || phase == RunReport::Phase::finished) return end(state);
      if (phase == RunReport::Phase::waiting) note(fmt::format("the phase of {} has not begun: waiting", node_.id));
      take_rows();
    }
    return 0;
  }

 private:
  int end(const RunReport& state) {
    const std::string what = state.has_live() ? fmt::format("the phase of {} is over", node_.id)
                                              : fmt::format("the job has {}", state.status());
    if (num_rows_ == 0)
      throw error(error_kind::missing_input, what + ": no more rows come",
                  "flowrun top shows which nodes are at work; begin earlier, or write the rows to a file in the job");
    screen_.say(fmt::format("flowrun: {}: {} of {} rows\n", what, num_rows_, asked_.rows));
    return 0;
  }

  // Once each.
  void note(const std::string& text) {
    if (text == noted_) return;
    noted_ = text;
    screen_.say("flowrun: " + text + "\n");
  }

  // A job that was there and is no more has been killed, or has ended before it was asked again.
  const page_answer& told(page_answer got) {
    last_ = std::move(got);
    if (began_ && last_.status == 0)
      throw error(error_kind::io, fmt::format("the job at {} can't be reached any more: {}", at_.text(), last_.problem),
                  fmt::format("it has ended, after {} of {} rows", num_rows_, asked_.rows));
    return last_;
  }

  void take_rows() {
    const page_answer& got = told(ask(
        at_, fmt::format("/rows?node={}&port={}&rows={}&format={}&header={}", in_query(node_.id), in_query(node_.port),
                         asked_.rows - num_rows_, asked_.as_json ? "json" : "csv", has_header_ ? "no" : "yes")));
    if (got.status == 410) return;  // the state says how the job has ended
    if (got.status == 409 || got.status == 503) {
      if (++conflicts_ >= most_conflicts)
        throw error(error_kind::resources, "others ask for rows of the job all the time", "try again later");
      std::this_thread::sleep_for(std::chrono::milliseconds(250));
      return;
    }
    if (got.status == 422) throw error(error_kind::bad_data, first_line(got.body), "--format csv takes any text");
    if (got.status == 0) refuse_unanswered(at_, got);
    uint64_t came = 0;
    const char* const end = got.body.data() + got.body.size();
    const auto [behind, problem] = std::from_chars(got.body.data(), end, came);
    if (got.status != 200 || problem != std::errc() || behind == end || *behind != '\n')
      throw error(error_kind::bad_data,
                  fmt::format("the job at {} gives no rows: it answers {} to /rows", at_.text(), got.status),
                  "the flowrun that runs the job may be too old for tap: flowrun top shows the job");
    if (came == 0) return note(fmt::format("no rows of {} yet: waiting", node_.id));
    show({behind + 1, end});
    has_header_ = true;
    num_rows_ += came;
  }

  static std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

  // Rows can be anything. On a terminal nothing in them may move the cursor.
  void show(std::string_view text) {
    if (::isatty(STDOUT_FILENO) != 1) return print(text);
    std::string out;
    while (!text.empty()) {
      const size_t line = std::min(text.find('\n'), text.size());
      out += shown_text(text.substr(0, line), screen_.unicode()) + "\n";
      text.remove_prefix(std::min(line + 1, text.size()));
    }
    print(out);
  }

  const page_address at_;
  // By its name the job knows who looks, and waits for a moment at its end until it has been told so.
  const std::string state_path_ = fmt::format("/state.json?viewer=tap{}", std::random_device{}());
  const tap_arguments& asked_;
  terminal& screen_;
  tapped_node node_;
  page_answer last_;
  std::string noted_;
  uint64_t num_rows_ = 0;
  int conflicts_ = 0;
  bool has_header_ = false;
  bool began_ = false;
};

}  // namespace

int tap(const tap_arguments& arguments, terminal& screen) { return tapper(arguments, screen).tap(); }

}  // namespace flowrun::runner
