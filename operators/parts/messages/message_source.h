// The head of file.read_protobuf: reads files of messages, each behind its length, and hands on pieces of whole ones,
// which the stage behind decodes in parallel.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/exec/operator_definition.h"
#include "operators/parts/messages/message_cutter.h"
#include "operators/parts/text/rejection_tally.h"

namespace flowrun::operators {

// `tally` is told of each piece before it leaves.
std::unique_ptr<exec::source> make_message_source(exec::build_context& context, const std::vector<std::string>& paths,
                                                  message_cutter_options options,
                                                  std::shared_ptr<rejection_tally> tally);

}  // namespace flowrun::operators
