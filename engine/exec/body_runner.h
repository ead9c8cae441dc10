// Runs one body of a control node, again and again, with streams of changing size.
//
// A plan is made for sizes: what fits in memory stays there and gets small buffers, what doesn't gets blocks. So there
// is one plan, with the graph it was made for, per class of sizes: below 64 KiB, and then each doubling of each
// stream's bytes. Iterations whose streams stay in their classes cost no planning.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "engine/exec/graph_host.h"
#include "engine/exec/graph_runner.h"
#include "engine/exec/nested_services.h"

namespace flowrun::exec {

class body_runner {
 public:
  // `result`: memory of each vector that takes results. `host` outlives it.
  body_runner(std::shared_ptr<const plan::graph> checked, const plan::machine& resources, const vector_memory& result,
              graph_host& host);
  ~body_runner();

  void run(stream_table& streams, const std::vector<uint64_t>& scalars);
  // The control node is done: what nodes kept from one run to the next goes.
  void forget_kept() { job_.forget_kept(); }

 private:
  struct instance;
  using size_classes = std::vector<unsigned>;
  size_classes classes_of(const stream_table& streams) const;
  std::unique_ptr<instance> make_instance(const stream_table& streams, size_classes classes);
  instance& instance_for(const stream_table& streams);

  const std::shared_ptr<const plan::graph> checked_;
  const plan::machine resources_;
  const vector_memory result_memory_;
  graph_host& host_;
  nested_services job_;
  std::deque<std::unique_ptr<instance>> instances_;  // the last one used comes first
};

}  // namespace flowrun::exec
