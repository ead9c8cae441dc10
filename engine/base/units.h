// Numbers as people write and read them: 64MiB, 1.5 GB, 12.3 s, 341,948.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flowrun {

constexpr uint64_t KiB = 1024;
constexpr uint64_t MiB = 1024 * KiB;
constexpr uint64_t GiB = 1024 * MiB;

// "512", "64KiB", "1.5GiB", "2GB", "10k", "10K", "3 MiB". KiB, MiB, … are powers of 1024; kB, MB, … and a bare K, M, G,
// T are: K M G T = 1024 (as in sort -S and dd), kB MB GB TB = 1000. Nothing else, no sign; nullopt when it is not a
// size or exceeds 64 bits.
std::optional<uint64_t> parse_bytes(std::string_view text);

// "0 B", "1.50 GiB", "64.0 MiB": three significant digits.
std::string format_bytes(uint64_t num_bytes);

// "850 ms", "12.3 s", "4 min 05 s", "2 h 34 min".
std::string format_duration(double seconds);
// "22 s", "1 min 05 s": rounded up, for what is not known any finer.
std::string format_whole_seconds(double seconds);

// "341,948"
std::string format_count(uint64_t count);

}  // namespace flowrun
