// Scores the sequences of files with an exported model: score EXPORT FILE...
//
// CFLAGS below is the folder of the header in this repository. In your program, set CFLAGS and
// LDFLAGS to the folders of the header and the library.
package main

/*
#cgo CFLAGS: -I${SRCDIR}/../../crates/seqloom-c/include
#cgo LDFLAGS: -lseqloom
#include <stdlib.h>
#include "seqloom.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"unsafe"
)

// Model is an exported model. Several goroutines may use a model at the same time.
type Model struct{ handle *C.SeqloomModel }

// Open opens the folder or zip of an exported model.
func Open(path string, threads int) (*Model, error) {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	// Error messages are stored per thread, so lock the goroutine to its thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	handle := C.seqloom_open(text, C.size_t(threads))
	if handle == nil {
		return nil, errors.New(C.GoString(C.seqloom_last_error()))
	}
	return &Model{handle}, nil
}

// Close frees the model.
func (model *Model) Close() { C.seqloom_free(model.handle) }

// Columns lists the names of the scores.
func (model *Model) Columns() []string {
	names := make([]string, C.seqloom_columns(model.handle))
	for at := range names {
		names[at] = C.GoString(C.seqloom_column(model.handle, C.size_t(at)))
	}
	return names
}

// Score returns the ids and scores of all records of the files.
func (model *Model) Score(files []string) ([]string, [][]float32, error) {
	size := C.size_t(unsafe.Sizeof((*C.char)(nil)))
	array := C.calloc(C.size_t(len(files)+1), size)
	defer C.free(array)
	paths := unsafe.Slice((**C.char)(array), len(files)+1)
	for at, file := range files {
		paths[at] = C.CString(file)
		defer C.free(unsafe.Pointer(paths[at]))
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	table := C.seqloom_score(model.handle, &paths[0], C.size_t(len(files)))
	if table == nil {
		return nil, nil, errors.New(C.GoString(C.seqloom_last_error()))
	}
	defer C.seqloom_scores_free(table)
	rows, columns := int(C.seqloom_scores_rows(table)), int(C.seqloom_scores_columns(table))
	flat := unsafe.Slice((*float32)(C.seqloom_scores_values(table)), rows*columns)
	ids, scores := make([]string, rows), make([][]float32, rows)
	for row := 0; row < rows; row++ {
		ids[row] = C.GoString(C.seqloom_scores_id(table, C.size_t(row)))
		scores[row] = append([]float32{}, flat[row*columns:(row+1)*columns]...)
	}
	return ids, scores, nil
}

func main() {
	if len(os.Args) < 3 {
		fail(errors.New("usage: score EXPORT FILE..."))
	}
	model, err := Open(os.Args[1], 2)
	if err != nil {
		fail(err)
	}
	defer model.Close()
	ids, scores, err := model.Score(os.Args[2:])
	if err != nil {
		fail(err)
	}
	fmt.Println("id\t" + strings.Join(model.Columns(), "\t"))
	for row, id := range ids {
		fmt.Print(id)
		for _, score := range scores[row] {
			fmt.Print("\t", strconv.FormatFloat(float64(score), 'g', 9, 32))
		}
		fmt.Println()
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(2)
}
