// The body of kernels.cc, included there once per instruction set inside a namespace of its own; no include guard on
// purpose. Everything here has internal linkage.

#define X(name, value)                                                                                            \
  static void name##_lanes(uint64_t* __restrict out, const uint64_t* __restrict a_, const uint64_t* __restrict,   \
                           const uint64_t* __restrict, [[maybe_unused]] uint64_t m, [[maybe_unused]] uint64_t m2, \
                           size_t n) {                                                                            \
    for (size_t i = 0; i < n; ++i) {                                                                              \
      const uint64_t a = a_[i];                                                                                   \
      out[i] = static_cast<uint64_t>(value);                                                                      \
    }                                                                                                             \
  }
FLOWRUN_UNARY_OPS(X)
#undef X

#define X(name, value)                                                                                              \
  static void name##_lanes(uint64_t* __restrict out, const uint64_t* __restrict a_, const uint64_t* __restrict b_,  \
                           const uint64_t* __restrict, uint64_t, uint64_t, size_t n) {                              \
    for (size_t i = 0; i < n; ++i) {                                                                                \
      const uint64_t a = a_[i], b = b_[i];                                                                          \
      out[i] = static_cast<uint64_t>(value);                                                                        \
    }                                                                                                               \
  }                                                                                                                 \
  static void name##_immediate(uint64_t* __restrict out, const uint64_t* __restrict a_, const uint64_t* __restrict, \
                               const uint64_t* __restrict, uint64_t b, uint64_t, size_t n) {                        \
    for (size_t i = 0; i < n; ++i) {                                                                                \
      const uint64_t a = a_[i];                                                                                     \
      out[i] = static_cast<uint64_t>(value);                                                                        \
    }                                                                                                               \
  }
FLOWRUN_BINARY_OPS(X)
#undef X

static void select_lanes(uint64_t* __restrict out, const uint64_t* __restrict a, const uint64_t* __restrict b,
                         const uint64_t* __restrict c, uint64_t, uint64_t, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const uint64_t mask = 0 - a[i];
    out[i] = (b[i] & mask) | (c[i] & ~mask);
  }
}

template <class Field>
static void load_rows(uint64_t* __restrict out, const std::byte* __restrict field, size_t row_bytes,
                      const uint16_t* __restrict rows, size_t n) {
  if (rows != nullptr) {
    for (size_t i = 0; i < n; ++i) out[i] = Field::load(field + rows[i] * row_bytes);
  } else if (row_bytes == Field::num_bytes) {
    for (size_t i = 0; i < n; ++i) out[i] = Field::load(field + i * Field::num_bytes);
  } else if (row_bytes == 2 * Field::num_bytes) {
    for (size_t i = 0; i < n; ++i) out[i] = Field::load(field + i * 2 * Field::num_bytes);
  } else {
    for (size_t i = 0; i < n; ++i) out[i] = Field::load(field + i * row_bytes);
  }
}

template <class Field>
static void store_rows(std::byte* __restrict field, size_t row_bytes, const uint64_t* __restrict lanes, size_t n) {
  if (row_bytes == Field::num_bytes) {
    for (size_t i = 0; i < n; ++i) Field::store(field + i * Field::num_bytes, lanes[i]);
  } else {
    for (size_t i = 0; i < n; ++i) Field::store(field + i * row_bytes, lanes[i]);
  }
}

// Rows lie at any address. A __builtin_memcpy of 16 or 32 bytes in such a loop becomes an aligned store where GCC 12
// vectorises for AVX-512 (wrong code, and a crash), so wide pieces go through words.
template <size_t NumBytes>
static inline void copy_piece(std::byte* __restrict to, const std::byte* __restrict from) {
  if constexpr (NumBytes >= 16) {
    for (size_t at = 0; at < NumBytes; at += 8) {
      uint64_t word;
      __builtin_memcpy(&word, from + at, 8);
      __builtin_memcpy(to + at, &word, 8);
    }
  } else {
    __builtin_memcpy(to, from, NumBytes);
  }
}

template <size_t NumBytes>
static void copy_fixed(std::byte* __restrict to, size_t to_row_bytes, const std::byte* __restrict from,
                       size_t from_row_bytes, const uint16_t* __restrict rows, size_t, size_t n) {
  if (rows == nullptr && to_row_bytes == NumBytes && from_row_bytes == NumBytes) {
    if (n > 0) __builtin_memcpy(to, from, n * NumBytes);
  } else if (rows == nullptr) {
    for (size_t i = 0; i < n; ++i) copy_piece<NumBytes>(to + i * to_row_bytes, from + i * from_row_bytes);
  } else {
    for (size_t i = 0; i < n; ++i) copy_piece<NumBytes>(to + i * to_row_bytes, from + rows[i] * from_row_bytes);
  }
}

static void copy_any(std::byte* __restrict to, size_t to_row_bytes, const std::byte* __restrict from,
                     size_t from_row_bytes, const uint16_t* __restrict rows, size_t num_bytes, size_t n) {
  if (rows == nullptr && to_row_bytes == num_bytes && from_row_bytes == num_bytes) {
    if (n > 0) __builtin_memcpy(to, from, n * num_bytes);
    return;
  }
  for (size_t i = 0; i < n; ++i)
    __builtin_memcpy(to + i * to_row_bytes, from + (rows == nullptr ? i : rows[i]) * from_row_bytes, num_bytes);
}

// More than NumWords words, and at most one more: the last word overlaps the one before it. A call of memcpy for each
// row takes longer than such a row.
template <size_t NumWords>
static void copy_words(std::byte* __restrict to, size_t to_row_bytes, const std::byte* __restrict from,
                       size_t from_row_bytes, const uint16_t* __restrict rows, size_t num_bytes, size_t n) {
  if (rows == nullptr && to_row_bytes == num_bytes && from_row_bytes == num_bytes) {
    if (n > 0) __builtin_memcpy(to, from, n * num_bytes);
    return;
  }
  for (size_t i = 0; i < n; ++i) {
    std::byte* const out = to + i * to_row_bytes;
    const std::byte* const in = from + (rows == nullptr ? i : rows[i]) * from_row_bytes;
    for (size_t at = 0; at < NumWords; ++at) copy_piece<8>(out + 8 * at, in + 8 * at);
    copy_piece<8>(out + num_bytes - 8, in + num_bytes - 8);
  }
}

static copy_kernel copy_for(size_t num_bytes) {
  switch (num_bytes) {
    case 1: return copy_fixed<1>;
    case 2: return copy_fixed<2>;
    case 4: return copy_fixed<4>;
    case 5: return copy_fixed<5>;
    case 6: return copy_fixed<6>;
    case 8: return copy_fixed<8>;
    case 10: return copy_fixed<10>;
    case 12: return copy_fixed<12>;
    case 16: return copy_fixed<16>;
    case 24: return copy_fixed<24>;
    case 32: return copy_fixed<32>;
    default: break;
  }
  switch ((num_bytes - 1) / 8) {
    case 1: return copy_words<1>;
    case 2: return copy_words<2>;
    case 3: return copy_words<3>;
    case 4: return copy_words<4>;
    case 5: return copy_words<5>;
    case 6: return copy_words<6>;
    case 7: return copy_words<7>;
    default: return copy_any;
  }
}

static void number_rows(uint64_t* __restrict out, uint64_t first_row, const uint16_t* __restrict rows, size_t n) {
  if (rows == nullptr) {
    for (size_t i = 0; i < n; ++i) out[i] = first_row + i;
  } else {
    for (size_t i = 0; i < n; ++i) out[i] = first_row + rows[i];
  }
}

static size_t positions_of(uint16_t* __restrict positions, const uint64_t* __restrict mask, size_t n) {
  size_t found = 0;
  for (size_t i = 0; i < n; ++i) {
    positions[found] = static_cast<uint16_t>(i);
    found += mask[i];
  }
  return found;
}

static void compact_lanes(uint64_t* lanes, const uint16_t* positions, size_t n) {
  for (size_t i = 0; i < n; ++i) lanes[i] = lanes[positions[i]];
}

static void compact_row_numbers(uint16_t* rows, const uint16_t* positions, size_t n) {
  for (size_t i = 0; i < n; ++i) rows[i] = rows[positions[i]];
}

static kernel_set make_set(const char* name) {
  kernel_set set = {};
  set.name = name;
#define X(op, value) set.lanes[static_cast<size_t>(opcode::op)] = op##_lanes;
  FLOWRUN_UNARY_OPS(X)
  FLOWRUN_BINARY_OPS(X)
  FLOWRUN_TERNARY_OPS(X)
#undef X
#define X(op, value) set.immediate[static_cast<size_t>(opcode::op)] = op##_immediate;
  FLOWRUN_BINARY_OPS(X)
#undef X
  using record::type_kind;
  const auto field = [&](type_kind kind, load_kernel load, store_kernel store) {
    set.load[static_cast<size_t>(kind)] = load;
    set.store[static_cast<size_t>(kind)] = store;
  };
  field(type_kind::boolean, load_rows<boolean_field>, store_rows<boolean_field>);
  field(type_kind::u8, load_rows<plain_field<uint8_t>>, store_rows<plain_field<uint8_t>>);
  field(type_kind::u16, load_rows<plain_field<uint16_t>>, store_rows<plain_field<uint16_t>>);
  field(type_kind::u24, load_rows<split_field<uint16_t, uint8_t>>, store_rows<split_field<uint16_t, uint8_t>>);
  field(type_kind::u32, load_rows<plain_field<uint32_t>>, store_rows<plain_field<uint32_t>>);
  field(type_kind::u40, load_rows<split_field<uint32_t, uint8_t>>, store_rows<split_field<uint32_t, uint8_t>>);
  field(type_kind::u48, load_rows<split_field<uint32_t, uint16_t>>, store_rows<split_field<uint32_t, uint16_t>>);
  field(type_kind::u64, load_rows<plain_field<uint64_t>>, store_rows<plain_field<uint64_t>>);
  field(type_kind::i8, load_rows<plain_field<int8_t>>, store_rows<plain_field<int8_t>>);
  field(type_kind::i16, load_rows<plain_field<int16_t>>, store_rows<plain_field<int16_t>>);
  field(type_kind::i32, load_rows<plain_field<int32_t>>, store_rows<plain_field<int32_t>>);
  field(type_kind::i64, load_rows<plain_field<uint64_t>>, store_rows<plain_field<uint64_t>>);
  field(type_kind::f32, load_rows<float_field>, store_rows<float_field>);
  field(type_kind::f64, load_rows<plain_field<uint64_t>>, store_rows<plain_field<uint64_t>>);
  field(type_kind::date, load_rows<plain_field<int32_t>>, store_rows<plain_field<int32_t>>);
  field(type_kind::timestamp, load_rows<plain_field<uint64_t>>, store_rows<plain_field<uint64_t>>);
  field(type_kind::decimal, load_rows<plain_field<uint64_t>>, store_rows<plain_field<uint64_t>>);
  set.number_rows = number_rows;
  set.positions = positions_of;
  set.compact = compact_lanes;
  set.compact_rows = compact_row_numbers;
  set.copy = copy_for;
  return set;
}
