// How rows get into the body of a control node and out of it, and values of one row into expressions: operators that no
// user can name. Pure declarations; what runs is built by exec/pipeline_builder.cc.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "engine/plan/graph.h"

namespace flowrun::plan {

// A source: rows that lie in a vector outside of the body. Its row type, order and estimate are given.
const operator_declaration& body_stream();
// A sink: rows that the control node takes out.
const operator_declaration& body_result();
// A sink that only counts: rows(NODE) in a condition.
const operator_declaration& body_count();

// A sink of one row: what `scalars:` of later nodes name.
const operator_declaration& row_values();

// A stage that gives rows on as they are, once the values of its `scalars` are known. It stands in front of the inputs
// of which a node takes the rows in before its own pipeline runs, where its expressions name such values.
const operator_declaration& waiting_rows();
bool takes_in_early(const operator_declaration& d, bool stored, bool as_vector);

bool is_body_stream(const node& n);
// Any of the five: not a node that the user wrote.
bool is_internal(const node& n);

// Body i of a control node as it was checked; a recursive call's is the graph that it is inside of. Null: there is
// none.
std::shared_ptr<const graph> body_of(const node& control, size_t i);

// What reports, metrics and messages call a node: "levels.reached" is the node reached inside of the node levels.
std::string full_name(const graph& g, const node& n);

// A stored input whose rows are in a vector already, and may stay there: nothing has to fill it.
bool lies_in_a_vector(const graph& g, const input_port& in);

// A stored input that some stage has to fill before `reader` runs: its rows lie in no vector, and in no file that the
// reader seeks in (the fact "seeks_in_file").
bool is_filled(const graph& g, const node& reader, const input_port& in);

// Some node of the body seeks in the rows of the stream: its vector needs an index.
bool is_sought(const graph& body, const std::string& stream);

// A control node whose bodies seek in its inputs, each time that they run.
bool is_sought_again(const node& n);

}  // namespace flowrun::plan
