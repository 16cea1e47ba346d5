// Evaluates expressions with cel-go. Each line of the input is a JSON object with an expression and its args. Each line
// of the output is the value, in the form of test/sidecar/engine/conditions/differential.ts, or `error`.
package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/ext"
)

type line struct {
	Expression string         `json:"expression"`
	Args       map[string]any `json:"args"`
}

func main() {
	env, err := cel.NewEnv(cel.Variable("args", cel.DynType), ext.Strings())
	if err != nil {
		panic(err)
	}
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 1<<24)
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	for input.Scan() {
		var one line
		if err := json.Unmarshal(input.Bytes(), &one); err != nil {
			panic(err)
		}
		fmt.Fprintln(output, evaluate(env, one))
	}
	if err := input.Err(); err != nil {
		panic(err)
	}
}

func evaluate(env *cel.Env, one line) string {
	// Without the type checker, as in a language without declared types.
	parsed, issues := env.Parse(one.Expression)
	if issues.Err() != nil {
		return "error"
	}
	program, err := env.Program(parsed)
	if err != nil {
		return "error"
	}
	value, _, err := program.Eval(map[string]any{"args": one.Args})
	if err != nil {
		return "error"
	}
	return textOf(value)
}

func textOf(value ref.Val) string {
	switch v := value.(type) {
	case types.Bool:
		return fmt.Sprint(bool(v))
	case types.Int:
		return fmt.Sprintf("int %d", int64(v))
	case types.Uint:
		return fmt.Sprintf("uint %d", uint64(v))
	case types.Double:
		return doubleText(float64(v))
	case types.String:
		return quoted(string(v))
	case types.Bytes:
		return "bytes " + hex.EncodeToString([]byte(v))
	case types.Null:
		return "null"
	case *types.Type:
		return "type " + v.TypeName()
	case traits.Lister:
		return listText(v)
	case traits.Mapper:
		return mapText(v)
	}
	return value.Type().TypeName()
}

func doubleText(value float64) string {
	bits := math.Float64bits(value)
	if math.IsNaN(value) {
		bits = 0x7ff8000000000000
	}
	return fmt.Sprintf("double %x", bits)
}

// quoted writes a text as JavaScript does.
func quoted(text string) string {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(buffer.String(), "\n")
}

func listText(list traits.Lister) string {
	parts := []string{}
	for iterator := list.Iterator(); iterator.HasNext() == types.True; {
		parts = append(parts, textOf(iterator.Next()))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func mapText(of traits.Mapper) string {
	parts := []string{}
	for iterator := of.Iterator(); iterator.HasNext() == types.True; {
		key := iterator.Next()
		parts = append(parts, textOf(key)+": "+textOf(of.Get(key)))
	}
	sort.Strings(parts)
	return "{" + strings.Join(parts, ", ") + "}"
}
