// Bodies inside nodes and named graphs: what the grammar makes of them and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "specs/value.h"
#include "tests/specs/reading.h"

namespace flowrun::specs {
namespace {

using ::testing::ElementsAre;
using testing::faults_in;
using testing::faults_of;
using ::testing::HasSubstr;
using testing::only_fault;

// One loop; its body's nodes begin in line 5, column 7.
std::string loop_around(const std::string& nodes, const std::string& carry = "cur: {rows: []}") {
  return "flowrun: 1\nnodes:\n  a: {op: x}\n  l: {op: loop, in: {e: a}, with: {carry: {" + carry +
         "}, body: {\n      " + nodes + "}}}\n";
}

std::string with_graph(const std::string& graph) {
  return "flowrun: 1\nnodes:\n  a: {op: x}\ngraphs:\n  g: {" + graph + "}\n";
}

std::vector<std::string> ids(const google::protobuf::RepeatedPtrField<Node>& nodes) {
  std::vector<std::string> out;
  for (const Node& node : nodes) out.push_back(node.id());
  return out;
}

TEST(control, bodies_are_nodes_and_not_parameters) {
  const read_result result = read_job(testing::search_levels, "job.yaml", {{"source", "7"}});
  ASSERT_THAT(faults_of(result), ElementsAre());
  const Node& levels = result.job.nodes(1);
  ASSERT_EQ(levels.bodies_size(), 1);
  EXPECT_EQ(levels.bodies(0).name(), "body");
  EXPECT_THAT(ids(levels.bodies(0).nodes()),
              ElementsAre("reached", "next", "sorted", "fresh", "new", "level", "halves"));
  EXPECT_EQ(find(levels.with(), "body"), nullptr);
  EXPECT_NE(find(levels.with(), "carry"), nullptr);
  EXPECT_EQ(text(*find(levels.with(), "until")), "rows(new) == 0");
  const Node& reached = levels.bodies(0).nodes(0);
  EXPECT_EQ(reached.inputs(1).from_node(), "edges");
  EXPECT_EQ(reached.position().line(), 18);
  const Node& halves = levels.bodies(0).nodes(6);
  ASSERT_EQ(halves.bodies_size(), 2);
  EXPECT_EQ(halves.bodies(0).name(), "then");
  EXPECT_EQ(halves.bodies(1).name(), "else");
  EXPECT_EQ(halves.bodies(1).nodes(0).id(), "some");
  // Parameters are replaced inside.
  EXPECT_EQ(text(*find(find(levels.with(), "carry")->map().entries(1).value(), "type")), "node");
  EXPECT_EQ(text(*find(halves.bodies(0).nodes(0).with(), "where")), "node != 7");
}

TEST(control, only_control_words_have_bodies) {
  const read_result result = read_job(
      "flowrun: 1\nnodes:\n  a: {op: x}\n  m: {op: map, in: a, with: {body: {op: y}, then: \"a + 1\"}}\n", "job.yaml");
  ASSERT_THAT(faults_of(result), ElementsAre());
  EXPECT_EQ(result.job.nodes(1).bodies_size(), 0);
  EXPECT_NE(find(result.job.nodes(1).with(), "body"), nullptr);
  // "then" belongs to if; in a loop it is a parameter, known or not.
  const read_result loop = read_job(loop_around("n: {op: x, in: cur}}, then: {n: {op: x}"), "job.yaml");
  ASSERT_THAT(faults_of(loop), ElementsAre());
  EXPECT_EQ(loop.job.nodes(1).bodies_size(), 1);
  EXPECT_NE(find(loop.job.nodes(1).with(), "then"), nullptr);
}

TEST(control, a_body_may_be_empty_but_not_absent) {
  EXPECT_THAT(faults_in(loop_around("")), ElementsAre());
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n  l: {op: loop, with: {until: \"true\"}}\n"),
              ElementsAre("3:11 the loop 'l' has no body"));
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n  l: {op: if}\n"), ElementsAre("3:11 the if 'l' has no then: or else"));
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n  l: {op: loop, with: {body: }}\n"),
              ElementsAre("3:24 'body' has no value"));
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n  l: {op: loop, with: {body: [a]}}\n"),
              ElementsAre("3:30 'body' is a list"));
}

TEST(control, nodes_of_a_body_have_the_grammar_of_nodes) {
  EXPECT_THAT(faults_in(loop_around("n: {in: cur}")), ElementsAre("5:7 the node 'n' has no op"));
  EXPECT_THAT(faults_in(loop_around("n: {op: x, in: cur, limit: 5}")),
              ElementsAre(HasSubstr("5:27 unknown key 'limit'")));
  EXPECT_THAT(faults_in(loop_around("n: x")), ElementsAre("5:10 'n' is text"));
  EXPECT_THAT(faults_in(loop_around("n: {op: x, in: cur, with: {a: }}")), ElementsAre("5:34 'a' has no value"));
  EXPECT_THAT(faults_in(loop_around("n: {op: x}, n: {op: y}")),
              ElementsAre(HasSubstr("5:19 the key 'n' stands here twice")));
}

TEST(control, inputs_without_names_are_called_as_their_nodes) {
  const auto loop = [](const std::string& in) {
    return "flowrun: 1\nnodes:\n  a: {op: x}\n  b: {op: x}\n  l: {op: loop, in: " + in +
           ", with: {body: {n: {op: x, in: a}}}}\n";
  };
  EXPECT_THAT(faults_in(loop("a")), ElementsAre());
  EXPECT_THAT(faults_in(loop("a.rest")), ElementsAre());
  EXPECT_THAT(faults_in(loop("[b, a]")), ElementsAre());
  EXPECT_THAT(faults_in(loop("b")), ElementsAre("5:53 there is no node 'a' under 'body' of 'l'"));
  EXPECT_THAT(faults_in(loop("[a, a.rest]")), ElementsAre("5:25 two inputs of 'l' are called 'a'"));
}

TEST(control, names_inside_a_body) {
  const fault unknown = only_fault(loop_around("n: {op: x, in: curr}"));
  EXPECT_EQ(unknown.message, "there is no node 'curr' under 'body' of 'l'");
  EXPECT_EQ(unknown.where, (source_position{"job.yaml", 5, 22}));
  EXPECT_EQ(unknown.hint, "did you mean 'cur'?");
  const fault outside = only_fault(loop_around("n: {op: x, in: a}"));
  EXPECT_EQ(outside.message, "there is no node 'a' under 'body' of 'l'");
  EXPECT_EQ(outside.hint, "nodes there can't see outside: add it under in: of 'l'");
  EXPECT_THAT(faults_in(loop_around("n: {op: x, in: e.bad}")),
              ElementsAre("5:22 'e' is brought in by 'l': one stream, without ports"));
  EXPECT_THAT(faults_in(loop_around("n: {op: x, in: n}")), ElementsAre("5:22 the node 'n' reads its own output"));
  EXPECT_THAT(faults_in(loop_around("n: {op: x, in: m}, m: {op: x, in: n}")),
              ElementsAre("5:41 the nodes run in a circle: n → m → n"));
  EXPECT_THAT(faults_in(loop_around("e: {op: x, in: cur}")), ElementsAre("5:7 'e' is brought in by 'l' already"));
  EXPECT_THAT(faults_in(loop_around("cur: {op: x, in: e}")), ElementsAre("5:7 'cur' is brought in by 'l' already"));
  EXPECT_THAT(faults_in(loop_around("n: {op: x, in: e}", "e: {rows: []}")),
              ElementsAre("4:44 'e' is an input of 'l' already"));
}

TEST(control, scalars_are_no_streams) {
  const std::string carry = "n: {value: 0}, other: {rows: []}";
  const fault near = only_fault(loop_around("k: {op: x, in: m}", carry));
  EXPECT_EQ(near.expected, "one of k, e, other");
  EXPECT_EQ(near.hint, "");
  const fault scalar = only_fault(loop_around("k: {op: x, in: n}", carry));
  EXPECT_EQ(scalar.message, "there is no node 'n' under 'body' of 'l'");
  EXPECT_EQ(scalar.expected, "one of k, e, other");
  EXPECT_EQ(scalar.hint, "'n' is a scalar of 'l': expressions use it by its name");
  EXPECT_EQ(only_fault(loop_around("i: {op: if, in: {r: e}, with: {then: {k: {op: x, in: n}}}}", carry)).hint,
            "'n' is a scalar of 'l': expressions use it by its name");
  EXPECT_THAT(faults_in(loop_around("n: {op: x, in: e}", carry)), ElementsAre("5:7 'n' is brought in by 'l' already"));
  EXPECT_THAT(faults_in(loop_around("k: {op: x, in: e}", "e: {value: 0}")),
              ElementsAre("4:44 'e' is an input of 'l' already"));
  const fault of_graph =
      only_fault(with_graph("in: {t: any}, scalars: {n: {type: int}}, out: k, nodes: {k: {op: x, in: n}}"));
  EXPECT_EQ(of_graph.expected, "one of k, t");
  EXPECT_EQ(of_graph.hint, "'n' is a scalar of the graph 'g': expressions use it by its name");
}

TEST(control, what_a_body_makes_is_not_seen_outside) {
  EXPECT_THAT(faults_in(loop_around("n: {op: x, in: cur}") + "  b: {op: x, in: n}\n"),
              ElementsAre("6:18 there is no node 'n'"));
}

TEST(control, an_inner_body_sees_its_own_node_only) {
  const std::string inner = "i: {op: if, in: {r: cur}, with: {then: {n: {op: x, in: ";
  EXPECT_THAT(faults_in(loop_around(inner + "r}}}}")), ElementsAre());
  const fault outer = only_fault(loop_around(inner + "cur}}}}"));
  EXPECT_EQ(outer.message, "there is no node 'cur' under 'then' of 'i'");
  EXPECT_EQ(outer.hint, "nodes there can't see outside: add it under in: of 'i'");
  // if carries nothing.
  EXPECT_THAT(faults_in(loop_around("i: {op: if, in: {r: cur}, with: {carry: {c: 1}, then: {n: {op: x, in: c}}}}")),
              ElementsAre("5:77 there is no node 'c' under 'then' of 'i'"));
}

TEST(control, an_input_with_a_fault_still_has_its_name) {
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n  l: {op: loop, in: {e: a b}, with: {body: {n: {op: x, in: e}}}}\n"),
              ElementsAre("3:25 'a b' names no output"));
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n  l: {op: loop, in: {e: k}, with: {body: {n: {op: x, in: e}}}}\n"),
              ElementsAre("3:25 there is no node 'k'"));
}

TEST(control, depth_is_bounded_and_the_job_stays_readable) {
  const auto nested = [](int levels) {
    std::string text = "{op: x}";
    for (int i = 0; i < levels; ++i) text = "{op: loop, with: {body: {n: " + text + "}}}";
    return "flowrun: 1\nnodes:\n  a: " + text + "\n";
  };
  const read_result deep = read_job(nested(9), "job.yaml");
  ASSERT_THAT(faults_of(deep), ElementsAre());
  JobSpec copy;
  EXPECT_TRUE(copy.ParseFromString(deep.job.SerializeAsString()));
  EXPECT_EQ(copy.SerializeAsString(), deep.job.SerializeAsString());
  EXPECT_THAT(faults_in(nested(10)), ElementsAre(HasSubstr("nested more than 32 levels deep")));
}

TEST(control, overrides_reach_inside) {
  const read_result result = read_job(testing::search_levels, "job.yaml", {{"source", "7"}},
                                      {{"nodes.levels.with.body.reached.with.by", "[node]"},
                                       {"nodes.levels.with.max_iterations", "9"},
                                       {"graphs.halve.nodes.kept.with.where", "x > ${source}"},
                                       {"graphs.halve.scalars.depth.default", "3"}});
  ASSERT_THAT(faults_of(result), ElementsAre());
  const Node& levels = result.job.nodes(1);
  EXPECT_EQ(text(find(levels.bodies(0).nodes(0).with(), "by")->list().items(0)), "node");
  EXPECT_EQ(to_uint(*find(levels.with(), "max_iterations")), 9u);
  EXPECT_EQ(text(*find(result.job.graphs(0).nodes(0).with(), "where")), "x > 7");
  EXPECT_EQ(text(result.job.graphs(0).scalars(0).default_value()), "3");
  EXPECT_THAT(faults_in(testing::search_levels, {{"source", "7"}}, {{"nodes.levels.with.body.reachd.with.by", "x"}}),
              ElementsAre(HasSubstr("there is no 'reachd' in nodes.levels.with.body")));
}

TEST(graphs, ports_scalars_and_nodes) {
  const read_result result = read_job(testing::search_levels, "job.yaml", {{"source", "7"}});
  ASSERT_EQ(result.job.graphs_size(), 2);
  const Graph& halve = result.job.graphs(0);
  EXPECT_EQ(halve.name(), "halve");
  EXPECT_EQ(halve.doc(), "every second row");
  ASSERT_EQ(halve.inputs_size(), 2);
  EXPECT_EQ(halve.inputs(0).name(), "text");
  EXPECT_FALSE(halve.inputs(0).has_type());
  EXPECT_EQ(text(halve.inputs(1).type()), "node");
  ASSERT_EQ(halve.outputs_size(), 2);
  EXPECT_EQ(halve.outputs(0).name(), "rest");
  EXPECT_EQ(halve.outputs(0).from_node(), "cut");
  EXPECT_EQ(halve.outputs(0).from_port(), "odd");
  EXPECT_FALSE(halve.outputs(0).has_type());
  EXPECT_EQ(halve.outputs(1).from_node(), "kept");
  EXPECT_EQ(text(*find(halve.outputs(1).type(), "x")), "u8");
  ASSERT_EQ(halve.scalars_size(), 2);
  EXPECT_EQ(halve.scalars(0).name(), "depth");
  EXPECT_EQ(halve.scalars(0).type(), PARAM_INT);
  EXPECT_EQ(text(halve.scalars(0).default_value()), "0");
  EXPECT_FALSE(halve.scalars(0).required());
  EXPECT_EQ(halve.scalars(1).type(), PARAM_FLOAT);
  EXPECT_TRUE(halve.scalars(1).required());
  EXPECT_THAT(ids(halve.nodes()), ElementsAre("kept", "cut"));
  const Graph& one = result.job.graphs(1);
  ASSERT_EQ(one.outputs_size(), 1);
  EXPECT_EQ(one.outputs(0).name(), "out");
  EXPECT_EQ(one.outputs(0).from_node(), "n");
}

TEST(graphs, what_a_graph_must_have) {
  EXPECT_THAT(faults_in(with_graph("out: n, nodes: {n: {op: x}}")), ElementsAre());
  EXPECT_THAT(faults_in(with_graph("nodes: {n: {op: x}}")), ElementsAre("5:3 the graph 'g' gives nothing"));
  EXPECT_THAT(faults_in(with_graph("in: {t: any}, out: t")), ElementsAre("5:3 the graph 'g' has no nodes"));
  EXPECT_THAT(faults_in(with_graph("in: {t: any}, out: t, nodes: {}")), ElementsAre("5:29 the graph 'g' has no nodes"));
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n  a: {op: x}\ngraphs:\n"), ElementsAre());
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n  a: {op: x}\ngraphs: [g]\n"), ElementsAre("4:9 'graphs' is a list"));
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n  a: {op: x}\ngraphs:\n  g: x\n"), ElementsAre("5:6 'g' is text"));
  EXPECT_EQ(only_fault(with_graph("outputs: n, out: n, nodes: {n: {op: x}}")).hint, "here it is called 'out'");
  EXPECT_EQ(only_fault(with_graph("ot: n, out: n, nodes: {n: {op: x}}")).hint, "did you mean 'out'?");
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n  a: {op: x}\ngraphs:\n  9g: {out: n, nodes: {n: {op: x}}}\n"),
              ElementsAre("5:3 '9g' is no name for a graph"));
}

TEST(graphs, ports) {
  const auto in = [](const std::string& ports) {
    return faults_in(with_graph("in: " + ports + ", out: n, nodes: {n: {op: x}}"));
  };
  EXPECT_THAT(in("{a: any, b: edge, c: {x: u8}}"), ElementsAre());
  EXPECT_THAT(in("[a]"), ElementsAre("5:11 'in' is a list"));
  EXPECT_THAT(in("{a: }"), ElementsAre("5:12 'a' has no type"));
  EXPECT_THAT(in("{a: [x]}"), ElementsAre("5:15 'a' is a list"));
  EXPECT_THAT(in("{a: {}}"), ElementsAre("5:15 the type of 'a' has no columns"));
  EXPECT_THAT(in("{2: any}"), ElementsAre("5:12 '2' is no name for an input"));
  const auto out = [](const std::string& ports) {
    return faults_in(with_graph("in: {t: any}, out: " + ports + ", nodes: {n: {op: x}}"));
  };
  EXPECT_THAT(out("{a: n, b: n.bad, c: {from: n, type: edge}, d: t}"), ElementsAre());
  EXPECT_THAT(out("[n]"), ElementsAre("5:26 'out' is a list"));
  EXPECT_THAT(out("{}"), ElementsAre("5:26 an empty map of outputs"));
  EXPECT_THAT(out("{a: [n]}"), ElementsAre("5:30 an output is a list"));
  EXPECT_THAT(out("{a: n.b.c}"), ElementsAre("5:30 'n.b.c' names no output"));
  EXPECT_THAT(out("{a: {type: edge}}"), ElementsAre("5:27 the output 'a' doesn't say which node gives it"));
  EXPECT_THAT(out("{a: {from: n, tipe: edge}}"), ElementsAre(HasSubstr("5:40 unknown key 'tipe' in an output")));
  EXPECT_THAT(out("{2: n}"), ElementsAre("5:27 '2' is no name for an output"));
  EXPECT_THAT(out("t.x"), ElementsAre("5:26 't' is brought in by the graph 'g': one stream, without ports"));
}

TEST(graphs, scalars) {
  const auto one = [](const std::string& scalar) {
    return only_fault(with_graph("out: n, nodes: {n: {op: x}}, scalars: {" + scalar + "}"));
  };
  EXPECT_EQ(one("k-1: {type: int}").message, "'k-1' is no name for a scalar");
  EXPECT_EQ(one("k: 5").message, "'k' is text");
  EXPECT_EQ(one("k: {default: 5}").message, "the scalar 'k' has no type");
  EXPECT_EQ(one("k: {type: string}").message, "'string' is no type of a scalar");
  EXPECT_EQ(one("k: {type: int, value: 5}").hint, "here it is called 'default'");
  EXPECT_EQ(one("k: {type: int, default: x}").message, "the default 'x' is no int for the scalar 'k'");
  EXPECT_EQ(one("k: {type: bool, default: 1}").where, (source_position{"job.yaml", 5, 71}));
}

TEST(graphs, references) {
  const fault unknown = only_fault(with_graph("in: {text: any}, out: n, nodes: {n: {op: x, in: txt}}"));
  EXPECT_EQ(unknown.message, "there is no node 'txt' in the graph 'g'");
  EXPECT_EQ(unknown.hint, "did you mean 'text'?");
  const fault outside = only_fault(with_graph("out: n, nodes: {n: {op: x, in: a}}"));
  EXPECT_EQ(outside.message, "there is no node 'a' in the graph 'g'");
  EXPECT_EQ(outside.hint, "nodes there can't see outside: add it under in: of the graph 'g'");
  EXPECT_THAT(faults_in(with_graph("out: m, nodes: {n: {op: x}}")),
              ElementsAre("5:12 there is no node 'm' in the graph 'g'"));
  EXPECT_THAT(faults_in(with_graph("in: {n: any}, out: n, nodes: {n: {op: x}}")),
              ElementsAre("5:37 'n' is brought in by the graph 'g' already"));
  EXPECT_THAT(faults_in(with_graph("out: n, nodes: {n: {op: x, in: m}, m: {op: x, in: n}}")),
              ElementsAre(HasSubstr("the nodes run in a circle: n → m → n")));
  // Nodes of the job and of graphs have names of their own.
  EXPECT_THAT(faults_in(with_graph("out: a, nodes: {a: {op: x}}")), ElementsAre());
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n  a: {op: x, in: n}\ngraphs:\n  g: {out: n, nodes: {n: {op: x}}}\n"),
              ElementsAre("3:18 there is no node 'n'"));
}

TEST(graphs, a_body_inside_a_graph) {
  const std::string graph = "in: {t: any}, out: l, nodes: {l: {op: loop, in: {s: t}, with: {body: {n: {op: x, in: ";
  EXPECT_THAT(faults_in(with_graph(graph + "s}}}}}")), ElementsAre());
  EXPECT_EQ(only_fault(with_graph(graph + "t}}}}}")).hint, "nodes there can't see outside: add it under in: of 'l'");
}

}  // namespace
}  // namespace flowrun::specs
