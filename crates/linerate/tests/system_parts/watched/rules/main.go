// Reads rules and expressions as Prometheus does: a list of groups and one of expressions, as JSON, from its input. It
// says what is wrong, and ends with 1 then.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

type rendered struct {
	Rules       json.RawMessage `json:"rules"`
	Expressions []string        `json:"expressions"`
}

func main() {
	var read rendered
	if err := json.NewDecoder(os.Stdin).Decode(&read); err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	wrong := 0
	// JSON is YAML. Templates of annotations are read too.
	_, errs := rulefmt.Parse(read.Rules, false)
	for _, err := range errs {
		fmt.Println(err)
		wrong++
	}
	for _, expression := range read.Expressions {
		if _, err := parser.ParseExpr(expression); err != nil {
			fmt.Println(err, "in", expression)
			wrong++
		}
	}
	if wrong > 0 {
		os.Exit(1)
	}
}
