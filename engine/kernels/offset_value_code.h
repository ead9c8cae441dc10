// Offset-value codes: long keys that are merged by comparing one number (Conner, "Offset value coding", IBM 1977; Iyer,
// "Hardware assisted sorting in IBM's DB2 DBMS"; Do and Graefe, "Robust and efficient sorting with offset-value
// coding").
//
// The code of a key relative to a base that comes no later: where the two differ first, counted in words
// (record/key_words.h), and the key's word there. Further behind is earlier, then the smaller word is. Of two keys with
// codes relative to the same base, that of the smaller code comes first; its code stays what it is, and the other's
// code is its code relative to the first one as well. So a tournament looks at no key as long as codes differ.
//
//   base    /usr/share/doc/a                   with words of 5 letters:
//   key x   /usr/share/man/x   code (2, "/man/")   x and y differ from the base in the same word, by which x < y;
//   key y   /usr/share/zoo     code (2, "/zoo ")   that is also where y differs from x: its code stays the same.
//   key z   /usr/share/doc/b   code (3, "b    ")   Differs later: z < x. Relative to z, x still has code (2, "/man/").
//
// Equal codes say that the keys are equal up to and with that word. Then they are compared from the next word on, and
// the later one's code moves on to where they differ. A merge of n keys of w words compares n w words at most, plus
// those that tell each row from the row before it in its run: in the order of the rows in memory. Invariant of the
// tree: each loser's code is relative to the winner of its match, so those on the path of the winner are relative to
// it, as is the code of the winner's successor.
#pragma once

#include <cstdint>

#include "engine/record/key_words.h"

namespace flowrun::kernels {

// Codes are numbers: (2^32 - 1 - the word's number) * 2^96 + the word; 0 for a key that is equal to its base. `Words`:
// record::key_words, or what counts its calls. Thread-safe.
template <class Words>
class offset_value_coder {
 public:
  using code = record::word128;

  // `words` outlives this.
  explicit offset_value_coder(const Words& words) : words_(&words) {}

  // Relative to what comes before all keys. Never 0.
  code first(const record::row_place& row) const { return code_at(row, {}); }
  // Relative to `base`, which comes no later.
  code relative(const record::row_place& row, const record::row_place& base) const {
    return code_at(row, words_->difference(base, row));
  }
  static bool is_equal(code c) { return c == 0; }

  // Rows with equal codes `c` relative to the same base: < 0, 0, > 0. Makes `c` the code of the later one relative to
  // the earlier one.
  int compare(const record::row_place& a, const record::row_place& b, code& c) const {
    if (is_equal(c)) return 0;
    const record::word_position same = words_->at(a, ~static_cast<uint32_t>(c >> record::key_words::word_bits));
    const record::word_position differs = words_->difference(a, b, words_->next(a, same));
    const code left = code_at(a, differs);
    const code right = code_at(b, differs);
    c = left < right ? right : left;
    return left < right ? -1 : left > right ? 1 : 0;
  }

 private:
  code code_at(const record::row_place& row, const record::word_position& p) const {
    if (words_->is_end(p)) return 0;
    return static_cast<code>(~static_cast<uint32_t>(p.number)) << record::key_words::word_bits | (*words_)(row, p);
  }

  const Words* words_;
};

}  // namespace flowrun::kernels
