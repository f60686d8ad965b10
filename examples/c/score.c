/* Scores the sequences of files with an exported model: score EXPORT FILE...
 *
 * cc score.c -I crates/seqloom-c/include -L target/release -lseqloom -o score
 */
#include <stdio.h>
#include <stdlib.h>

#include "seqloom.h"

/* Prints the id and scores of a record. Returns 0 to continue, or 1 to stop. */
static int print_row(void *context, const char *id, const float *scores, size_t columns) {
    FILE *out = context;
    fputs(id, out);
    for (size_t column = 0; column < columns; column++) {
        fprintf(out, "\t%.9g", (double)scores[column]);
    }
    return fputc('\n', out) == EOF;
}

static int fail(void) {
    fprintf(stderr, "error: %s\n", seqloom_last_error());
    return 2;
}

int main(int count, char **arguments) {
    if (count < 3) {
        fprintf(stderr, "usage: score EXPORT FILE...\n");
        return 2;
    }
    SeqloomModel *model = seqloom_open(arguments[1], 2);
    if (model == NULL) {
        return fail();
    }
    printf("id");
    for (size_t column = 0; column < seqloom_columns(model); column++) {
        printf("\t%s", seqloom_column(model, column));
    }
    printf("\n");
    const char *const *files = (const char *const *)(arguments + 2);
    int failed = seqloom_predict(model, files, (size_t)(count - 2), print_row, stdout);
    seqloom_free(model);
    return failed ? fail() : 0;
}
