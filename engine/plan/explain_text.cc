#include <fmt/format.h>

#include <algorithm>

#include "engine/base/counted.h"
#include "engine/base/units.h"
#include "engine/plan/body_ports.h"
#include "engine/plan/control_memory.h"
#include "engine/plan/explain.h"

namespace flowrun::plan {

namespace {

size_t width_of(std::string_view text) {  // code points: names are ASCII, arrows are not
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// Columns padded to their widest cell.
class table {
 public:
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text(std::string_view indent) const {
    std::vector<size_t> widths;
    for (const auto& cells : rows_) {
      widths.resize(std::max(widths.size(), cells.size()));
      for (size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], width_of(cells[i]));
    }
    std::string out;
    for (const auto& cells : rows_) {
      std::string line(indent);
      for (size_t i = 0; i < cells.size(); ++i) line += cells[i] + std::string(widths[i] - width_of(cells[i]) + 2, ' ');
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

class text_explainer {
 public:
  text_explainer(const graph& g, const physical_plan& plan) : g_(g), plan_(plan) {}

  std::string text() {
    const std::string name = !g_.path.empty() ? "'" + g_.path + "'" : g_.job ? g_.job->name() : std::string();
    out_ = fmt::format("plan{}: {}, memory {}, {}, batches of {}\n", name.empty() ? "" : " of " + name,
                       counted(plan_.phases.size(), "phase"), format_bytes(plan_.resources.memory_bytes),
                       counted(plan_.resources.threads, "thread"), format_bytes(plan_.batch_bytes));
    for (size_t x = 0; x < plan_.phases.size(); ++x) phase_text(x);
    sorts_text();
    queues_text();
    notes_text();
    bodies_text();
    totals_text();
    return out_;
  }

 private:
  const node& at(int n) const { return g_.nodes[static_cast<size_t>(n)]; }
  bool is_breaker(int n) const { return at(n).role() == operator_role::breaker; }

  void phase_text(size_t x) {
    const phase& p = plan_.phases[x];
    out_ += fmt::format("\nphase {}: {} for nodes and queues, {} for batches in flight", x + 1,
                        format_bytes(p.memory_bytes), format_bytes(p.batches_bytes));
    if (p.held_bytes > 0) out_ += fmt::format(", {} held from earlier phases", format_bytes(p.held_bytes));
    out_ += "\n";
    for (int line : p.pipelines) {
      const pipeline& pipe = plan_.pipelines[static_cast<size_t>(line)];
      out_ += "  ";
      if (pipe.control)
        out_ += at(pipe.head).id + " at work\n";
      else
        flow_text(pipe, pipe.head, part_in(g_, pipe, pipe.head), "  ");
    }
    table nodes;
    for (int line : p.pipelines) {
      const pipeline& pipe = plan_.pipelines[static_cast<size_t>(line)];
      node_rows(nodes, pipe.head, pipe);
      for (int n : pipe.nodes) node_rows(nodes, n, pipe);
      for (const stored_input& s : pipe.stores) stored_row(nodes, s);
    }
    out_ += nodes.text("    ");
  }

  // What a batch runs through from node n on. A fork continues on lines of its own.
  void flow_text(const pipeline& pipe, int n, node_part part, const std::string& indent) {
    out_ += part_name(at(n), part);
    std::vector<std::pair<std::string, int>> next;  // (arrow and port, node) or (text, -1)
    if (!(is_breaker(n) && part == node_part::intake)) {
      for (size_t port = 0; port < at(n).outputs.size(); ++port)
        for (const auto& [consumer, input] : at(n).outputs[port].consumers) {
          const std::string label = port == 0 ? "" : "." + at(n).outputs[port].name;
          if (const queue* q = plan_.queue_into(consumer, input)) {
            next.emplace_back(
                fmt::format("{} ─▶ [{} {}.{}]", label, q->kind == queue_kind::bounded ? "queue" : "spilling queue",
                            at(consumer).id, input_label(consumer, input)),
                -1);
          } else if (seeks_in_file(at(consumer), input)) {
            continue;
          } else if (at(consumer).inputs[static_cast<size_t>(input)].stored) {
            next.emplace_back(fmt::format("{} ─▶ {} (store)", label, stored_name(consumer, input)), -1);
          } else {
            next.emplace_back(label + " ─▶ ", consumer);
          }
        }
    }
    if (next.empty()) {
      out_ += "\n";
    } else if (next.size() == 1) {
      out_ += next.front().first;
      next.front().second < 0 ? void(out_ += "\n")
                              : flow_text(pipe, next.front().second, part_in(g_, pipe, next.front().second), indent);
    } else {
      out_ += "\n";
      for (size_t i = 0; i < next.size(); ++i) {
        const bool last = i + 1 == next.size();
        const std::string& arrow = next[i].first;
        out_ += indent + (last ? "  └" : "  ├") + (arrow.starts_with(' ') ? arrow.substr(1) : arrow);
        next[i].second < 0
            ? void(out_ += "\n")
            : flow_text(pipe, next[i].second, part_in(g_, pipe, next[i].second), indent + (last ? "   " : "  │"));
      }
    }
  }

  static bool seeks_in_file(const node& n, int input) {
    return n.facts.seeks_in_file && n.inputs[static_cast<size_t>(input)].stored;
  }

  std::string input_label(int n, int input) const {
    const node& to = at(n);
    return to.declaration->any_number_of_inputs ? std::to_string(input + 1)
                                                : to.inputs[static_cast<size_t>(input)].name;
  }

  std::string stored_name(int n, int input) const { return at(n).id + "." + input_label(n, input); }

  std::string memory_text(int index, node_part part, int input) const {
    for (const memory_share& s : plan_.shares)
      if (s.node == index && s.part == part && s.input == input && s.given > 0)
        return "memory " + format_bytes(s.given) + (s.kept_bytes > 0 ? ", may keep " + format_bytes(s.kept_bytes) : "");
    return {};
  }

  void stored_row(table& nodes, const stored_input& s) {
    nodes.row({stored_name(s.node, s.input), at(s.node).declaration->name + " (store)", "", "", "",
               memory_text(s.node, node_part::intake, s.input)});
  }

  void node_rows(table& nodes, int index, const pipeline& pipe) {
    const node& n = at(index);
    const node_part part = part_in(g_, pipe, index);
    const std::string memory = memory_text(index, part, 0);
    std::string op = n.declaration->name + (n.elided ? " (elided)" : "");
    if (is_breaker(index)) op += part == node_part::intake ? " (create)" : " (merge)";
    if (n.outputs.empty() || (is_breaker(index) && part == node_part::intake)) {
      nodes.row({n.id, op, "", "", "", memory});
      return;
    }
    for (size_t port = 0; port < n.outputs.size(); ++port) {
      const output_port& out = n.outputs[port];
      nodes.row({port == 0 ? n.id : n.id + "." + out.name, port == 0 ? op : "", record::to_string(out.type),
                 out.sorted_by.empty() ? "unsorted" : "by " + to_string(out.sorted_by), to_string(out.estimate),
                 port == 0 ? memory : ""});
    }
  }

  void sorts_text() {
    if (plan_.sorts.empty()) return;
    out_ += "\nsorts\n";
    table sorts;
    for (const sort_prediction& s : plan_.sorts) {
      std::string what;
      if (!s.known) {
        what = fmt::format("size unknown; runs of {}, up to {} merged at once", format_bytes(run_bytes(s)), s.fan_in);
      } else if (s.merge_passes == 0) {
        what = fmt::format("{} stay in memory", format_bytes(s.num_bytes));
      } else if (s.in_blocks) {
        what = fmt::format(
            "no sort: {} in {} of {}, in whole blocks of {} to their places, scratch {} written and {} read",
            format_bytes(s.num_bytes), counted(s.runs, "memoryload"), format_bytes(run_bytes(s)),
            format_bytes(s.block_bytes), format_bytes(s.written_bytes), format_bytes(s.read_bytes));
      } else {
        what = fmt::format(
            "{}{} in {} of {}, {} of fan-in {}, blocks of {}, scratch {}{} written and {} read{}", how_many_bytes(s),
            format_bytes(s.num_bytes), counted(s.runs, "run"), format_bytes(std::min(run_bytes(s), s.num_bytes)),
            s.merge_passes == 1 ? "1 merge pass" : fmt::format("{} merge passes", s.merge_passes), s.fan_in,
            format_bytes(s.block_bytes), s.compressed ? "at most " : "", format_bytes(s.written_bytes),
            format_bytes(s.read_bytes), s.compressed ? ", less as compressed" : "");
      }
      sorts.row({at(s.node).id, what});
      if ((s.known && s.merge_passes == 0) || s.in_blocks) continue;
      // A run that stays in memory needs no buffer.
      const uint64_t runs = std::min({s.fan_in, uint64_t{s.merger.num_buffers}, s.known ? s.runs : s.fan_in});
      sorts.row(
          {"", fmt::format("buffers: {} to write, {} to read ({} for {}, {} ahead); {} in flight per disk{}",
                           counted(s.creator.write_buffers, "block"), s.merger.num_buffers, runs,
                           s.known ? "the runs" : "runs", s.merger.num_buffers - runs, plan_.resources.disk_depth,
                           plan_.resources.num_disks > 1 ? fmt::format(", {} disks", plan_.resources.num_disks) : "")});
    }
    out_ += sorts.text("  ");
  }

  const char* how_many_bytes(const sort_prediction& s) const {
    const output_port& in = g_.input_of(at(s.node), 0);
    if (in.estimate.exact && !in.type.has_strings()) return "";
    return in.estimate.bounds_bytes() ? "at most " : "about ";
  }

  uint64_t run_bytes(const sort_prediction& s) const {
    if (s.known && s.runs > 0) return (s.num_bytes + s.runs - 1) / s.runs;
    return plan_.share_of(s.node, node_part::intake) / 2;
  }

  void queues_text() {
    table queues;
    bool any = false;
    for (const queue& q : plan_.queues) {
      if (q.kind != queue_kind::spilling) continue;
      any = true;
      queues.row({fmt::format("{} ─▶ {}.{}", at(q.from_node).id, at(q.to_node).id, input_label(q.to_node, q.to_input)),
                  "memory " + format_bytes(q.memory_bytes), q.reason});
    }
    if (any) out_ += "\nspilling queues\n" + queues.text("  ");
  }

  void notes_text() {
    std::string notes;
    for (size_t i = 0; i < g_.nodes.size(); ++i) {
      const node& n = g_.nodes[i];
      if (n.elided)
        notes += fmt::format("  '{}' does not sort: its input is sorted by {} already\n", n.id,
                             to_string(g_.input_of(n, 0).sorted_by));
      if (!n.recursion.expired()) {
        const uint64_t share = plan_.share_of(static_cast<int>(i), node_part::work);
        notes += fmt::format("  '{}' calls the graph that it is in: with {} of the memory\n", n.id,
                             format_bytes(divide_control_memory(n, plan_.resources, share).body_bytes));
      }
    }
    for (const node& n : g_.nodes)
      for (const scalar_row& row : is_internal(n) ? std::vector<scalar_row>() : n.scalars)
        notes += fmt::format("  '{}' names values of the one row of '{}', and runs once they are known\n", n.id,
                             g_.input_name(at(row.taken_by), 0));
    for (const node& n : g_.nodes)
      if (n.facts.partitions)
        notes +=
            fmt::format("  '{}' writes a file for each {}, {} at most{}\n", n.id,
                        fmt::join(n.facts.partitions->columns, " and "), format_count(n.facts.partitions->max_files),
                        n.facts.partitions->one_after_another ? ", one after another" : "");
    for (const node& n : g_.nodes)
      for (size_t i = 0; i < n.inputs.size(); ++i)
        if (seeks_in_file(n, static_cast<int>(i)))
          notes += fmt::format("  '{}' seeks in the file of '{}' and reads the blocks that it needs\n", n.id,
                               g_.nodes[static_cast<size_t>(n.inputs[i].from_node)].id);
    if (!notes.empty()) out_ += "\nnotes\n" + notes;
  }

  // The graphs inside of control nodes, as they are planned before the run.
  void bodies_text() {
    for (const body_plan& b : plan_.bodies) {
      const graph& body = *at(b.node).bodies[b.body];
      const std::string text = text_explainer(body, *b.plan).text();
      out_ += fmt::format("\ninside of '{}', each time it runs (exact sizes may change this)\n", at(b.node).id);
      for (size_t from = 0; from < text.size();) {
        const size_t end = std::min(text.find('\n', from), text.size());
        out_ += (end > from ? "  │ " + text.substr(from, end - from) : std::string("  │")) + "\n";
        from = end + 1;
      }
    }
  }

  void totals_text() {
    const std::string how = plan_.prediction_bounds ? "at most " : "about ";
    auto most = [&](uint64_t num_bytes) {
      if (plan_.prediction_known) return how + format_bytes(num_bytes);
      if (num_bytes == 0) return std::string("unknown");
      return "unknown; " + how + format_bytes(num_bytes) + " for what is known";
    };
    out_ += "\npredicted\n";
    table totals;
    const bool reads_all =
        std::none_of(g_.nodes.begin(), g_.nodes.end(), [](const node& n) { return n.facts.seeks_in_file; });
    totals.row({"input", plan_.prediction_known && reads_all ? format_bytes(plan_.predicted_input_bytes)
                                                             : most(plan_.predicted_input_bytes)});
    totals.row({"scratch written", most(plan_.predicted_scratch_written)});
    totals.row({"scratch read", most(plan_.predicted_scratch_read)});
    totals.row({"peak scratch", most(plan_.predicted_peak_scratch)});
    const char* const as_rows = ", as rows in memory: text, or what is compressed, takes more or less";
    totals.row({"output", most(plan_.predicted_output_bytes) + (plan_.output_as_rows ? as_rows : "")});
    totals.row({"peak memory", "at most " + format_bytes(plan_.predicted_peak_memory) + ", beside the program itself"});
    out_ += totals.text("  ");
  }

  const graph& g_;
  const physical_plan& plan_;
  std::string out_;
};

}  // namespace

std::string part_name(const node& n, node_part part) {
  if (n.role() != operator_role::breaker) return n.id;
  return n.id + (part == node_part::intake ? " (create)" : " (merge)");
}

std::string to_string(const row_estimate& e) {
  if (!e.known) return "rows unknown";
  const char* const how = e.exact ? "" : e.bounds_rows() ? "at most " : "about ";
  return fmt::format("{}{}, {}", how, counted(e.rows, "row"), format_bytes(e.num_bytes));
}

std::string explain_text(const graph& g, const physical_plan& plan) { return text_explainer(g, plan).text(); }

}  // namespace flowrun::plan
