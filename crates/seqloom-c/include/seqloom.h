/* Scores of an exported model. Written by cbindgen from crates/seqloom-c: do not edit. */

#ifndef SEQLOOM_H
#define SEQLOOM_H

#include <stddef.h>
#include <stdint.h>

/**
 * Booleans: one byte each, 0 or 1.
 */
#define SEQLOOM_BOOL 0

/**
 * Unsigned integers of 8 bits.
 */
#define SEQLOOM_UINT8 1

/**
 * Signed integers of 32 bits.
 */
#define SEQLOOM_INT32 2

/**
 * Signed integers of 64 bits.
 */
#define SEQLOOM_INT64 3

/**
 * Unsigned integers of 32 bits.
 */
#define SEQLOOM_UINT32 4

/**
 * Floats of 32 bits.
 */
#define SEQLOOM_FLOAT32 5

/**
 * Floats of 64 bits.
 */
#define SEQLOOM_FLOAT64 6

/**
 * The output arrays of a model.
 */
typedef struct SeqloomArrays SeqloomArrays;

/**
 * An exported model. Several threads may use a model at the same time.
 */
typedef struct SeqloomModel SeqloomModel;

/**
 * The ids and scores of all records in the scored files.
 */
typedef struct SeqloomScores SeqloomScores;

/**
 * A callback that receives `context`, and the id and scores of one record. The id and
 * scores are valid until the callback returns. The callback returns 0 to continue with
 * the next record, or any other number to stop.
 */
typedef int (*SeqloomRow)(void *context, const char *id, const float *scores, size_t columns);

/**
 * An array in C order.
 */
typedef struct {
  /**
   * The name, as `seqloom-run inspect` prints it.
   */
  const char *name;
  /**
   * The element type, such as `SEQLOOM_FLOAT32`.
   */
  uint32_t dtype;
  /**
   * The number of axes.
   */
  size_t axes;
  /**
   * The length of each axis.
   */
  const size_t *shape;
  /**
   * The elements.
   */
  const void *data;
} SeqloomArray;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the error of the last call in this thread, or an empty string if that call
 * succeeded. Calls that free memory do not change this error. The string is valid
 * until the next call and must not be freed.
 */
const char *seqloom_last_error(void);

/**
 * Returns the warnings of the last `seqloom_predict` or `seqloom_score` in this
 * thread, one sentence per line, or an empty string. The string is valid until the
 * next of these calls and must not be freed.
 */
const char *seqloom_last_warnings(void);

/**
 * Returns the version of this library, such as "0.1.0". The string must not be freed.
 */
const char *seqloom_version(void);

/**
 * Opens a folder or a .zip that `seqloom export` wrote, and checks all files.
 *
 * A call may use up to `threads` threads; 0 means one. Returns null on failure;
 * `seqloom_last_error` returns the reason.
 *
 * # Safety
 *
 * `path` is null or a zero-terminated string.
 */
SeqloomModel *seqloom_open(const char *path, size_t threads);

/**
 * Frees a model; null has no effect. No other call may use the model afterwards.
 *
 * # Safety
 *
 * `model` is null, or comes from `seqloom_open` and was not freed.
 */
void seqloom_free(SeqloomModel *model);

/**
 * Returns the number of named output columns (classes, labels or values), or 0 if
 * outputs have no names.
 *
 * # Safety
 *
 * `model` is null, or comes from `seqloom_open` and was not freed.
 */
size_t seqloom_columns(const SeqloomModel *model);

/**
 * Returns the name of the column at a zero-based index, or null if the index is too
 * large. The string is valid until the model is freed, and must not be freed itself.
 *
 * # Safety
 *
 * `model` is null, or comes from `seqloom_open` and was not freed.
 */
const char *seqloom_column(const SeqloomModel *model, size_t column);

/**
 * Scores every record of the files once, in input order, and calls `row` for each
 * record in the calling thread.
 *
 * `files` are FASTA or FASTQ files, plain or compressed; "-" for standard input; or
 * one PLINK .bed. A model of read pairs needs two files for each sample: R1, R2.
 * Returns 0 on success, and -1 on failure or if `row` stopped the work;
 * `seqloom_last_error` then returns the reason.
 *
 * # Safety
 *
 * `model` comes from `seqloom_open`, `files` points to `count` zero-terminated
 * strings, and `row` has the declared arguments. If one of these pointers is null, the
 * call fails.
 */
int seqloom_predict(const SeqloomModel *model,
                    const char *const *files,
                    size_t count,
                    SeqloomRow row,
                    void *context);

/**
 * Scores every record of the files once, and returns all scores, or null on failure.
 *
 * # Safety
 *
 * As for `seqloom_predict`.
 */
SeqloomScores *seqloom_score(const SeqloomModel *model, const char *const *files, size_t count);

/**
 * Returns the number of records.
 *
 * # Safety
 *
 * `scores` is null, or comes from `seqloom_score` and was not freed.
 */
size_t seqloom_scores_rows(const SeqloomScores *scores);

/**
 * Returns the number of scores of each record.
 *
 * # Safety
 *
 * `scores` is null, or comes from `seqloom_score` and was not freed.
 */
size_t seqloom_scores_columns(const SeqloomScores *scores);

/**
 * Returns the id of the record at a zero-based index, or null if the index is too
 * large. The string is valid until `scores` is freed.
 *
 * # Safety
 *
 * `scores` is null, or comes from `seqloom_score` and was not freed.
 */
const char *seqloom_scores_id(const SeqloomScores *scores, size_t row);

/**
 * Returns all scores, row by row. The array is valid until `scores` is freed.
 *
 * # Safety
 *
 * `scores` is null, or comes from `seqloom_score` and was not freed.
 */
const float *seqloom_scores_values(const SeqloomScores *scores);

/**
 * Frees scores; null has no effect.
 *
 * # Safety
 *
 * `scores` is null, or comes from `seqloom_score` and was not freed.
 */
void seqloom_scores_free(SeqloomScores *scores);

/**
 * Runs the network on arrays. The inputs must already be encoded, and no softmax or
 * sigmoid is applied to the outputs.
 *
 * Returns null on failure; `seqloom_last_error` returns the reason.
 *
 * # Safety
 *
 * `model` comes from `seqloom_open`. `inputs` points to `count` arrays. Each array has
 * a zero-terminated name, `axes` lengths in `shape`, and all elements of this shape in
 * `data`. If `model` or `inputs` is null, the call fails.
 */
SeqloomArrays *seqloom_run(const SeqloomModel *model, const SeqloomArray *inputs, size_t count);

/**
 * Returns the number of arrays.
 *
 * # Safety
 *
 * `arrays` is null, or comes from `seqloom_run` and was not freed.
 */
size_t seqloom_arrays_count(const SeqloomArrays *arrays);

/**
 * Returns the array at a zero-based index, or null if the index is too large. The
 * array is valid until `arrays` is freed.
 *
 * # Safety
 *
 * `arrays` is null, or comes from `seqloom_run` and was not freed.
 */
const SeqloomArray *seqloom_arrays_get(const SeqloomArrays *arrays, size_t index);

/**
 * Frees arrays; null has no effect.
 *
 * # Safety
 *
 * `arrays` is null, or comes from `seqloom_run` and was not freed.
 */
void seqloom_arrays_free(SeqloomArrays *arrays);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SEQLOOM_H */
