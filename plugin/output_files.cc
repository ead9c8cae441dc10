// Files that a plugin's sink writes: they appear under their names when the whole job has succeeded.
#include <algorithm>
#include <bit>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "engine/base/units.h"
#include "engine/io/output_file.h"
#include "plugin/codes.h"
#include "plugin/interfaces.h"
#include "plugin/step_output.h"
#include "plugin/texts.h"

using namespace flowrun;
using namespace flowrun::plugins;

namespace {

// Four buffers, of a quarter of the node's memory all together.
io::output_file_options options_for(const running_node& node) {
  io::output_file_options out;
  out.chunk_bytes = std::bit_floor(std::clamp<uint64_t>(node.memory_bytes / 16, 64 * KiB, MiB));
  out.direct = node.services.options().direct;
  out.durable = node.services.options().sync_outputs;
  return out;
}

}  // namespace

struct fr_output_file {
  fr_output_file(running_node& of, const std::string& path)
      : node(of),
        file(std::make_unique<io::output_file>(of.services.backend(), path == "-" ? "/dev/stdout" : path,
                                               options_for(of))) {}
  running_node& node;
  std::unique_ptr<io::output_file> file;  // null: finished
};

namespace flowrun::plugins {

const fr_output_file_interface& output_files() {
  static constexpr fr_output_file_interface table = {
      sizeof table,
      [](const fr_job* job, fr_text path) {
        running_node& node = running_node::of(job);
        fr_output_file* const none = nullptr;
        if (!node.may_open()) return none;
        return node.guarded(none, [&] { return new fr_output_file(node, as_string(path)); });
      },
      [](fr_output_file* f, const void* data, size_t num_bytes, size_t* taken) {
        *taken = 0;
        if (f->node.step == nullptr || f->file == nullptr) return f->node.fail_outside_of_steps();
        return f->node.guarded(static_cast<int>(FR_FAILED), [&] {
          const std::span<const std::byte> bytes(static_cast<const std::byte*>(data), num_bytes);
          const outcome o = f->file->write(bytes, *taken, &f->node.step->blocked_with());
          f->node.counters.file_written_bytes += *taken;
          return code_of(o);
        });
      },
      [](fr_output_file* f) {
        if (f->file == nullptr) return static_cast<int>(FR_DONE);
        if (f->node.step == nullptr) return f->node.fail_outside_of_steps();
        return f->node.guarded(static_cast<int>(FR_FAILED), [&] {
          const outcome o = f->file->finish(&f->node.step->blocked_with());
          if (o.is_done()) f->node.services.commit_at_end(std::move(f->file));
          return code_of(o);
        });
      },
      [](fr_output_file* f) { delete f; }};
  return table;
}

}  // namespace flowrun::plugins
