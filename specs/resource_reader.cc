#include "specs/resource_reader.h"

#include <algorithm>

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

// A whole number from 1 to `most`.
std::optional<uint32_t> read_number(const Entry& entry, uint32_t most, fault_sink& faults) {
  const std::string expected = "a whole number from 1 to " + std::to_string(most);
  const std::optional<uint64_t> number = expect_number<uint64_t>(entry, to_uint, expected, faults);
  if (number && *number >= 1 && *number <= most) return static_cast<uint32_t>(*number);
  if (number)
    faults.add(entry.value().position(), quotable(entry.key()) + " is " + quotable(text(entry.value())), expected);
  return std::nullopt;
}

// The index of a word in `names`.
std::optional<int> read_choice(const Entry& entry, const std::vector<std::string>& names, fault_sink& faults) {
  const std::string* word = expect_text(entry, one_of(names), faults);
  if (word == nullptr) return std::nullopt;
  const auto found = std::find(names.begin(), names.end(), *word);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  faults.add_unknown(entry.value().position(), quotable(entry.key()) + " can't be '" + quotable(*word) + "'", *word,
                     names);
  return std::nullopt;
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

std::optional<double> read_weight(const Entry& entry, fault_sink& faults) {
  constexpr std::string_view expected = "a number above 0: how fast the disk is beside the others, such as its MB/s";
  const std::optional<double> weight = expect_number<double>(entry, to_double, expected, faults);
  if (!weight || *weight > 0) return weight;
  faults.add(entry.value().position(), "weight is " + quotable(text(entry.value())), std::string(expected),
             "leave it out, and the disk is measured while the job runs");
  return std::nullopt;
}

void read_scratch_dir(const Value& value, Resources& resources, fault_sink& faults) {
  ScratchDir dir;
  *dir.mutable_position() = value.position();
  if (!is_map(value)) {
    if (set_path(value, dir, faults)) *resources.add_scratch() = std::move(dir);
    return;
  }
  check_keys(value, "a scratch directory", {"path", "limit", "weight"}, faults,
             {{"dir", "path"}, {"size", "limit"}, {"max", "limit"}, {"speed", "weight"}});
  if (const Entry* limit = find_entry(value, "limit"))
    if (const auto num_bytes = read_bytes(*limit, faults)) dir.set_limit_bytes(*num_bytes);
  if (const Entry* weight = find_entry(value, "weight"))
    if (const auto speed = read_weight(*weight, faults)) dir.set_weight(*speed);
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

std::vector<std::string> allocation_names() {
  return {"striping", "simple_randomised", "fully_randomised", "randomised_cycling"};
}

std::vector<std::string> io_order_names() { return {"alternating", "writes_first", "arrival"}; }

std::string nearest_block_sizes(uint64_t num_bytes) {
  const uint64_t pages = std::min(num_bytes, most_block_bytes) / block_size_unit;
  const std::string below = std::to_string(std::max<uint64_t>(pages, 1) * block_size_unit);
  if (pages < 1 || num_bytes >= most_block_bytes) return below;
  return below + " or " + std::to_string((pages + 1) * block_size_unit);
}

void read_resources(const Entry& section, Resources& resources, fault_sink& faults) {
  if (is_null(section.value())) return;
  if (!expect_map(section, "{memory: …, threads: …, scratch: …, block_size: …}", faults)) return;
  const Value& value = section.value();
  check_keys(value, "resources",
             {"memory", "threads", "scratch", "scratch_limit", "block_size", "depth", "allocation", "io_order"}, faults,
             {{"cores", "threads"},
              {"cpus", "threads"},
              {"jobs", "threads"},
              {"ram", "memory"},
              {"tmp", "scratch"},
              {"temp", "scratch"},
              {"disks", "scratch"},
              {"block", "block_size"},
              {"iodepth", "depth"},
              {"queue_depth", "depth"}});
  if (const Entry* memory = find_entry(value, "memory")) read_memory(*memory, resources, faults);
  if (const Entry* threads = find_entry(value, "threads")) {
    *resources.mutable_threads_position() = threads->value().position();
    if (const auto number = read_number(*threads, 4096, faults)) resources.set_threads(*number);
  }
  if (const Entry* scratch = find_entry(value, "scratch")) read_scratch(*scratch, resources, faults);
  if (const Entry* block = find_entry(value, "block_size")) {
    *resources.mutable_block_position() = block->value().position();
    if (const auto num_bytes = read_bytes(*block, faults)) {
      if (is_block_size(*num_bytes))
        resources.set_block_bytes(*num_bytes);
      else
        faults.add(block->value().position(), "block_size is " + quotable(text(block->value())), block_size_expected,
                   "write " + nearest_block_sizes(*num_bytes));
    }
  }
  if (const Entry* limit = find_entry(value, "scratch_limit"))
    if (const auto num_bytes = read_bytes(*limit, faults)) resources.set_scratch_limit_bytes(*num_bytes);
  if (const Entry* depth = find_entry(value, "depth"))
    if (const auto number = read_number(*depth, most_depth, faults)) resources.set_depth(*number);
  if (const Entry* allocation = find_entry(value, "allocation"))
    if (const auto choice = read_choice(*allocation, allocation_names(), faults))
      resources.set_allocation(static_cast<Allocation>(*choice));
  if (const Entry* order = find_entry(value, "io_order"))
    if (const auto choice = read_choice(*order, io_order_names(), faults))
      resources.set_io_order(static_cast<IoOrder>(*choice));
}

}  // namespace flowrun::specs
