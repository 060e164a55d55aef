// Reads questions from standard input, one JSON object a line, and says of each whether the modules that others verify
// logs with accept it.
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"

	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"
)

type question struct {
	Note, Key          string
	Leaf               *string
	Index, Older, Size uint64
	Hashes             []string
	OlderRoot, Root    string
}

func bytes(text string) []byte {
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return decoded
}

func answer(q question) error {
	if q.Key != "" {
		verifier, err := note.NewVerifier(q.Key)
		if err != nil {
			return err
		}
		_, err = note.Open([]byte(q.Note), note.VerifierList(verifier))
		return err
	}
	hashes := make([][]byte, 0, len(q.Hashes))
	for _, hash := range q.Hashes {
		hashes = append(hashes, bytes(hash))
	}
	if q.Leaf != nil {
		leaf := rfc6962.DefaultHasher.HashLeaf([]byte(*q.Leaf))
		return proof.VerifyInclusion(rfc6962.DefaultHasher, q.Index, q.Size, leaf, hashes, bytes(q.Root))
	}
	return proof.VerifyConsistency(rfc6962.DefaultHasher, q.Older, q.Size, hashes, bytes(q.OlderRoot), bytes(q.Root))
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			panic(err)
		}
		fmt.Println(answer(q) == nil)
	}
}
