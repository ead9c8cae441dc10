/* Interfaces beyond the core, by name and version: fr_host.interface("flowrun.queue/1") is an fr_queue_interface, or NULL
 * where this flowrun doesn't have it. Each is a table that only grows, its size first; the rules of flowrun/plugin.h hold.
 *
 * `job` is the fr_job that build() was handed. What a plugin opens it closes in destroy() at the latest.
 */
#ifndef FLOWRUN_INTERFACES_H
#define FLOWRUN_INTERFACES_H

#include <flowrun/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- scratch ---- */

/* Rows first in, first out; on scratch beyond its memory. */
#define FR_QUEUE_INTERFACE "flowrun.queue/1"
typedef struct fr_queue fr_queue;
typedef struct fr_queue_interface {
  size_t size;
  /* `memory_bytes` is a part of the node's memory. NULL: it failed. [step], or in build */
  fr_queue* (*open)(const fr_job* job, const fr_column* columns, size_t num_columns, uint64_t memory_bytes);
  /* Takes rows, wherever they lie. FR_OK: all. FR_BLOCKED_...: `rows` is what is left, which comes again. [step] */
  int (*push)(fr_queue* queue, fr_batch* rows);
  /* No more rows will come. */
  void (*end)(fr_queue* queue);
  /* The other end; it is open as long as the queue. */
  const fr_reader* (*reader)(fr_queue* queue);
  void (*close)(fr_queue* queue);
} fr_queue_interface;

/* Rows that are written once and read any number of times; on scratch beyond its memory. */
#define FR_VECTOR_INTERFACE "flowrun.vector/1"
typedef struct fr_vector fr_vector;
typedef struct fr_vector_interface {
  size_t size;
  fr_vector* (*open)(const fr_job* job, const fr_column* columns, size_t num_columns, uint64_t memory_bytes);
  int (*push)(fr_vector* vector, fr_batch* rows);
  /* Behind the last row. FR_DONE: the rows can be read. FR_BLOCKED_..., FR_FAILED. [step] */
  int (*finish)(fr_vector* vector);
  /* Of a finished vector. Lives as long as the vector. */
  const fr_rows* (*rows)(fr_vector* vector);
  void (*close)(fr_vector* vector); /* behind its readers */
} fr_vector_interface;

/* ---- the world outside ---- */

/* A file that appears under its name when the whole job has succeeded, or never. */
#define FR_OUTPUT_FILE_INTERFACE "flowrun.output_file/1"
typedef struct fr_output_file fr_output_file;
typedef struct fr_output_file_interface {
  size_t size;
  /* The path is that of a parameter of kind path, or "-" for standard output. In build. NULL: it failed. */
  fr_output_file* (*open)(const fr_job* job, fr_text path);
  /* Copies bytes; `taken` says how many. FR_OK: all. FR_BLOCKED_IO: the rest comes again. FR_FAILED. [step] */
  int (*write)(fr_output_file* file, const void* data, size_t num_bytes, size_t* taken);
  /* FR_DONE: all is written; the job gives it its name in the end. FR_BLOCKED_IO, FR_FAILED. [step] */
  int (*finish)(fr_output_file* file);
  void (*close)(fr_output_file* file); /* without finish(): nothing appears */
} fr_output_file_interface;

/* Wakes a node when something can be read or written, or when a time has come. */
#define FR_WAKE_INTERFACE "flowrun.wake/1"
enum { FR_READABLE = 1, FR_WRITABLE = 2 };
typedef struct fr_wake_interface {
  size_t size;
  /* Once: wakes when the descriptor is ready, or its other end is gone. The descriptor stays open until then, or until
   * forget(). Returns 0 or an errno: EPERM, a regular file, which is always ready; EBUSY, another node waits for it
   * (each dup()s one for itself). [any thread] */
  int (*when_ready)(fr_waker* waker, int descriptor, uint32_t what);
  /* Once this returns, the descriptor may be closed. */
  void (*forget)(fr_waker* waker, int descriptor);
  /* Once: wakes after so many milliseconds. */
  void (*after)(fr_waker* waker, uint64_t milliseconds);
} fr_wake_interface;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
