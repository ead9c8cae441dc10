#include "engine/plan/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "engine/base/counted.h"
#include "engine/base/units.h"
#include "engine/plan/body_ports.h"
#include "engine/plan/control_memory.h"
#include "engine/plan/sort_request.h"
#include "engine/sizes/batches_in_flight.h"
#include "engine/sizes/container_block.h"
#include "engine/sizes/sorted_row.h"
#include "specs/value.h"

namespace flowrun::plan {

namespace {

constexpr uint64_t smallest_batch = 16 * KiB;
constexpr uint64_t largest_batch = 256 * KiB;

// One claimant of a phase: a part of a node, a stored input, or a spilling queue.
struct claimant {
  int node = -1;
  node_part part = node_part::whole;
  int input = 0;
  int queue = -1;
  memory_claim claim;
};

class splitter {
 public:
  splitter(const graph& g, const pipeline_layout& layout, physical_plan& plan)
      : graph_(g), layout_(layout), plan_(plan), claimants_(plan.phases.size()), held_(plan.phases.size(), 0) {
    for (size_t x = 0; x < plan.phases.size(); ++x)
      recurs_.push_back(is_control(x) && recurs(graph_.nodes[static_cast<size_t>(first_pipeline(x).head)]));
  }

  uint64_t least() {
    collect_nodes();
    plan_.batch_bytes = plan_.resources.batch_bytes > 0 ? plan_.resources.batch_bytes : smallest_batch;
    uint64_t most = 0;
    for (size_t x = 0; x < plan_.phases.size(); ++x) most = std::max(most, minimum_of(x));
    return std::max(most, least_for_rows());
  }

  void run(std::vector<fault>& faults) {
    collect_nodes();
    choose_batch_bytes();
    for (size_t x = 0; x < plan_.phases.size(); ++x)
      if (minimum_of(x) > plan_.resources.memory_bytes) return report(faults);
    if (least_for_rows() > plan_.resources.memory_bytes) return report_row(faults);
    for (size_t x = 0; x < plan_.phases.size(); ++x) minimums_.push_back(minimum_of(x));
    for (size_t x = 0; x < plan_.phases.size(); ++x) split(x);
  }

 private:
  void collect_nodes() {
    for (size_t x = 0; x < plan_.phases.size(); ++x)
      for (int p : plan_.phases[x].pipelines) {
        const pipeline& line = plan_.pipelines[static_cast<size_t>(p)];
        add_node(x, line.head, part_in(graph_, line, line.head));
        for (int n : line.nodes) add_node(x, n, part_in(graph_, line, n));
        for (const stored_input& s : line.stores) add_stored(x, s);
      }
    count_halves();
  }

  void count_halves() {
    for (phase& p : plan_.phases) p.sort_halves = 0;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!is_breaker(static_cast<int>(n))) continue;
      const int merging = phase_of(static_cast<int>(n));
      for (int x = phase_of_intake(n); x <= merging; ++x) ++plan_.phases[static_cast<size_t>(x)].sort_halves;
    }
  }

  bool is_breaker(int n) const { return graph_.nodes[static_cast<size_t>(n)].role() == operator_role::breaker; }

  void add_node(size_t x, int index, node_part part) {
    const node& n = graph_.nodes[static_cast<size_t>(index)];
    const bool control = n.role() == operator_role::control;
    if (!n.declaration->memory && !control) return;
    claimant c{index, part, 0, -1, {control ? control_wish(n, part) : n.declaration->memory(n, part), 0}};
    if (is_breaker(index))
      c.claim.wish.minimum = std::max({c.claim.wish.minimum, sizes::least_sort_memory(plan_.resources.block_bytes),
                                       sizes::least_memory_for_row(request_of(graph_, n, plan_.resources).row_bytes)});
    c.claim.wish.maximum = std::max(c.claim.wish.maximum, c.claim.wish.minimum);
    claimants_[x].push_back(c);
  }

  // The graph inside wants as much as it can get. Reading the results takes only some blocks.
  memory_wish control_wish(const node& n, node_part part) const {
    if (part == node_part::results) return {64 * KiB, 4 * MiB, 0.05};
    return {control_minimum(n, plan_.resources), UINT64_MAX / 4, 1};
  }

  bool has_stored_inputs(int n) const { return graph_.nodes[static_cast<size_t>(n)].stores(); }

  void add_stored(size_t x, const stored_input& s) {
    const node& n = graph_.nodes[static_cast<size_t>(s.node)];
    claimant c{s.node, node_part::intake, s.input, -1, {}};
    if (is_vector(c))
      c.claim.wish = vector_wish(n, graph_.input_of(n, static_cast<size_t>(s.input)));
    else if (n.declaration->memory)
      c.claim.wish = n.declaration->memory(n, node_part::intake);
    c.claim.wish.maximum = std::max(c.claim.wish.maximum, c.claim.wish.minimum);
    claimants_[x].push_back(c);
  }

  // As for a spilling queue, with all rows in memory where they are few. Of many rows, a part in memory would be held
  // for long (in a loop) and save little, unless it is the part that is sought again and again.
  memory_wish vector_wish(const node& n, const output_port& rows) const {
    memory_wish wish = queue_wish(rows);
    const uint64_t whole = rows.estimate.num_bytes + wish.minimum;
    const bool fits = rows.estimate.known && whole <= plan_.resources.memory_bytes / 4;
    const uint64_t part = plan_.resources.memory_bytes / (is_sought_again(n) ? 8 : 16);
    wish.maximum = fits ? whole : std::max(wish.minimum, part);
    return wish;
  }

  // A spilling queue wants two blocks and two batches to write behind, or more where rows make blocks longer, and is
  // worth a modest share on top: small streams then never touch a disk.
  memory_wish queue_wish(const output_port& rows) const {
    const uint64_t block = plan_.resources.block_bytes > 0 ? plan_.resources.block_bytes : 64 * KiB;
    const uint64_t usual = 2 * block * std::max(1U, plan_.resources.num_disks) + 2 * plan_.batch_bytes;
    const uint64_t minimum = std::max(usual, sizes::least_container_memory(rows.type.row_bytes()));
    return {minimum, std::max(minimum, 64 * MiB), 0.25};
  }
  memory_wish queue_wish(const queue& q) const {
    return queue_wish(graph_.nodes[static_cast<size_t>(q.from_node)].outputs[static_cast<size_t>(q.from_port)]);
  }

  int first_phase(const queue& q) const { return phase_of(q.from_node); }
  int last_phase(const queue& q) const { return phase_of(q.to_node); }
  int phase_of(int node) const {
    return plan_.pipelines[static_cast<size_t>(layout_.gives[static_cast<size_t>(node)])].phase;
  }
  int phase_of_intake(size_t node) const { return plan_.pipelines[static_cast<size_t>(layout_.feeds[node])].phase; }
  // The last phase in which what was stored for a node is held.
  size_t last_use(int node) const {
    return static_cast<size_t>(plan_.pipelines[static_cast<size_t>(layout_.uses(node))].phase);
  }

  // In the phase of a control node nothing flows; what is inside counts its own.
  uint64_t batches_of(size_t x) const {
    if (is_control(x)) return 0;
    const uint64_t in_flight =
        plan_.phases[x].pipelines.size() * sizes::tickets_in_flight(plan_.resources.threads) * plan_.batch_bytes;
    uint64_t bounded = 0;
    for (const queue& q : plan_.queues)
      if (q.kind == queue_kind::bounded && first_phase(q) == static_cast<int>(x))
        bounded += sizes::bounded_queue_batches * plan_.batch_bytes;
    return in_flight + in_flight / 2 + bounded;  // a stage holds its input and makes its output
  }

  // What queues that begin in an earlier phase, and inputs that were stored in one, hold at least: their minimums, but
  // where they rest. And what the states of regular expressions may take, which stay from phase to phase.
  uint64_t passing(size_t x) const {
    uint64_t total = plan_.resources.pattern_bytes;
    for (const queue& q : plan_.queues)
      if (passes(q, x)) total += recurs_[x] ? resting_bytes(plan_.resources) : queue_wish(q).minimum;
    for (size_t earlier = 0; earlier < x; ++earlier)
      for (const claimant& c : claimants_[earlier])
        if (is_stored(c) && x <= last_use(c.node)) total += passing_minimum(c, x);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) total += kept_index(n, x);
    return total;
  }
  // The index of a file that a node of a body seeks in stays from one iteration to the next. In the node's own phase
  // it is part of the node's share.
  uint64_t kept_index(size_t index, size_t x) const {
    const node& n = graph_.nodes[index];
    if (graph_.path.empty() || !n.facts.seeks_in_file) return 0;
    const bool works = std::any_of(claimants_[x].begin(), claimants_[x].end(),
                                   [&](const claimant& c) { return c.node == static_cast<int>(index); });
    return works ? 0 : n.facts.seeks_in_file->num_bytes.value_or(0);
  }
  bool passes(const queue& q, size_t x) const {
    return q.kind == queue_kind::spilling && first_phase(q) < static_cast<int>(x) &&
           static_cast<int>(x) <= last_phase(q);
  }
  uint64_t passing_minimum(const claimant& stored, size_t x) const {
    return recurs_[x] && is_vector(stored) ? resting_bytes(plan_.resources) : stored.claim.wish.minimum;
  }

  // Whether it has to rest between the phases x and `last`, or while `last` uses it.
  bool rests(size_t x, size_t last) const {
    for (size_t z = x + 1; z <= last; ++z)
      if (recurs_[z]) return true;
    return false;
  }

  // A control node whose results some node reads.
  bool is_at_work(const claimant& c) const {
    return graph_.nodes[static_cast<size_t>(c.node)].role() == operator_role::control && c.part == node_part::work &&
           layout_.gives[static_cast<size_t>(c.node)] >= 0;
  }
  bool is_stored(const claimant& c) const {
    return c.node >= 0 && c.part == node_part::intake && has_stored_inputs(c.node);
  }
  // Stored in a vector for which the operator wishes nothing of its own.
  bool is_vector(const claimant& c) const {
    const node& n = graph_.nodes[static_cast<size_t>(c.node)];
    if (!n.inputs[static_cast<size_t>(c.input)].as_vector) return false;
    return !n.declaration->memory || n.declaration->memory(n, node_part::intake) == memory_wish();
  }

  uint64_t minimum_of(size_t x) const {
    uint64_t total = batches_of(x) + passing(x);
    for (const claimant& c : claimants_[x]) total += c.claim.wish.minimum;
    for (const queue& q : plan_.queues)
      if (q.kind == queue_kind::spilling && first_phase(q) == static_cast<int>(x)) total += queue_wish(q).minimum;
    return total;
  }

  static uint64_t width_of(const node& n) {
    uint64_t width = 0;
    for (const output_port& port : n.outputs) width = std::max<uint64_t>(width, port.type.row_bytes());
    return width;
  }
  // The node whose rows need the most memory, so that they are no longer than sizes::longest_row.
  struct wide_rows {
    uint64_t memory_bytes = 0;
    int node = -1;
    uint64_t copies = 0;
  };
  wide_rows widest() const {
    wide_rows most;
    for (size_t x = 0; x < plan_.phases.size(); ++x) {
      const uint64_t queues = plan_.num_bounded_queues(x);
      const auto look_at = [&](int index) {
        const uint64_t width = width_of(graph_.nodes[static_cast<size_t>(index)]);
        const uint64_t wanted = sizes::least_memory_for_row(width, queues);
        if (wanted > most.memory_bytes) most = {wanted, index, sizes::copies_of_a_row(queues)};
      };
      for (int p : plan_.phases[x].pipelines) {
        const pipeline& line = plan_.pipelines[static_cast<size_t>(p)];
        look_at(line.head);
        for (int n : line.nodes) look_at(n);
        for (const stored_input& s : line.stores) look_at(s.node);
      }
    }
    return most;
  }
  uint64_t least_for_rows() const { return widest().memory_bytes; }

  // About an eighth of the memory for batches in flight, in the cache's reach; less where the minimums ask for it.
  void choose_batch_bytes() {
    size_t most_pipelines = 1;
    for (const phase& p : plan_.phases) most_pipelines = std::max(most_pipelines, p.pipelines.size());
    const uint64_t shares =
        std::max<uint64_t>(64, 8 * sizes::tickets_in_flight(plan_.resources.threads)) * most_pipelines;
    plan_.batch_bytes = std::clamp(plan_.resources.memory_bytes / shares / 4096 * 4096, smallest_batch, largest_batch);
    if (plan_.resources.batch_bytes > 0) {
      plan_.batch_bytes = plan_.resources.batch_bytes;
      return;
    }
    auto fits = [&] {
      for (size_t x = 0; x < plan_.phases.size(); ++x)
        if (minimum_of(x) > plan_.resources.memory_bytes) return false;
      return true;
    };
    while (plan_.batch_bytes > smallest_batch && !fits())
      plan_.batch_bytes = std::max(smallest_batch, plan_.batch_bytes / 2);
  }

  void split(size_t x) {
    std::vector<claimant> all = claimants_[x];
    for (size_t q = 0; q < plan_.queues.size(); ++q)
      if (plan_.queues[q].kind == queue_kind::spilling && first_phase(plan_.queues[q]) == static_cast<int>(x))
        all.push_back({-1, node_part::whole, 0, static_cast<int>(q), {queue_wish(plan_.queues[q]), 0}});
      else if (plan_.queues[q].kind == queue_kind::bounded)
        plan_.queues[q].memory_bytes = sizes::bounded_queue_batches * plan_.batch_bytes;
    phase& out = plan_.phases[x];
    out.batches_bytes = batches_of(x);
    out.held_bytes = passing(x) + held_[x];
    std::vector<memory_claim> claims;
    for (const claimant& c : all) claims.push_back(c.claim);
    share_memory(claims, plan_.resources.memory_bytes - out.batches_bytes - out.held_bytes);
    for (size_t i = 0; i < all.size(); ++i) {
      const memory_claim& claim = claims[i];
      out.memory_bytes += claim.given;
      if (all[i].queue >= 0)
        give_queue(x, plan_.queues[static_cast<size_t>(all[i].queue)], claim);
      else
        give_node(x, all[i], claim);
    }
    plan_.predicted_peak_memory =
        std::max(plan_.predicted_peak_memory, out.memory_bytes + out.batches_bytes + out.held_bytes);
  }

  // Half of what the phases after x, up to `last`, have above their minimums and what they hold already. Only a
  // sixteenth in the phase of a control node that doesn't use what is held: the graph inside has more use for memory.
  // `resting`: phases of recursions don't count.
  uint64_t room_after(size_t x, size_t last, bool resting = false) const {
    uint64_t room = UINT64_MAX;
    for (size_t z = x + 1; z <= last; ++z) {
      if (recurs_[z] && resting) continue;
      const uint64_t above = plan_.resources.memory_bytes - minimums_[z] - held_[z];
      room = std::min(room, above / (z < last && is_control(z) ? 16 : 2));
      if (recurs_[z]) room = std::min(room, resting_bytes(plan_.resources));
    }
    return room;
  }

  const pipeline& first_pipeline(size_t x) const {
    return plan_.pipelines[static_cast<size_t>(plan_.phases[x].pipelines.front())];
  }
  bool is_control(size_t x) const { return first_pipeline(x).control; }

  void hold(size_t x, size_t last, uint64_t num_bytes, bool resting = false) {
    for (size_t z = x + 1; z <= last; ++z)
      if (!recurs_[z] || !resting) held_[z] += num_bytes;
  }

  void give_queue(size_t x, queue& q, const memory_claim& claim) {
    q.memory_bytes = q.kept_bytes = claim.given;
    const auto last = static_cast<size_t>(last_phase(q));
    if (last == x) return;
    const uint64_t extra = std::min(claim.given - claim.wish.minimum, room_after(x, last, true));
    hold(x, last, extra, true);
    plan_.phases[x].memory_bytes -= claim.given - claim.wish.minimum - extra;
    q.memory_bytes = q.kept_bytes = claim.wish.minimum + extra;
    if (rests(x, last)) q.kept_bytes = std::min(q.kept_bytes, resting_bytes(plan_.resources));
  }

  void give_node(size_t x, const claimant& c, const memory_claim& claim) {
    memory_share share;
    share.node = c.node;
    share.part = c.part;
    share.input = c.input;
    share.phase = static_cast<int>(x);
    share.minimum = claim.wish.minimum;
    share.given = claim.given;
    share.maximum = claim.wish.maximum;
    if (is_breaker(c.node) && c.part == node_part::intake) {
      const auto last = static_cast<size_t>(phase_of(c.node));
      share.kept_bytes = worth_keeping(c.node, claim.given, last, room_after(x, last));
      hold(x, last, share.kept_bytes);
    }
    if (is_at_work(c)) {
      const auto last = static_cast<size_t>(phase_of(c.node));
      const node& n = graph_.nodes[static_cast<size_t>(c.node)];
      const uint64_t vectors = claim.given - divide_control_memory(n, plan_.resources, claim.given).body_bytes;
      share.kept_bytes = std::min(vectors, room_after(x, last));
      hold(x, last, share.kept_bytes);
    }
    if (is_stored(c)) {
      const size_t last = last_use(c.node);
      if (is_vector(c) && rests(x, last)) {
        share.kept_bytes = std::min(claim.wish.minimum, resting_bytes(plan_.resources));
      } else {
        const uint64_t extra = std::min(claim.given - claim.wish.minimum, room_after(x, last));
        hold(x, last, extra);
        share.kept_bytes = claim.wish.minimum + extra;
        if (is_vector(c)) share.given = share.kept_bytes;
      }
    }
    plan_.shares.push_back(share);
  }

  uint64_t worth_keeping(int index, uint64_t given, size_t merge_phase, uint64_t room) const {
    const node& n = graph_.nodes[static_cast<size_t>(index)];
    const row_estimate& estimate = graph_.input_of(n, 0).estimate;
    sizes::sort_request request = request_of(graph_, n, plan_.resources);
    request.halves = most_halves(plan_, layout_, index);
    uint64_t kept = std::min(given / 2, room);
    // Only an exact size is a bound; averages may be exceeded, and the length of strings always is one.
    if (estimate.exact && !graph_.input_of(n, 0).type.has_strings())
      kept = std::min(kept, sizes::bytes_to_sort(request.rows, request.num_bytes, request.row_bytes, request.indexed));
    if (!estimate.known) return kept;
    uint64_t num_merges = 0;
    for (const claimant& c : claimants_[merge_phase]) num_merges += is_breaker(c.node) && c.part == node_part::work;
    const uint64_t left =
        plan_.resources.memory_bytes - batches_of(merge_phase) - passing(merge_phase) - held_[merge_phase];
    request.create_bytes = given;
    request.merge_bytes = left / std::max<uint64_t>(1, num_merges);
    const uint64_t passes_without = sizes::plan_sort(request).passes;
    request.kept_bytes = kept;
    request.merge_bytes = (left - kept) / std::max<uint64_t>(1, num_merges);
    return sizes::plan_sort(request).passes > std::max<uint64_t>(1, passes_without) ? 0 : kept;
  }

  // Of a merge of a thousand inputs nobody reads a thousand lines. Those that are left keep their order.
  static void keep_largest(std::vector<std::pair<std::string, uint64_t>>& rows) {
    constexpr size_t most = 15;
    if (rows.size() <= most + 1) return;
    std::vector<size_t> kept(rows.size());
    std::iota(kept.begin(), kept.end(), size_t{0});
    std::stable_sort(kept.begin(), kept.end(), [&](size_t a, size_t b) { return rows[a].second > rows[b].second; });
    uint64_t others = 0;
    for (size_t i = most; i < kept.size(); ++i) others += rows[kept[i]].second;
    kept.resize(most);
    std::sort(kept.begin(), kept.end());
    std::vector<std::pair<std::string, uint64_t>> out;
    for (const size_t i : kept) out.push_back(std::move(rows[i]));
    out.emplace_back(fmt::format("{} others", rows.size() - most), others);
    rows = std::move(out);
  }

  void report(std::vector<fault>& faults) const {
    size_t worst = 0;
    for (size_t x = 0; x < plan_.phases.size(); ++x)
      if (minimum_of(x) > minimum_of(worst)) worst = x;
    std::vector<std::pair<std::string, uint64_t>> rows;
    for (const claimant& c : claimants_[worst]) {
      const node& n = graph_.nodes[static_cast<size_t>(c.node)];
      const std::string part = is_breaker(c.node) ? (c.part == node_part::intake ? ", create" : ", merge")
                               : is_stored(c)     ? ", " + n.inputs[static_cast<size_t>(c.input)].name
                                                  : "";
      rows.emplace_back(fmt::format("{} ({}{})", n.id, n.declaration->name, part), c.claim.wish.minimum);
    }
    for (const queue& q : plan_.queues)
      if (q.kind == queue_kind::spilling && first_phase(q) <= static_cast<int>(worst) &&
          static_cast<int>(worst) <= last_phase(q))
        rows.emplace_back(fmt::format("{} -> {} (spilling queue)", graph_.nodes[static_cast<size_t>(q.from_node)].id,
                                      graph_.nodes[static_cast<size_t>(q.to_node)].id),
                          recurs_[worst] ? resting_bytes(plan_.resources) : queue_wish(q).minimum);
    for (size_t earlier = 0; earlier < worst; ++earlier)
      for (const claimant& c : claimants_[earlier])
        if (is_stored(c) && worst <= last_use(c.node))
          rows.emplace_back(
              fmt::format("{}.{} (stored)", graph_.nodes[static_cast<size_t>(c.node)].id,
                          graph_.nodes[static_cast<size_t>(c.node)].inputs[static_cast<size_t>(c.input)].name),
              passing_minimum(c, worst));
    for (size_t n = 0; n < graph_.nodes.size(); ++n)
      if (const uint64_t kept = kept_index(n, worst); kept > 0)
        rows.emplace_back(fmt::format("{} ({}, index)", graph_.nodes[n].id, graph_.nodes[n].declaration->name), kept);
    if (plan_.resources.pattern_bytes > 0) rows.emplace_back("regular expressions", plan_.resources.pattern_bytes);
    rows.emplace_back("batches in flight, " + counted(plan_.resources.threads, "thread"), batches_of(worst));
    keep_largest(rows);
    size_t width = 0;
    for (const auto& [who, num_bytes] : rows) width = std::max(width, who.size());
    const uint64_t needed = (std::max(minimum_of(worst), least_for_rows()) + MiB - 1) / MiB;
    std::string table = fmt::format("memory: {}MiB or more; phase {} wants at least", needed, worst + 1);
    for (const auto& [who, num_bytes] : rows)
      table += fmt::format("\n      {:<{}}  {:>9}", who, width, format_bytes(num_bytes));
    refuse(needed, std::move(table), "; fewer threads (-j) also need less", faults);
  }

  void report_row(std::vector<fault>& faults) const {
    const wide_rows rows = widest();
    const node& n = graph_.nodes[static_cast<size_t>(rows.node)];
    const uint64_t needed = (rows.memory_bytes + MiB - 1) / MiB;
    const std::string share =
        rows.copies == 8 ? "an eighth" : fmt::format("1/{} where so many streams meet", rows.copies);
    refuse(needed,
           fmt::format("memory: {}MiB or more; a row of '{}' takes {}, and may take {}", needed, n.id,
                       format_bytes(width_of(n)), share),
           "", faults);
  }

  void refuse(uint64_t needed_mib, std::string expected, const std::string& other_way,
              std::vector<fault>& faults) const {
    const specs::JobSpec& job = *graph_.job;
    faults.push_back(
        {specs::where(job.file(), job.resources().memory_position()),
         fmt::format("a memory budget of {} is too small for this job", format_bytes(plan_.resources.memory_bytes)),
         std::move(expected),
         fmt::format("set resources: {{memory: {0}MiB}} or run with -m {0}MiB{1}", needed_mib, other_way)});
  }

  const graph& graph_;
  const pipeline_layout& layout_;
  physical_plan& plan_;
  std::vector<std::vector<claimant>> claimants_;  // nodes, by phase
  std::vector<uint64_t> held_;                    // kept by earlier phases, beside what passing() counts
  std::vector<uint64_t> minimums_;                // by phase, once batch_bytes is chosen
  std::vector<bool> recurs_;                      // by phase: of a control node with a recursion inside
};

}  // namespace

void share_memory(std::vector<memory_claim>& claims, uint64_t available) {
  for (memory_claim& c : claims) {
    c.given = c.wish.minimum;
    available -= std::min(available, c.wish.minimum);
  }
  // Each round fills at least one claim to its maximum, or spends everything.
  for (size_t round = 0; round <= claims.size(); ++round) {
    double weights = 0;
    for (const memory_claim& c : claims)
      if (c.given < c.wish.maximum && c.wish.weight > 0) weights += c.wish.weight;
    if (weights <= 0 || available == 0) return;
    const uint64_t pot = available;
    bool filled = false;
    for (memory_claim& c : claims) {
      if (c.given >= c.wish.maximum || c.wish.weight <= 0) continue;
      const auto part = static_cast<uint64_t>(static_cast<double>(pot) * (c.wish.weight / weights));
      const uint64_t room = c.wish.maximum - c.given;
      filled = filled || room <= part;
      const uint64_t more = std::min({part, room, available});
      c.given += more;
      available -= more;
    }
    if (!filled) return;
  }
}

uint64_t most_halves(const physical_plan& plan, const pipeline_layout& layout, int index) {
  const auto phase_of = [&](const std::vector<int>& pipelines) {
    return static_cast<size_t>(plan.pipelines[static_cast<size_t>(pipelines[static_cast<size_t>(index)])].phase);
  };
  uint64_t most = 0;
  for (size_t x = phase_of(layout.feeds); x <= phase_of(layout.gives); ++x)
    most = std::max(most, plan.phases[x].sort_halves);
  return most;
}

uint64_t least_memory(const graph& g, const pipeline_layout& layout, physical_plan& plan) {
  return splitter(g, layout, plan).least();
}

void split_memory(const graph& g, const pipeline_layout& layout, physical_plan& plan, std::vector<fault>& faults) {
  splitter(g, layout, plan).run(faults);
}

}  // namespace flowrun::plan
