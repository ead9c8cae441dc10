/* What crosses the border between flowrun and a plugin: tables of C functions, and structs of plain data.
 *
 * A plugin is a shared object with one exported function, flowrun_plugin_v1, and a note (.note.flowrun) that flowrun
 * reads before it runs any code of the file. Most plugins are written in C++ with flowrun/plugin.hpp, which is compiled
 * into the plugin and needs nothing but this file. No type of C++, no exception and no memory of an allocator crosses
 * the border.
 *
 * Promise: what stands here keeps its place and its meaning as long as the major version is 1. Structs grow at their
 * end only; the first member of each that may grow is its size as the writer knew it, and the reader reads no further.
 * A member that the other side doesn't know counts as zero. Structs without a size never change.
 *
 * Rules:
 *  - Texts are not terminated by a zero byte. A text that is handed over lives until the call returns, unless it says
 *    otherwise.
 *  - A function that says [any thread] is called from several threads at once; [one thread] from changing threads, one
 *    call at a time; [step] by a step (pull, push, finish) that flowrun has called, on its thread, before it returns;
 *    [loading] once, while the plugin is loaded.
 *  - A step that can't proceed returns FR_BLOCKED_... and gives its thread back; it never sleeps. Threads of the plugin's
 *    own, and work that it has spawned, wake it.
 *  - A function that fails calls fr_host.fail with the fr_problem that it was given and returns FR_FAILED (or what else
 *    it says). It never throws and never ends the process. Where a function of flowrun returns FR_FAILED or NULL during a
 *    step or a build, flowrun has noted why: the plugin just returns FR_FAILED, too.
 *  - Results are functions of the input: the same rows give the same bytes, however they are cut into chunks and
 *    batches, and on however many threads.
 */
#ifndef FLOWRUN_PLUGIN_H
#define FLOWRUN_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FR_ABI_MAJOR 1
#define FR_ABI_MINOR 2

/* ---- plain data ---- */

typedef struct fr_text {
  size_t size; /* bytes */
  const char* data;
} fr_text;

/* Value types of columns. In a row they lie packed, little endian. In an expression each is a cell of 8 bytes: integers
 * as 64 bits (signed ones extended), bool as 0 or 1, floats as the bits of a double; texts are an fr_text. Times are
 * signed integers of 4 and 8 bytes, in the Gregorian calendar and UTC. */
enum {
  FR_BOOL = 0,
  FR_U8 = 1,
  FR_U16 = 2,
  FR_U24 = 3,
  FR_U32 = 4,
  FR_U40 = 5,
  FR_U48 = 6,
  FR_U64 = 7,
  FR_I8 = 8,
  FR_I16 = 9,
  FR_I32 = 10,
  FR_I64 = 11,
  FR_F32 = 12,
  FR_F64 = 13,
  FR_BYTES = 14, /* exactly num_bytes of them */
  FR_STRING = 15,
  FR_DATE = 16,      /* days since 1970-01-01; since 1.1 */
  FR_TIMESTAMP = 17, /* microseconds since 1970-01-01; since 1.1 */
  FR_DECIMAL = 32    /* to FR_DECIMAL + 18: FR_DECIMAL + S is decimal[S], in a row an i64 of units of 10^-S; since 1.2 */
};

typedef struct fr_type {
  uint32_t kind;      /* FR_BOOL ... FR_DECIMAL + 18 */
  uint32_t num_bytes; /* of FR_BYTES: how many; of all others it is not looked at */
} fr_type;

/* What functions return. Blocked: not now; the node's waker (fr_job.waker) is woken when it is worth another try. What
 * is waited for shows in metrics and reports. */
enum {
  FR_OK = 0,
  FR_FAILED = 1,
  FR_DONE = 2,
  FR_BLOCKED_IO = 3,     /* a transfer, or something outside of the job */
  FR_BLOCKED_MEMORY = 4, /* memory that others hold */
  FR_BLOCKED_INPUT = 5,  /* rows that others have yet to make */
  FR_BLOCKED_OUTPUT = 6  /* room for rows that others have yet to take */
};

/* Why something failed. The exit code of flowrun follows from it. */
enum {
  FR_BAD_DATA = 65,   /* the input is not as it must be */
  FR_MISSING = 66,    /* an input isn't there */
  FR_INTERNAL = 70,   /* a mistake in the plugin */
  FR_OUTPUT = 73,     /* an output can't be written */
  FR_IO = 74,         /* reading or writing failed */
  FR_RESOURCES = 75,  /* more memory or scratch is needed than there is */
  FR_BAD_SPEC = 78    /* the job asks for what can't be */
};

/* Takes the reason of a failure. Belongs to flowrun. */
typedef struct fr_problem fr_problem;

/* Makes flowrun call a step again that was blocked. */
typedef struct fr_waker fr_waker;

/* ---- flowrun, as a plugin sees it ---- */

/* Lives as long as the process. */
typedef struct fr_host {
  size_t size;
  uint32_t abi_minor;
  fr_text version; /* of flowrun */

  /* An interface by its name and version, such as "flowrun.queue/1"; NULL if this flowrun doesn't have it.
   * [any thread] */
  const void* (*interface)(const char* id);
  /* `kind` is FR_BAD_DATA ... FR_BAD_SPEC; `hint` says what to do and may be empty. The texts are copied.
   * [any thread] */
  void (*fail)(fr_problem* problem, uint32_t kind, fr_text message, fr_text hint);

  /* A waker may be woken at any time, also when nobody waits, or when its node is gone: then nothing happens. Whoever
   * keeps one beyond a call retains it, and releases it in the end. The pattern that loses no wake: a thread changes
   * what the step looks at, and then wakes. [any thread] */
  void (*wake)(fr_waker* waker);
  void (*retain_waker)(fr_waker* waker);
  void (*release_waker)(fr_waker* waker);
} fr_host;

/* ---- functions of the expression language ---- */

/* An argument, when a call of a function is bound. */
typedef struct fr_argument {
  fr_type type;
  uint32_t is_constant;
  /* A constant whose value is known. Scalars of loops are constants too; their values are known only when the call is
   * bound once more, before a run. */
  uint32_t is_known;
  uint64_t cell; /* of a known constant that is no text, as its type lies in a cell */
  fr_text text;  /* of a known constant text; lives until the call returns */
  uint64_t reserved[2];
} fr_argument;

/* What binding found: that the call is right, or what is wrong with it. */
typedef struct fr_binding {
  size_t size;
  fr_type result; /* numbers, bool, FR_STRING or times. Cells of a narrow type must hold values of that type. */
  /* What run() wants as the cells of each argument: FR_U64, FR_I64, FR_F64, FR_BOOL, FR_STRING, FR_DATE or
   * FR_TIMESTAMP. There is one for each argument; flowrun converts, or says why it can't. It comes filled in with what the arguments are. */
  uint32_t* wanted;
  /* For run(); destroyed with destroy_state, when no program uses it any more. May be NULL. */
  void* state;
  /* If bind returns FR_FAILED and the fault is that of one argument: which one. It comes as FR_NO_ARGUMENT. */
  size_t faulty_argument;
} fr_binding;
#define FR_NO_ARGUMENT ((size_t)-1)

/* The cells of an argument: of row i it is data[i * step]. `step` is 0 for a value that is the same for all rows. */
typedef struct fr_cells {
  const void* data; /* uint64_t or fr_text */
  size_t step;      /* 0 or 1 */
} fr_cells;

/* Memory for new texts, until the chunk has been used. Belongs to flowrun. */
typedef struct fr_arena fr_arena;

/* One call for a chunk of rows. */
typedef struct fr_call {
  size_t size;
  size_t num_rows; /* at least 1 */
  size_t num_args;
  const fr_cells* args;
  void* out; /* num_rows cells: uint64_t, or fr_text. They overlap no argument. */
  fr_arena* arena;
  /* Room for a new text; NULL if it is too long for the memory budget: then return 0. */
  char* (*take)(fr_arena* arena, size_t num_bytes);
  /* Gives the last bytes of the last take() back. */
  void (*give_back)(fr_arena* arena, size_t num_bytes);
  /* Not 0: the chunk has made enough text. run() may return before it has done all rows. */
  int (*is_full)(const fr_arena* arena);
  fr_problem* problem;
  uint64_t longest_text; /* take() gives no more at once */
} fr_call;

typedef struct fr_function {
  size_t size;
  fr_text name;      /* a lower case word; in jobs it is called as PLUGIN.NAME */
  fr_text signature; /* for people: "encode(latitude, longitude, length) -> string" */
  fr_text help;      /* one sentence; must not be empty */
  uint32_t min_args, max_args;
  void* context; /* handed to bind; lives as long as the process */

  /* Whether arguments of these types are right, and what run() will get and give. Pure. Called for each call in a job,
   * and again when scalars get new values. [any thread] */
  int (*bind)(void* context, const fr_argument* args, size_t num_args, fr_binding* out, fr_problem* problem);
  /* Does the first rows of the chunk, at least one, and returns how many; 0: it failed. Pure. [any thread] */
  size_t (*run)(const void* state, const fr_call* call);
  void (*destroy_state)(void* state); /* [any thread] */
} fr_function;
#define FR_ANY_NUMBER UINT32_MAX

/* ---- aggregates ---- */

/* What an aggregate knows of a group so far is its state: state_bytes of plain data, without pointers, since states are
 * copied, and lie in rows on scratch. A state is started, takes rows, takes in other states, and gives its result:
 *
 *   start s; update s with rows 0 to 4; start t; update t with rows 5 to 9; combine s with t; finish s
 *
 * gives the same bytes as update s with rows 0 to 9, if FR_COMBINABLE is set, however rows that follow each other are
 * divided: s and t may have been combined from states of smaller parts, and s may have been started only. Parts are
 * combined in their order; without FR_ROWS_IN_ORDER in any. How rows are divided among calls of update never matters. */
enum {
  FR_COMBINABLE = 1,   /* states may be combined */
  FR_ROWS_IN_ORDER = 2 /* the order of the rows matters: a sort that combines is a stable one then */
};
#define FR_LARGEST_STATE 65536

/* What binding found, as fr_binding. */
typedef struct fr_aggregate_binding {
  size_t size;
  fr_type result; /* numbers, bool, FR_STRING or times */
  uint32_t* wanted;
  void* bound; /* for the other functions; destroyed with destroy_bound. May be NULL. */
  size_t faulty_argument;
  /* 1 to FR_LARGEST_STATE. This, the result's type and the flags are the same when the call is bound again. */
  uint32_t state_bytes;
  uint32_t flags; /* FR_COMBINABLE, FR_ROWS_IN_ORDER */
} fr_aggregate_binding;

/* Where rows go: those in [starts[k], starts[k + 1]) to state k, in order. starts[0] is 0; a state may get none. */
typedef struct fr_groups {
  unsigned char* states; /* side by side */
  size_t num_states;
  const uint32_t* starts; /* num_states + 1 of them; the last is the number of rows */
} fr_groups;

/* The states of start, update and finish lie at multiples of 16 bytes, or of the largest power of two that divides
 * state_bytes. */
typedef struct fr_aggregate {
  size_t size;
  fr_text name;      /* a lower case word; in jobs it is called as PLUGIN.NAME */
  fr_text signature; /* for people: "distinct(x) -> u64" */
  fr_text help;      /* one sentence; must not be empty */
  uint32_t min_args, max_args;
  void* context; /* handed to bind; lives as long as the process */

  /* As fr_function.bind. [any thread] */
  int (*bind)(void* context, const fr_argument* args, size_t num_args, fr_aggregate_binding* out, fr_problem* problem);
  /* All of these are pure, but for the states that they change. [any thread] */
  int (*start)(const void* bound, unsigned char* states, size_t num_states, fr_problem* problem);
  int (*update)(const void* bound, const fr_groups* to, const fr_cells* args, size_t num_args, fr_problem* problem);
  /* The rows are states themselves, `step` bytes from one to the next. States of any address, on both sides, that don't
   * overlap. Needed for FR_COMBINABLE. */
  int (*combine)(const void* bound, const fr_groups* to, const unsigned char* from, size_t step, fr_problem* problem);
  /* As fr_function.run, without arguments: call->num_rows states. They don't change. */
  size_t (*finish)(const void* bound, const unsigned char* states, const fr_call* call);
  void (*destroy_bound)(void* bound);
} fr_aggregate;

/* ---- rows ---- */

typedef struct fr_column {
  fr_text name;
  fr_type type;    /* num_bytes is the width in the row, of all types */
  uint32_t offset; /* from the start of the row */
  uint32_t reserved;
} fr_column;

/* Rows are packed: columns in their order, without padding. */
typedef struct fr_row_type {
  const fr_column* columns;
  size_t num_columns;
  uint32_t row_bytes;
  uint32_t has_strings;
} fr_row_type;

/* How a string lies in a row: where it is in the heap of its batch. */
typedef struct fr_string {
  uint32_t offset, length;
} fr_string;

/* Rows on their way. Nobody changes them; they live until the call returns. */
typedef struct fr_batch {
  const unsigned char* rows;
  size_t num_rows;
  uint32_t row_bytes;
  uint32_t reserved;
  const unsigned char* heap;
  size_t heap_bytes;
  uint64_t first_row; /* position of the first row in its stream, where the stream counts */
} fr_batch;

/* One key by which rows are sorted: a column, or bytes [from, from + length) of one of type bytes[N]. */
typedef struct fr_order_term {
  fr_text column;
  uint32_t is_descending;
  uint32_t from, length; /* 0: the whole column */
  uint32_t reserved;
} fr_order_term;

/* How many rows a stream has, as far as that is known before the run. */
typedef struct fr_estimate {
  uint64_t rows, num_bytes; /* expected; with the bytes of strings */
  uint32_t is_known;        /* 0: nothing is */
  uint32_t is_exact;        /* there are just so many rows */
  uint64_t most_rows, most_bytes; /* UINT64_MAX: no bound */
} fr_estimate;

/* Rows that a step takes by itself: an input of a meeting operator, stored rows, a queue. The functions: [step] */
typedef struct fr_reader {
  size_t size;
  void* self;
  /* FR_OK: `*front` is the next batch, valid until pop() or close(). FR_DONE: there is no more. FR_BLOCKED_..., FR_FAILED:
   * the step returns it. */
  int (*front)(void* self, const fr_batch** front);
  void (*pop)(void* self);
  /* Of a reader that the plugin has opened; also from destroy(). NULL of all others. */
  void (*close)(void* self);
} fr_reader;

/* Rows that are stored as a whole, in memory or on scratch; they can be read any number of times. */
typedef struct fr_rows {
  size_t size;
  void* self;
  uint64_t num_rows, num_bytes; /* bytes with those of strings */
  /* From the first row, or from the last to the first. `memory_bytes` for blocks that are read ahead, at least 256 KiB;
   * it is a part of the node's memory. Returns FR_OK or FR_FAILED. [step], or in build */
  int (*read)(void* self, uint32_t is_backward, uint64_t memory_bytes, fr_reader* out);
} fr_rows;

/* Where a step leaves what it makes. All functions: only during the call that it is handed to, by its thread. */
typedef struct fr_out {
  size_t size;
  void* self;
  size_t batch_bytes;    /* about so large a batch should be: rows and strings */
  uint64_t longest_row;  /* with its strings */
  uint64_t within;       /* what leave() said, when rows come again; else 0 */
  fr_problem* problem;
  /* Memory for rows and strings, uninitialised, aligned to 64 bytes. It belongs to the batches that are emitted after it
   * was taken. NULL: there is none, or the step has taken far more than a batch; it returns FR_FAILED. */
  void* (*take)(void* self, size_t num_bytes);
  /* Hands on rows that lie in memory of take(), or in the input batch, as their strings do. FR_FAILED: the batch isn't
   * as the output's type says; the step returns FR_FAILED. */
  int (*emit)(void* self, uint32_t port, const fr_batch* batch);
  /* Bytes that the step may still make. At 0, a step whose input isn't used up calls leave() and returns. */
  uint64_t (*room)(void* self);
  /* The rows of the input from `row` on come again, when what was made has gone on; `within` says how much of the first
   * of them is done, in a unit of the plugin's own. Not by a step that returns FR_BLOCKED_... */
  void (*leave)(void* self, size_t row, uint64_t within);
} fr_out;

/* ---- operators ---- */

/* How an operator is run. */
enum {
  FR_SOURCE = 0,    /* no input; pull */
  FR_STATELESS = 1, /* one stream; several batches at once; apply */
  FR_ORDERED = 2,   /* one stream; batch after batch, in the order of the stream; push, finish. Without outputs: a sink */
  /* One stream, which is sorted on the way. Its two parts run one after the other: the intake (apply or push, or
   * nothing) makes the rows that flowrun sorts, as fr_node.set_sort says; the work (push, finish, or nothing) gets them in
   * order. */
  FR_BREAKER = 3,
  FR_MEETING = 4 /* several inputs, which it reads by itself; pull */
};

/* How an operator gets the rows of an input. */
enum {
  FR_STREAM = 0,
  /* Flowrun stores them as a whole before the operator runs: fr_job.stored. */
  FR_STORED = 1,
  /* The operator takes them in by an ordered stage of its own, the intake, before it runs: it is built for FR_INTAKE with
   * fr_job.input, and what the stage leaves (fr_stage.left) comes as fr_job.left. */
  FR_TAKEN_IN = 2
};

/* The part of a node that is built. */
enum { FR_WHOLE = 0, FR_INTAKE = 1, FR_WORK = 2 };

/* What a parameter must look like in YAML; flowrun checks that much by itself. */
enum {
  FR_PARAMETER_TEXT = 0,
  FR_PARAMETER_INTEGER = 1, /* 0 ... 2^63 - 1 */
  FR_PARAMETER_NUMBER = 2,
  FR_PARAMETER_BOOLEAN = 3,
  FR_PARAMETER_BYTES = 4,   /* 64MiB */
  FR_PARAMETER_CHOICE = 5,  /* one of `choices` */
  FR_PARAMETER_COLUMNS = 6, /* a list of columns of an input; of a source: names of what it reads (paths) */
  FR_PARAMETER_PATH = 7,    /* a file, which a sink writes and others read; no node writes what another one does */
  FR_PARAMETER_PATHS = 8,   /* a file or a list of them */
  FR_PARAMETER_ROW_TYPE = 9, /* {column: type}, or the name of a type of the job */
  FR_PARAMETER_EXPRESSION = 10,
  FR_PARAMETER_CONDITION = 11, /* an expression of type bool */
  FR_PARAMETER_EXPRESSIONS = 12, /* {name: expression} */
  FR_PARAMETER_SORT_KEYS = 13,   /* a list of columns and expressions; - in front: descending */
  FR_PARAMETER_COLUMN_PAIRS = 14 /* a list of columns that the first two inputs have, or {column: column} */
};

typedef struct fr_parameter {
  fr_text name;
  uint32_t kind; /* FR_PARAMETER_... */
  uint32_t is_required;
  fr_text default_text; /* as it would stand in YAML; empty: none */
  fr_text choices;      /* words, separated by blanks */
  fr_text help;         /* one sentence */
  uint64_t reserved[2];
} fr_parameter;

typedef struct fr_port {
  fr_text name, help;
  uint32_t storage; /* of an input: FR_STREAM, FR_STORED, FR_TAKEN_IN */
  uint32_t reserved;
  uint64_t more[2];
} fr_port;

/* Bytes of memory that a part of a node wants while it runs. Each node gets its minimum; the rest of the budget is
 * shared by weight, none beyond its maximum. */
typedef struct fr_memory {
  uint64_t minimum, maximum;
  double weight;
} fr_memory;

/* How a breaker's rows are sorted. */
typedef struct fr_sort {
  size_t size;
  const fr_column* columns; /* of the rows that the intake makes; offsets are not looked at */
  size_t num_columns;
  const fr_order_term* terms;
  size_t num_terms;
  uint64_t limit;      /* only so many rows are wanted; 0: all */
  uint32_t is_stable;  /* equal keys keep the order of the input */
  uint32_t is_unique;  /* only the first row of each key */
} fr_sort;

/* What becomes of rows that can't be used (on_error). */
enum { FR_ON_ERROR_FAIL = 0, FR_ON_ERROR_SKIP = 1, FR_ON_ERROR_TO_PORT = 2 };

/* A node of a job, while it is checked. Texts and types live until check() returns. */
typedef struct fr_node {
  size_t size;
  void* self;
  size_t num_inputs;
  fr_text id; /* of the node, for messages */

  /* Parameters by name; each in the form that was declared, or its default. */
  int (*has)(void* self, fr_text name);
  fr_text (*text)(void* self, fr_text name);     /* also of a path and a choice */
  uint64_t (*integer)(void* self, fr_text name); /* also of bytes, and of booleans */
  double (*number)(void* self, fr_text name);
  /* Lists: return how many there are and write at most `most`. */
  size_t (*paths)(void* self, fr_text name, fr_text* out, size_t most); /* also of the columns of a source */
  /* The columns by their places in an input. Unknown ones are faults. */
  size_t (*columns)(void* self, fr_text name, size_t input, uint32_t* places, size_t most);
  /* The places in the first input and in the second, in turn; counts pairs. */
  size_t (*column_pairs)(void* self, fr_text name, uint32_t* places, size_t most);
  const fr_row_type* (*row_type)(void* self, fr_text name); /* NULL: none was given */

  /* Expressions of the columns of the one stream. Flowrun computes them: the rows that steps get have the input's columns
   * and, behind them, one for each expression that was asked for here, in this order. The result is that column, as it
   * lies in those rows. Not for meeting operators. Returns whether there is one without a fault. */
  int (*expression)(void* self, fr_text name, fr_column* out);
  size_t (*expressions)(void* self, fr_text name, fr_column* out, size_t most);
  /* Terms for set_sort(); keys that are more than a column become columns like expressions. */
  size_t (*sort_keys)(void* self, fr_text name, fr_order_term* out, size_t most);
  /* The rows that steps get: the input's columns and those of the expressions so far. */
  const fr_row_type* (*rows)(void* self);

  /* The inputs, by their places in the declaration. */
  const fr_row_type* (*input_type)(void* self, size_t input);
  size_t (*input_order)(void* self, size_t input, const fr_order_term** terms);
  void (*input_estimate)(void* self, size_t input, fr_estimate* out);
  /* A fault unless the input is sorted so; returns whether it is. */
  int (*require_order)(void* self, size_t input, const fr_order_term* terms, size_t num_terms);

  /* A fault at a parameter (or inside of one: "let.x"), or with an empty name at the node. */
  void (*fault)(void* self, fr_text parameter, fr_text message, fr_text expected, fr_text hint);
  /* Whether there was no fault so far. */
  int (*is_good)(void* self);

  /* What the job says of rows that can't be used: FR_ON_ERROR_...; `port` is the output that they go to, whose columns the
   * check sets like those of others. For operators with has_error_port. */
  uint32_t (*on_error)(void* self, uint32_t* port);

  /* Once for each output: its columns (offsets are not looked at), how it is sorted, and how many rows it has; the last
   * may be NULL. */
  void (*set_output)(void* self, uint32_t port, const fr_column* columns, size_t num_columns, const fr_order_term* terms,
                     size_t num_terms, const fr_estimate* estimate);
  /* Of a breaker, once. */
  void (*set_sort)(void* self, const fr_sort* sort);
  /* What a part wants beside its batches; nothing by itself. Not of the intake of a breaker or of stored rows, which
   * flowrun knows. */
  void (*set_memory)(void* self, uint32_t part, const fr_memory* memory);
} fr_node;

/* A part of a node that runs. Lives as long as what was built for it. [any thread], where nothing else is said */
typedef struct fr_job {
  size_t size;
  void* self;
  uint32_t num_threads;
  uint32_t part;         /* FR_WHOLE, FR_INTAKE, FR_WORK */
  uint64_t memory_bytes; /* of this part: its share of the budget */
  int (*is_cancelled)(void* self);
  void (*warn)(void* self, fr_text text);                  /* a line on standard error, once per text */
  void (*report)(void* self, fr_text name, fr_text value); /* a result, for the run report */

  fr_waker* waker; /* of this part; lives as long as it, and longer where it is retained */
  size_t input;    /* of the intake of an input: which one */
  size_t num_inputs;
  const fr_reader* inputs; /* of a meeting operator, by input; size 0 where it is stored */
  const fr_rows* stored;   /* by input; size 0 where it is none */
  void* const* left;       /* by input: what its intake has left, or NULL */

  /* Runs work(argument) on the job's threads, later; destroy() comes behind all of it. Returns after about a batch. */
  void (*spawn)(void* self, void (*work)(void* argument), void* argument);
  /* Ends the job with an error: for spawned work, and threads of the plugin's own. Steps return FR_FAILED instead. */
  void (*fail)(void* self, uint32_t kind, fr_text message, fr_text hint);
  /* Books memory of the share, for what the plugin allocates by itself. FR_FAILED: there is not so much left; the plugin
   * does with less, or fails with FR_RESOURCES. */
  int (*reserve)(void* self, uint64_t num_bytes);
  void (*release)(void* self, uint64_t num_bytes);
  /* Adds to a counter of the node, about once a batch: a metric and a line of the report. Names that flowrun knows, for
   * progress and its own metrics: file_read_bytes, file_total_bytes (what the first will come to), file_written_bytes,
   * rejected_rows. */
  void (*count)(void* self, fr_text name, uint64_t n);
} fr_job;

/* What runs for a part of a node; the functions of its role are set. */
typedef struct fr_stage {
  size_t size;
  void* state;
  int (*apply)(const void* state, const fr_batch* in, const fr_out* out); /* stateless: [any thread] */
  /* Ordered: [one thread]. One that blocks advances `in` (rows, num_rows) beyond the rows that it has taken; the rest
   * comes again. */
  int (*push)(void* state, fr_batch* in, const fr_out* out);
  /* Ordered, behind the last batch; may be NULL. About a batch at a time: FR_OK, and FR_DONE when there is no more. */
  int (*finish)(void* state, const fr_out* out);
  /* A source, a meeting: about a batch, FR_OK; FR_DONE when there is no more. [one thread] */
  int (*pull)(void* state, const fr_out* out);
  void (*destroy)(void* state);
  /* Of the intake of an input: what the work gets. Destroyed when the node has run. */
  void* left;
  void (*destroy_left)(void* left);
} fr_stage;

typedef struct fr_operator {
  size_t size;
  fr_text name; /* a lower case word; in jobs it is PLUGIN.NAME */
  fr_text summary, details, order, example; /* for people: one sentence; paragraphs; "keeps: the input's order"; YAML */
  uint32_t role;                            /* FR_SOURCE ... FR_MEETING */
  uint32_t has_optional_output;             /* its output needs no reader, since it does something by itself */
  const fr_port* inputs;                    /* streams first where the role has one stream */
  size_t num_inputs;
  const fr_port* outputs; /* none for a sink */
  size_t num_outputs;
  const fr_parameter* parameters;
  size_t num_parameters;
  void* context; /* handed to check and build; lives as long as the process */

  /* Reads the parameters, sets the outputs, and leaves what build() needs. Changes nothing; it may look into the files
   * that its parameters name. Faults go to the node, FR_FAILED is for what the operator can't do anything about.
   * [one thread] */
  int (*check)(void* context, const fr_node* node, void** settings, fr_problem* problem);
  void (*destroy_settings)(void* settings);
  /* What runs for a part of the node. Called once for each run of it (in a loop: for each iteration), with the settings
   * of its check. */
  int (*build)(void* context, const void* settings, const fr_job* job, fr_stage* out, fr_problem* problem);
  uint32_t has_error_port; /* a source or an ordered operator that a job may give on_error */
  uint32_t reserved;
} fr_operator;

/* ---- loading ---- */

/* Takes what a plugin declares. The structs and their texts are copied, but for what `context` points to. */
typedef struct fr_registrar {
  size_t size;
  void* self;
  void (*add_function)(void* self, const fr_function* function);
  fr_problem* problem;
  void (*add_operator)(void* self, const fr_operator* op);
  void (*add_aggregate)(void* self, const fr_aggregate* aggregate);
} fr_registrar;

/* The one export. `host` lives as long as the process, `registrar` until the call returns. Returns FR_OK or FR_FAILED.
 * [loading] */
typedef int (*fr_plugin_entry)(const fr_host* host, const fr_registrar* registrar);
#define FR_PLUGIN_ENTRY "flowrun_plugin_v1"

/* The note: an ELF note with the name "flowrun" and the type FR_NOTE_TYPE, whose descriptor is this struct. Texts end
 * with a zero byte. */
#define FR_NOTE_NAME "flowrun"
#define FR_NOTE_TYPE 1
enum { FR_SANITIZER_ADDRESS = 1, FR_SANITIZER_THREAD = 2, FR_SANITIZER_MEMORY = 4 };
typedef struct fr_note {
  uint32_t abi_major;
  uint32_t min_abi_minor; /* the oldest flowrun that has what the plugin needs */
  uint32_t sanitizers;    /* that the file was compiled with: FR_SANITIZER_... */
  uint32_t reserved;
  char name[32]; /* a lower case word: the first half of the plugin's words */
  char version[32];
  char compiler[64];
} fr_note;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
