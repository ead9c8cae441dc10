#include "specs/resource_reader.h"

#include "specs/grammar.h"

namespace flowrun::specs {

namespace {

constexpr std::string_view bytes_expected = "a number of bytes above 0: 64MiB, 1.5GiB, 500GB";

std::optional<uint64_t> read_bytes(const Entry& entry, fault_sink& faults) {
  const std::optional<uint64_t> num_bytes = expect_number<uint64_t>(entry, to_bytes, bytes_expected, faults);
  if (!num_bytes || *num_bytes > 0) return num_bytes;
  faults.add(entry.value().position(), "'" + quotable(entry.key()) + "' is 0", std::string(bytes_expected));
  return std::nullopt;
}

void read_memory(const Entry& entry, Resources& resources, fault_sink& faults) {
  *resources.mutable_memory_position() = entry.value().position();
  if (!is_scalar(entry.value()) || is_unresolved(entry.value()) || !text(entry.value()).ends_with('%')) {
    if (const auto num_bytes = read_bytes(entry, faults)) resources.set_memory_bytes(*num_bytes);
    return;
  }
  const std::string_view word = text(entry.value());
  const std::optional<double> percent = to_double(word.substr(0, word.size() - 1));
  if (percent && *percent > 0 && *percent <= 100)
    resources.set_memory_percent(*percent);
  else
    faults.add(entry.value().position(), "'" + quotable(word) + "' is no share of the memory",
               "above 0% to 100%, or bytes: 1GiB");
}

void read_threads(const Entry& entry, Resources& resources, fault_sink& faults) {
  constexpr uint64_t most = 4096;
  constexpr std::string_view expected = "a whole number from 1 to 4096";
  *resources.mutable_threads_position() = entry.value().position();
  const std::optional<uint64_t> threads = expect_number<uint64_t>(entry, to_uint, expected, faults);
  if (threads && *threads >= 1 && *threads <= most)
    resources.set_threads(static_cast<uint32_t>(*threads));
  else if (threads)
    faults.add(entry.value().position(), "threads is " + quotable(text(entry.value())), std::string(expected));
}

bool set_path(const Value& value, ScratchDir& dir, fault_sink& faults) {
  if (is_unresolved(value)) return false;
  if (is_scalar(value) && !text(value).empty() && text(value).find('\0') == std::string::npos) {
    dir.set_path(text(value));
    return true;
  }
  faults.add(value.position(),
             "the path of a scratch directory is " + std::string(is_scalar(value) ? "empty" : kind_name(value)),
             "a directory");
  return false;
}

void read_scratch_dir(const Value& value, Resources& resources, fault_sink& faults) {
  ScratchDir dir;
  *dir.mutable_position() = value.position();
  if (!is_map(value)) {
    if (set_path(value, dir, faults)) *resources.add_scratch() = std::move(dir);
    return;
  }
  check_keys(value, "a scratch directory", {"path", "limit"}, faults,
             {{"dir", "path"}, {"size", "limit"}, {"max", "limit"}});
  if (const Entry* limit = find_entry(value, "limit"))
    if (const auto num_bytes = read_bytes(*limit, faults)) dir.set_limit_bytes(*num_bytes);
  const Value* path = find(value, "path");
  if (!path)
    faults.add(value.position(), "a scratch directory without path", "{path: DIR, limit: 500GiB}");
  else if (set_path(*path, dir, faults))
    *resources.add_scratch() = std::move(dir);
}

void read_scratch(const Entry& entry, Resources& resources, fault_sink& faults) {
  const Value& value = entry.value();
  *resources.mutable_scratch_position() = is_null(value) ? entry.key_position() : value.position();
  if (is_null(value) || (is_list(value) && value.list().items().empty())) {
    faults.add(resources.scratch_position(), "'scratch' names no directory",
               "DIR, or a list of {path: DIR, limit: 500GiB}");
  } else if (is_list(value)) {
    for (const Value& item : value.list().items()) read_scratch_dir(item, resources, faults);
  } else {
    read_scratch_dir(value, resources, faults);
  }
}

}  // namespace

void read_resources(const Entry& section, Resources& resources, fault_sink& faults) {
  if (is_null(section.value())) return;
  if (!expect_map(section, "{memory: …, threads: …, scratch: …, block_size: …}", faults)) return;
  const Value& value = section.value();
  check_keys(value, "resources", {"memory", "threads", "scratch", "block_size"}, faults,
             {{"cores", "threads"},
              {"cpus", "threads"},
              {"jobs", "threads"},
              {"ram", "memory"},
              {"tmp", "scratch"},
              {"temp", "scratch"},
              {"disks", "scratch"},
              {"block", "block_size"}});
  if (const Entry* memory = find_entry(value, "memory")) read_memory(*memory, resources, faults);
  if (const Entry* threads = find_entry(value, "threads")) read_threads(*threads, resources, faults);
  if (const Entry* scratch = find_entry(value, "scratch")) read_scratch(*scratch, resources, faults);
  if (const Entry* block = find_entry(value, "block_size")) {
    *resources.mutable_block_position() = block->value().position();
    if (const auto num_bytes = read_bytes(*block, faults)) resources.set_block_bytes(*num_bytes);
  }
}

}  // namespace flowrun::specs
