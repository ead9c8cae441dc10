#include "cluster/cut_points.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "cluster/exchange_file.h"
#include "engine/base/error.h"

namespace flowrun::cluster {

namespace {

record::key front_of(const record::key& key, size_t num_parts) {
  return num_parts == 0 ? key : record::key(key.begin(), key.begin() + static_cast<std::ptrdiff_t>(num_parts));
}

// Of all files together: half a gigabyte where rows have 100 bytes.
constexpr size_t most_samples = size_t{4} << 20;
constexpr size_t least_samples_of_a_file = 64;

// A row that a part begins with.
struct splitter {
  size_t stream = 0, file = 0;
  const sampled_row* at = nullptr;
};

class cutter {
 public:
  cutter(const std::vector<sorted_stream>& streams, size_t kept_together)
      : streams_(streams), kept_together_(kept_together) {
    size_t num_files = 0;
    for (const sorted_stream& s : streams) {
      std::vector<exchange_index>& of_stream = indices_.emplace_back();
      for (const std::string& path : s.paths) of_stream.push_back(exchange_index::load(path, s.type));
      num_files += s.paths.size();
    }
    const size_t most = std::max(most_samples / std::max<size_t>(num_files, 1), least_samples_of_a_file);
    for (size_t i = 0; i < streams.size(); ++i) {
      std::vector<exchange_samples>& of_stream = samples_.emplace_back();
      for (size_t f = 0; f < indices_[i].size(); ++f)
        of_stream.push_back(exchange_samples::load(streams[i].paths[f], streams[i].type, indices_[i][f], most));
    }
  }

  cut_rows cut(size_t num_parts) {
    if (num_parts > 1) {
      FLOWRUN_CHECK(kept_together_ > 0 || streams_.size() == 1);
      for (const sorted_stream& a : streams_)
        for (const sorted_stream& b : streams_)
          orders_.emplace_back(a.type, front_of(a.key, kept_together_), b.type, front_of(b.key, kept_together_));
    }
    cut_rows out(num_parts + 1);
    for (const std::vector<exchange_index>& of_stream : indices_) {
      out.front().emplace_back(of_stream.size(), 0);
      for (size_t part = 1; part < num_parts; ++part) out[part].emplace_back(of_stream.size(), 0);
      std::vector<uint64_t>& ends = out.back().emplace_back();
      for (const exchange_index& index : of_stream) ends.push_back(index.num_rows());
    }
    if (num_parts == 1) return out;
    const std::vector<std::optional<splitter>> found = splitters(num_parts);
    for (size_t part = 1; part < num_parts; ++part)
      for (size_t s = 0; s < streams_.size(); ++s)
        for (size_t f = 0; f < indices_[s].size(); ++f)
          out[part][s][f] = found[part - 1] ? begin_of(*found[part - 1], s, f) : indices_[s][f].num_rows();
    return out;
  }

 private:
  // < 0, 0, > 0
  int compare(size_t a, const std::byte* a_row, const std::byte* a_heap, size_t b, const std::byte* b_row,
              const std::byte* b_heap) const {
    return orders_[a * streams_.size() + b].compare(a_row, a_heap, b_row, b_heap);
  }

  // The rows with which the parts behind the first begin; none: the part is empty, and so are those behind it.
  std::vector<std::optional<splitter>> splitters(size_t num_parts) const {
    struct weighted {
      splitter row;
      uint64_t num_rows;  // up to the next sample
    };
    std::vector<weighted> all;
    uint64_t total = 0;
    for (size_t s = 0; s < indices_.size(); ++s)
      for (size_t f = 0; f < indices_[s].size(); ++f) {
        const std::vector<sampled_row>& samples = samples_[s][f].rows();
        for (size_t i = 0; i < samples.size(); ++i) {
          const uint64_t end = i + 1 < samples.size() ? samples[i + 1].place : indices_[s][f].num_rows();
          all.push_back({{s, f, &samples[i]}, end - samples[i].place});
          total += end - samples[i].place;
        }
      }
    std::sort(all.begin(), all.end(), [this](const weighted& a, const weighted& b) {
      const splitter& x = a.row;
      const splitter& y = b.row;
      if (const int order = compare(x.stream, x.at->row, x.at->heap, y.stream, y.at->row, y.at->heap); order != 0)
        return order < 0;
      return std::tie(x.stream, x.file, x.at->place) < std::tie(y.stream, y.file, y.at->place);
    });
    // Where parts may begin: at rows that are not equal to those before them, or anywhere.
    std::vector<size_t> begins;
    std::vector<uint64_t> before;  // rows before each of them; and all
    for (size_t i = 0, rows = 0; i < all.size(); rows += all[i++].num_rows)
      if (i == 0 || kept_together_ == 0 || is_less(all[i - 1].row, all[i].row)) {
        begins.push_back(i);
        before.push_back(rows);
      }
    before.push_back(total);
    std::vector<std::optional<splitter>> out(num_parts - 1);
    const std::vector<size_t> found = even_begins(before, num_parts);
    for (size_t part = 1; part < num_parts; ++part)
      if (found[part - 1] < begins.size()) out[part - 1] = all[begins[found[part - 1]]].row;
    return out;
  }

  // Of groups of rows, of which before[i] rows lie in front of group i: with which the parts behind the first begin, so
  // that they come out even. A group that is more than a part should have is one by itself, and what is left is shared
  // by the parts that are left. As many as there are groups: none.
  static std::vector<size_t> even_begins(const std::vector<uint64_t>& before, size_t num_parts) {
    const size_t num_groups = before.size() - 1;
    const uint64_t fair = before.back() / num_parts;
    std::vector<size_t> large;  // groups
    uint64_t small_left = before.back();
    for (size_t i = 0; i < num_groups; ++i)
      if (before[i + 1] - before[i] > fair) {
        large.push_back(i);
        small_left -= before[i + 1] - before[i];
      }
    std::vector<size_t> out;
    size_t at = 0, num_large = 0;  // with which the part at hand begins; large groups before it
    for (size_t part = 1; part < num_parts; ++part) {
      const size_t next_large = num_large < large.size() ? large[num_large] : num_groups;
      size_t next = at + 1;
      if (at >= num_groups) {
        next = num_groups;
      } else if (at == next_large) {
        ++num_large;
      } else {
        const size_t parts = num_parts - part + 1, of_large = large.size() - num_large;
        const uint64_t wanted = before[at] + small_left / std::max<size_t>(parts - std::min(parts, of_large), 1);
        auto nearest = std::lower_bound(before.begin(), before.end(), wanted);
        if (nearest == before.end() || (nearest != before.begin() && *nearest - wanted > wanted - *(nearest - 1)))
          --nearest;
        next = std::min(std::max(next, static_cast<size_t>(nearest - before.begin())), next_large);
        small_left -= before[next] - before[at];
      }
      out.push_back(at = next);
    }
    return out;
  }

  bool is_less(const splitter& a, const splitter& b) const {
    return compare(a.stream, a.at->row, a.at->heap, b.stream, b.at->row, b.at->heap) < 0;
  }

  // The first row of a file that belongs behind the splitter.
  uint64_t begin_of(const splitter& at, size_t stream, size_t file) {
    if (kept_together_ == 0 && file == at.file) return at.at->place;
    // Rows that are equal to the splitter come in front of it where their file does.
    const bool equal_before = kept_together_ == 0 && file < at.file;
    const auto is_before = [&](const std::byte* row, const std::byte* heap) {
      const int order = compare(stream, row, heap, at.stream, at.at->row, at.at->heap);
      return order < 0 || (order == 0 && equal_before);
    };
    const std::vector<sampled_row>& samples = samples_[stream][file].rows();
    const auto after = std::partition_point(samples.begin(), samples.end(),
                                            [&](const sampled_row& r) { return is_before(r.row, r.heap); });
    if (after == samples.begin()) return 0;
    // Between the last sample in front of it and the next one: in the last frame whose first row is in front of it.
    const exchange_index& index = indices_[stream][file];
    const uint64_t from = (after - 1)->place + 1, to = after == samples.end() ? index.num_rows() : after->place;
    if (from == to) return from;
    size_t first = index.frame_of(from - 1), last = index.frame_of(to - 1);
    while (first < last) {
      const size_t middle = last - (last - first) / 2;
      const record::batch& frame = frame_of(stream, file, middle);
      if (is_before(frame.rows, frame.heap))
        first = middle;
      else
        last = middle - 1;
    }
    const record::batch& frame = frame_of(stream, file, first);
    uint64_t low = std::max(from, frame.first_row), high = std::min(to, frame.first_row + frame.num_rows);
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      if (is_before(frame.row(middle - frame.first_row), frame.heap))
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  // That of a file that was asked for last is kept.
  const record::batch& frame_of(size_t stream, size_t file, size_t frame) {
    kept_frame& kept = kept_[{stream, file}];
    if (kept.rows.owner == nullptr || kept.number != frame) {
      const sorted_stream& s = streams_[stream];
      kept = {frame, read_frame(s.paths[file], indices_[stream][file].frames()[frame], s.type.row_bytes())};
    }
    return kept.rows;
  }

  struct kept_frame {
    size_t number = 0;
    record::batch rows;
  };

  const std::vector<sorted_stream>& streams_;
  const size_t kept_together_;
  std::vector<std::vector<exchange_index>> indices_;
  std::vector<std::vector<exchange_samples>> samples_;
  std::vector<record::row_comparator> orders_;  // of each two streams
  std::map<std::pair<size_t, size_t>, kept_frame> kept_;
};

}  // namespace

cut_rows cut_points(const std::vector<sorted_stream>& streams, size_t num_parts, size_t kept_together) {
  FLOWRUN_CHECK(num_parts > 0);
  return cutter(streams, kept_together).cut(num_parts);
}

}  // namespace flowrun::cluster
