// Names with versions in them as bytes whose order is that of sort -V (gnulib's filevercmp): 1.9 before 1.10, 1.0~rc1
// before 1.0, foo.tar.gz beside foo.
//
// A text is cut into parts, each some bytes that are no digits and then a number. The bytes of a part are written by
// their rank: ~, the end of the part, letters, everything else. Then follow the mark of the part's end, the number of
// digits, and the digits without leading zeros. Behind the last part comes the mark once more, so that no text's bytes
// are the beginning of another's.
//   "a10.b"  ->  a END 2 '1' '0' . b END 0 END
// The key is one byte for ".", "..", hidden and other names, the text without its suffixes such as .tar.gz, and the
// whole text.
#pragma once

#include <cstddef>
#include <string_view>

namespace flowrun::expr {

// The most bytes that a key of this text takes.
inline size_t version_key_bound(std::string_view text) { return 5 * text.size() + 32; }
// Writes the key to `out`; returns its length.
size_t write_version_key(std::string_view text, char* out);

}  // namespace flowrun::expr
