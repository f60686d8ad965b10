/* Scores of an exported model. Written by cbindgen from crates/seqloom-c: do not edit. */

#ifndef SEQLOOM_H
#define SEQLOOM_H

#include <stddef.h>
#include <stdint.h>

/**
 * Truths: a byte each, 0 or 1.
 */
#define SEQLOOM_BOOL 0

/**
 * Whole numbers of 8 bits, from 0 on.
 */
#define SEQLOOM_UINT8 1

/**
 * Whole numbers of 32 bits.
 */
#define SEQLOOM_INT32 2

/**
 * Whole numbers of 64 bits.
 */
#define SEQLOOM_INT64 3

/**
 * Whole numbers of 32 bits, from 0 on.
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
 * Arrays that came out of a model.
 */
typedef struct SeqloomArrays SeqloomArrays;

/**
 * An exported model. Several threads may use it at once.
 */
typedef struct SeqloomModel SeqloomModel;

/**
 * The scores of files.
 */
typedef struct SeqloomScores SeqloomScores;

/**
 * What is called for each record: `context` as it was given, the id, and its scores, which
 * live until it returns. 0 goes on; any other number ends the work.
 */
typedef int (*SeqloomRow)(void *context, const char *id, const float *scores, size_t columns);

/**
 * An array, in C order.
 */
typedef struct {
  /**
   * Its name, as `seqloom-run inspect` lists it.
   */
  const char *name;
  /**
   * The type of its elements, such as `SEQLOOM_FLOAT32`.
   */
  uint32_t dtype;
  /**
   * How many axes it has.
   */
  size_t axes;
  /**
   * The length of each.
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
 * Says what went wrong in the last call of this thread, but for those that free: a text that
 * is valid until the next call, empty where all went well. It must not be freed.
 */
const char *seqloom_last_error(void);

/**
 * Gives what the last `seqloom_predict` or `seqloom_score` of this thread warns of, a sentence
 * a line: a text that is valid until the next of them, empty where there is nothing to warn of.
 * It must not be freed.
 */
const char *seqloom_last_warnings(void);

/**
 * Gives the version of this library, such as "0.1.0". It must not be freed.
 */
const char *seqloom_version(void);

/**
 * Opens a folder or a .zip that `seqloom export` wrote, and checks all of it.
 *
 * `threads` is how many threads a call may use; 0 is one. Returns null where something is
 * wrong, which `seqloom_last_error` says.
 *
 * # Safety
 *
 * `path` is null or a text that ends in a zero.
 */
SeqloomModel *seqloom_open(const char *path, size_t threads);

/**
 * Frees a model; null is nothing. No other call may use it any more.
 *
 * # Safety
 *
 * `model` is null, or comes from `seqloom_open` and was not freed.
 */
void seqloom_free(SeqloomModel *model);

/**
 * Counts the columns that have names: the classes, the labels or the values. 0 of a model
 * whose outputs have none.
 *
 * # Safety
 *
 * `model` is null, or comes from `seqloom_open` and was not freed.
 */
size_t seqloom_columns(const SeqloomModel *model);

/**
 * Gives the name of a column, from 0 on; null behind the last. It lives as long as the model
 * and must not be freed.
 *
 * # Safety
 *
 * `model` is null, or comes from `seqloom_open` and was not freed.
 */
const char *seqloom_column(const SeqloomModel *model, size_t column);

/**
 * Scores every record of files once, and calls `row` for each, in input order, on the thread
 * that called.
 *
 * `files` are FASTA or FASTQ, plain or compressed; "-" is standard input; or one PLINK .bed. A
 * model of pairs takes two files for each: R1, R2. Returns 0, or -1 where something is wrong,
 * which `seqloom_last_error` says; what was ended by `row` is wrong too.
 *
 * # Safety
 *
 * `model` comes from `seqloom_open`, `files` are `count` texts that end in a zero, and `row`
 * takes what is said there; each may be null.
 */
int seqloom_predict(const SeqloomModel *model,
                    const char *const *files,
                    size_t count,
                    SeqloomRow row,
                    void *context);

/**
 * Does the same, and keeps all scores; null where something is wrong.
 *
 * # Safety
 *
 * As of `seqloom_predict`.
 */
SeqloomScores *seqloom_score(const SeqloomModel *model, const char *const *files, size_t count);

/**
 * Counts the records.
 *
 * # Safety
 *
 * `scores` is null, or comes from `seqloom_score` and was not freed.
 */
size_t seqloom_scores_rows(const SeqloomScores *scores);

/**
 * Counts the scores of each record.
 *
 * # Safety
 *
 * `scores` is null, or comes from `seqloom_score` and was not freed.
 */
size_t seqloom_scores_columns(const SeqloomScores *scores);

/**
 * Gives the id of a record, from 0 on; null behind the last. It lives as long as the scores.
 *
 * # Safety
 *
 * `scores` is null, or comes from `seqloom_score` and was not freed.
 */
const char *seqloom_scores_id(const SeqloomScores *scores, size_t row);

/**
 * Gives all scores, row by row; they live as long as `scores`.
 *
 * # Safety
 *
 * `scores` is null, or comes from `seqloom_score` and was not freed.
 */
const float *seqloom_scores_values(const SeqloomScores *scores);

/**
 * Frees scores; null is nothing.
 *
 * # Safety
 *
 * `scores` is null, or comes from `seqloom_score` and was not freed.
 */
void seqloom_scores_free(SeqloomScores *scores);

/**
 * Runs the network on arrays; nothing is encoded, and outputs stay as they are.
 *
 * Returns null where something is wrong, which `seqloom_last_error` says.
 *
 * # Safety
 *
 * `model` comes from `seqloom_open`; `inputs` are `count` arrays, each with a name that ends
 * in a zero, a shape of so many axes, and as many elements as the shape says. Each may be null.
 */
SeqloomArrays *seqloom_run(const SeqloomModel *model, const SeqloomArray *inputs, size_t count);

/**
 * Counts the arrays.
 *
 * # Safety
 *
 * `arrays` is null, or comes from `seqloom_run` and was not freed.
 */
size_t seqloom_arrays_count(const SeqloomArrays *arrays);

/**
 * Gives an array, from 0 on; null behind the last. It lives as long as `arrays`.
 *
 * # Safety
 *
 * `arrays` is null, or comes from `seqloom_run` and was not freed.
 */
const SeqloomArray *seqloom_arrays_get(const SeqloomArrays *arrays, size_t index);

/**
 * Frees arrays; null is nothing.
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
