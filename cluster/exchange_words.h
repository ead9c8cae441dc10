// The words by which tasks exchange rows. Only the program itself writes them, into the jobs of tasks (stage_job.h).
//
//   exchange.write {path}                           rows into an exchange file (exchange_file.h)
//   exchange.read {path, range, type, sorted_by}    rows of one or several
#pragma once

#include "engine/exec/operator_definition.h"

namespace flowrun::cluster {

const exec::operator_definition& exchange_read();
const exec::operator_definition& exchange_write();

}  // namespace flowrun::cluster
