// The words by which tasks exchange rows. Only the program itself writes them, into the jobs of tasks (stage_job.h).
//
//   exchange.write {path}                           rows into an exchange file (exchange_file.h)
//   exchange.read {path, range, type, sorted_by}    rows of one or several
//   exchange.ends {sorted, sink}                    sorted rows, passed on to a sink: first and last key
//   exchange.reduce {let, hash}                     a task's rows into a row of partial results, or none
//   exchange.total {let, hash, type}                these rows into the result of a reduce
//   exchange.combine {by, combine, …}               a task's rows into sorted partial results of each key
//   exchange.combined {by, combine, limit, …, type} these rows, merged, into what the sort gives
#pragma once

#include <vector>

#include "engine/exec/operator_definition.h"

namespace flowrun::cluster {

const exec::operator_definition& exchange_read();
const exec::operator_definition& exchange_write();
const exec::operator_definition& exchange_ends();
const exec::operator_definition& exchange_reduce();
const exec::operator_definition& exchange_total();
const exec::operator_definition& exchange_combine();
const exec::operator_definition& exchange_combined();
// Results of the sink, of exchange.ends: lists of JSON, a value for each key.
inline constexpr const char *first_key = "first key", *last_key = "last key";
// All of them.
std::vector<const exec::operator_definition*> exchange_words();

}  // namespace flowrun::cluster
